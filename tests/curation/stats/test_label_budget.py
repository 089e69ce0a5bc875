"""How many labels a wanted interval takes."""

from __future__ import annotations

import numpy as np
import pytest

from curation.stats.label_budget import needed
from curation.stats.prediction_powered import Unit, calibrate
from tests.support.curation.judged_units import draw


def test_labels_needed() -> None:
    units = draw(np.random.default_rng(12), noise=0.5)
    found = calibrate(units)
    half = (found.powered.high - found.powered.low) / 2  # type: ignore[operator]
    now = needed(units, half)
    rated = sum(u.human is not None for u in units)
    assert now.scripts is not None and now.alone is not None
    assert abs(now.scripts - rated) <= 1, "the width that is there needs what is there"
    assert now.alone > 1.5 * now.scripts and now.more == max(0, now.scripts - rated)
    wider = needed(units, 2 * half)
    assert wider.more == 0 and wider.scripts < now.scripts  # type: ignore[operator]
    assert "more cases are needed" in needed(units, 0.01).reason
    with pytest.raises(ValueError, match="above 0"):
        needed(units, 0.0)


@pytest.mark.parametrize("number", range(3))
def test_the_labels_that_were_asked_for_do(number: int) -> None:
    """Rate as many scripts as was said: the interval comes out about as wide as was wanted."""
    rng = np.random.default_rng([13, number])
    everything = draw(rng, cases=300, share=1.0)
    order = rng.permutation(len(everything))

    def rated(n: int) -> list[Unit]:
        chosen = set(order[:n].tolist())
        p = n / len(everything)
        return [u._replace(human=u.human if k in chosen else None, probability=p) for k, u in enumerate(everything)]

    asked = needed(rated(80), 0.16)
    assert asked.scripts is not None and asked.more == asked.scripts - 80 > 0
    found = calibrate(rated(asked.scripts)).powered
    assert (found.high - found.low) / 2 == pytest.approx(0.16, rel=0.15)  # type: ignore[operator]
