"""From a checked configuration to an exit status: one task, which is a pipeline of its own."""

from __future__ import annotations

from autotune.config.schema import Config, Task


def run(config: Config) -> int:
    """Do the configured task.

    Returns:
        0: a faster candidate that is not less accurate (or the task did what was asked); 3: none beat the baseline;
        130: interrupted.

    Raises:
        UserError: a person's mistake.
    """
    match config.task:
        case Task.tune:
            from autotune.tasks.tune import tune

            return tune(config)
        case Task.plan:
            from autotune.tasks.plan import plan

            return plan(config)
        case Task.explain:
            from autotune.tasks.explain import explain

            return explain(config)
        case Task.train:
            from autotune.tasks.train import train

            return train(config)
        case Task.promote:
            from autotune.tasks.promote import promote

            return promote(config)
        case Task.sync:
            from autotune.tasks.sync import sync

            return sync(config)
        case Task.report:
            from autotune.tasks.report import report

            return report(config)
