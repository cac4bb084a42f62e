"""`task=plan`: the space, what a study would cost, and the margin that the budget can resolve. Nothing is trained."""

from __future__ import annotations

from autotune.config.schema import Config
from autotune.console import print_plan
from autotune.record.clock import StudyClock
from autotune.record.record import Record
from autotune.study.budget import Budget
from autotune.study.context import StudyContext
from autotune.study.study import plan_study
from autotune.tasks.session import accepted_device, claimed, open_record, started


def plan(config: Config) -> int:
    """Probe the baseline, print the plan and return 0. The run's folder keeps the record of the probe.

    Raises:
        UserError: a person's mistake, or a baseline that cannot be used.
    """
    clock, device = StudyClock(), accepted_device(config)
    with claimed(config) as folder, started(config, folder, device) as session:
        record: Record = open_record(session, (), clock)
        try:
            context = StudyContext(
                config=config,
                device=session.device,
                target=session.target.profile,
                executor=session.executor,
                record=record,
                budget=Budget(config.search.budget_s, lambda: record.elapsed_s),
                data=session.ready.data,
                worker_start_s=session.ready.start_s,
            )
            plan_study(context, session.ready.facts.accelerator)
            print_plan(record.view)
        finally:
            record.close()
    return 0
