"""Taking a model apart: what is asked of a worker, for `task=explain` and once a study has its answer."""

from __future__ import annotations

from dataclasses import replace

from autotune.config.hardware import DeviceKind
from autotune.config.schema import Config
from autotune.errors import AutotuneError
from autotune.hardware.device import Device
from autotune.hardware.policies import PolicyChoice, offered, policy_choices
from autotune.hardware.target import Target
from autotune.record.events import Inspected, InspectionStarted
from autotune.record.record import Record
from autotune.record.tape import Resumed
from autotune.record.view import StudyView
from autotune.tasks.session import Session
from autotune.trial import Candidate, Policy, Recipe, Xla
from autotune.worker.protocol import InspectArgs

_LONGEST_REASON = 500

# A model that takes the machine down when it is taken apart does so again, and the export waits behind it.
_MOST_ATTEMPTS = 3


def asked(
    config: Config, device: Device, target: Target, own: Candidate, recipe: Recipe, *, calibrate: bool
) -> InspectArgs:
    """A candidate in float32, and the same in the 16-bit policy that was asked for or that the target is best at.

    Args:
        config: the run's configuration.
        device: what is here; tells which dtypes are emulated.
        target: whose best policy is taken.
        own: the user's own settings.
        recipe: to compile the model with.
        calibrate: whether to measure what this host can do.
    """
    return InspectArgs(
        float32=own,
        reduced=replace(own, policy=Policy(_policy(config, device, target))),
        recipe=recipe,
        calibrate=calibrate,
        emulated=tuple(
            choice.policy.removeprefix("mixed_")
            for choice in device.policy_choices()
            if choice.policy.startswith("mixed_") and not choice.offered
        ),
    )


def choices_for(device: Device, target: Target) -> tuple[PolicyChoice, ...]:
    """The policies that the target is worth: with this environment's settings of oneDNN where it is the device here."""
    return device.policy_choices() if target.on_target else policy_choices(target.profile)


def _policy(config: Config, device: Device, target: Target) -> str:
    """What a person asked for by name, else the target's best, else the one that people turn on for such a device."""
    by_name: list[str] = [
        policy for policy in (config.candidate.policy, *(config.search.policies or ())) if policy != "float32"
    ]
    best = [policy for policy in offered(choices_for(device, target)) if policy != "float32"]
    usual = "mixed_float16" if target.profile.kind is DeviceKind.gpu else "mixed_bfloat16"
    return [*by_name, *best, usual][0]


def inspect_model(session: Session, record: Record, resumed: Resumed | None) -> None:
    """Record the anatomy of the model that was studied, once a study; what an earlier session has recorded stands.

    It explains the measurements, and the answer stands without it: whatever goes wrong is the record's to say, and no
    reason to lose the export that follows.
    """
    earlier = resumed.tape.inspected if resumed is not None else None
    begun = resumed.tape.inspections if resumed is not None else 0
    if earlier is None and begun >= _MOST_ATTEMPTS:
        earlier = Inspected(None, f"{begun} sessions ended while the model was taken apart")
    elif earlier is None:
        begun += 1
    if begun:  # none in records of older versions
        record.append(InspectionStarted(begun))
    record.append(earlier if earlier is not None else _inspected(session, record.view))


def _inspected(session: Session, view: StudyView) -> Inspected:
    try:
        return Inspected(session.executor.inspect(_asked_of_study(session, view)), None)
    except AutotuneError as error:
        text = str(error)
    except Exception as error:  # noqa: BLE001 (whatever it is, the export follows)
        text = f"{type(error).__name__}: {error}"
    return Inspected(None, " ".join(text.split())[:_LONGEST_REASON])


def _asked_of_study(session: Session, view: StudyView) -> InspectArgs:
    """The baseline's own settings; XLA off, as with it the step is traced in the same operations."""
    assert view.baseline is not None
    assert view.fidelity is not None
    own = replace(view.baseline.candidate, xla=Xla.OFF)
    calibrate = session.device.kind is DeviceKind.cpu
    return asked(session.config, session.device, session.target, own, view.fidelity.recipe, calibrate=calibrate)
