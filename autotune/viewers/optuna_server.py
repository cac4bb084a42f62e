"""Optuna's dashboard in this process, with the best trial as Optuna 5 and its constraints have it.

    python -m autotune.viewers.optuna_server STORAGE HOST PORT

optuna-dashboard (0.21) asks the storage for the best trial, which looks at values alone: the fastest trial would be
shown as the best one although it lost its accuracy.
"""

from __future__ import annotations

import importlib
import sys

from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState

PACKAGE = "optuna_dashboard"


class FeasibleStorage(JournalStorage):
    """Optuna's storage of one study to be made as large as possible, whose best trial is feasible."""

    def get_best_trial(self, study_id: int) -> FrozenTrial:
        """The trial with the largest value among those that fulfil their constraints; among all, if none does."""
        if len(self.get_study_directions(study_id)) > 1:
            return super().get_best_trial(study_id)  # a front has none, which it says
        complete = self.get_all_trials(study_id, deepcopy=False, states=[TrialState.COMPLETE])
        feasible = [trial for trial in complete if all(violation <= 0 for violation in trial.constraints.values())]
        if not feasible:
            return super().get_best_trial(study_id)
        return max(feasible, key=lambda trial: trial.value or 0.0)


def main() -> None:
    """Serve until a signal ends it."""
    path, host, port = sys.argv[1:4]
    importlib.import_module(PACKAGE).run_server(FeasibleStorage(JournalFileBackend(path)), host=host, port=int(port))


if __name__ == "__main__":
    main()
