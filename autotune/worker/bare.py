"""A worker that has only the framework: for exported models, which must stand on their own."""

from __future__ import annotations

from autotune import codec
from autotune.worker.process import WorkerProcess
from autotune.worker.protocol import RegisterArgs, ReloadArgs, understood


class BareWorker:
    """What may be asked of a started process without data.

    Args:
        process: the framework is imported in it.
        timeout_s: longest time one request may take [s].
    """

    def __init__(self, process: WorkerProcess, timeout_s: float) -> None:
        self._process = process
        self._timeout_s = timeout_s

    def reload(self, args: ReloadArgs) -> float:
        """Largest difference between what an exported model predicts here and the reference.

        Raises:
            TrialFault: it does not load.
        """
        return understood(float, "reload", self._process.ask("reload", {"args": codec.plain(args)}, self._timeout_s))

    def register(self, args: RegisterArgs) -> dict[str, str]:
        """Log and register an exported model with MLflow.

        Raises:
            TrialFault: the store did not take it.
        """
        entry = self._process.ask("register", {"args": codec.plain(args)}, self._timeout_s)
        return understood(dict[str, str], "register", entry)
