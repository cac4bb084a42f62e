"""The findings of a study's own model, from its record alone."""

from __future__ import annotations

from autotune.config.hardware import DeviceKind
from autotune.explain.findings import Finding, findings
from autotune.explain.recorded import config_of, device_choices, target_profile
from autotune.explain.situation import Situation, situation_on
from autotune.record.view import StudyView


def situation_of(view: StudyView) -> Situation | None:
    """The studied model on its target; None where it was not inspected, or the record does not tell of the target."""
    anatomy = view.inspected.anatomy if view.inspected is not None else None
    if anatomy is None or view.started is None or view.baseline is None:
        return None
    config, target = config_of(view.started), target_profile(view.started)
    if config is None or target is None:
        return None
    config.model.widths = list(view.baseline.candidate.widths)  # without an accelerator they may be others
    here = view.started.on_target
    # Of an accelerator a record may tell less than its profile does, and no setting keeps it from a policy.
    choices = device_choices(view.started) if here and target.kind is DeviceKind.cpu else ()
    return situation_on(config, target, anatomy, here=here, choices=choices)


def findings_of(view: StudyView) -> tuple[Finding, ...]:
    """What is wrong or worth knowing in the model that was studied, on its target; problems first."""
    situation = situation_of(view)
    return () if situation is None else findings(situation)
