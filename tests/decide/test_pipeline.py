from __future__ import annotations

import pytest

from autotune.decide import pipeline
from autotune.trial import PipelineTiming

FED = (10.0, 11.0, 9.0, 10.5, 9.5, 10.0, 12.0)


def test_a_step_that_halves_without_its_pipeline_is_half_pipeline() -> None:
    found = pipeline.share(PipelineTiming(FED, tuple(step_ms / 2 for step_ms in FED)))
    assert found is not None
    assert (found.low, found.estimate, found.high) == pytest.approx((0.5, 0.5, 0.5))
    assert (found.n, found.level) == (7, 0.95)


def test_the_bounds_are_in_order_and_noise_may_be_below_zero() -> None:
    noise = (1.02, 0.97, 1.01, 0.99, 1.03, 0.98, 1.0)
    resident = tuple(fed * factor for fed, factor in zip(FED, noise, strict=True))
    found = pipeline.share(PipelineTiming(FED, resident))
    assert found is not None
    assert -0.03 < found.low < found.estimate < found.high < 0.03
    assert found.low < 0 < found.high


def test_too_few_pairs_have_no_interval_and_pairs_must_match() -> None:
    assert pipeline.share(PipelineTiming(FED[:5], FED[:5])) is None
    with pytest.raises(ValueError, match="argument 2"):
        pipeline.share(PipelineTiming(FED, FED[:6]))
