"""What every judgement looks at: one model, one target, the user's own settings, and the predictions for them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from autotune.config.schema import Config
from autotune.explain.forecast import Forecast, Forecaster, Gain, Setting, calibrated, gain
from autotune.explain.recurrent import on_target
from autotune.hardware.policies import PolicyChoice, policy_choices
from autotune.hardware.profile import Profile
from autotune.trial.anatomy import LayerAnatomy, ModelAnatomy, StepAnatomy


@dataclass(frozen=True, slots=True)
class Situation:
    """One model on one target.

    Attributes:
        config: the run's.
        target: as it is published, or as it was measured where it is the device here.
        facts: of the model.
        forecaster: for this model and target.
        choices: the policies that were considered for the target, and why.
        reference: the user's own settings in float32; None where it cannot be predicted.
    """

    config: Config
    target: Profile
    facts: ModelAnatomy
    forecaster: Forecaster
    choices: tuple[PolicyChoice, ...] = field(default=())

    @classmethod
    def of(
        cls, config: Config, facts: ModelAnatomy, forecaster: Forecaster, choices: tuple[PolicyChoice, ...] = ()
    ) -> Situation:
        """As the configuration lets the target compute; without `choices`, with those that it is worth by itself."""
        target = forecaster.target
        if config.train.tf32 is False:
            target = replace(target, tensor_cores=target.tensor_cores - {"tf32"})
        facts = on_target(facts, target)
        forecaster = replace(forecaster, facts=facts, target=target)
        return cls(config, target, facts, forecaster, choices or policy_choices(target))

    @property
    def batch_size(self) -> int:
        """The user's own."""
        return self.config.train.batch_size

    @property
    def step(self) -> StepAnatomy:
        """The step in 16 bit, or in float32 where there is no other."""
        return self.facts.reduced or self.facts.float32

    @property
    def layers(self) -> tuple[LayerAnatomy, ...]:
        """The model's own layers in that step, and what it does outside of them."""
        return self.step.layers[:-2]

    @property
    def offered(self) -> tuple[str, ...]:
        """The policies that the target is worth, float32 last."""
        return tuple(choice.policy for choice in self.choices if choice.offered)

    @property
    def best_16_bit(self) -> str | None:
        """The 16-bit policy that the target is best at."""
        return next((policy for policy in self.offered if policy != "float32"), None)

    @property
    def fails_in_16_bit(self) -> str:
        """Why every trial in 16 bit fails; empty if none has to."""
        step = self.facts.reduced
        return (step.not_mended or "") if step is not None else self.facts.failures.get("16 bit", "")

    def own(self, policy: str = "float32", *, xla: bool = False) -> Forecast | None:
        """The user's own batch under a policy."""
        return self.forecaster.forecast(Setting(policy, self.batch_size, xla=xla))

    def over_own(self, setting: Setting) -> Gain | None:
        """A setting against the user's own in float32."""
        faster, reference = self.forecaster.forecast(setting), self.own()
        return None if faster is None or reference is None else gain(faster, reference)


def situation_on(
    config: Config, target: Profile, facts: ModelAnatomy, *, here: bool, choices: tuple[PolicyChoice, ...] = ()
) -> Situation:
    """A model on a target, predicted from published rates, or from those that were measured where it is the device.

    Args:
        config: the run's.
        target: as it is published.
        facts: of the model.
        here: whether the host that was calibrated, if one was, is the target.
        choices: of policies where the target is the device, which settings of oneDNN may keep from bfloat16; without
            them, what the target is worth by itself.
    """
    forecaster = Forecaster(facts, target)
    if here and facts.calibration is not None:
        forecaster = calibrated(facts, target, facts.calibration, facts.feed_ms, config.train.batch_size)
    return Situation.of(config, facts, forecaster, choices)
