"""How many labels a wanted interval takes."""

from __future__ import annotations

import numpy as np
import pytest

from curation.stats.prediction_powered import Unit, calibrate, scripts_needed
from tests.support.stats.judged_units import draw


def test_labels_needed() -> None:
    units = draw(np.random.default_rng(12), noise=0.5)
    calibration = calibrate(units)
    half = (calibration.powered.high - calibration.powered.low) / 2  # type: ignore[operator]
    now = scripts_needed(units, half)
    total = sum(u.human is not None for u in units)
    assert now.scripts is not None and now.alone is not None
    assert abs(now.scripts - total) <= 1, "the width that is there needs what is there"
    assert now.alone > 1.5 * now.scripts and now.more == max(0, now.scripts - total)
    wider = scripts_needed(units, 2 * half)
    assert wider.more == 0 and wider.scripts < now.scripts  # type: ignore[operator]
    assert "more cases are needed" in scripts_needed(units, 0.01).reason
    with pytest.raises(ValueError, match="above 0"):
        scripts_needed(units, 0.0)


@pytest.mark.parametrize("number", range(3))
def test_the_labels_that_were_asked_for_do(number: int) -> None:
    """Rate as many scripts as was said: the interval comes out about as wide as was wanted."""
    rng = np.random.default_rng([13, number])
    everything = draw(rng, cases=300, share=1.0)
    order = rng.permutation(len(everything))

    def rated(n: int) -> list[Unit]:
        choice = set(order[:n].tolist())
        p = n / len(everything)
        return [u._replace(human=u.human if k in choice else None, probability=p) for k, u in enumerate(everything)]

    sample_size = scripts_needed(rated(80), 0.16)
    assert sample_size.scripts is not None and sample_size.more == sample_size.scripts - 80 > 0
    calibration = calibrate(rated(sample_size.scripts)).powered
    assert (calibration.high - calibration.low) / 2 == pytest.approx(0.16, rel=0.15)  # type: ignore[operator]
