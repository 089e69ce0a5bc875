"""Designs where nothing differs: their mean is 0, and the sign-flip test alone is misled by rare losses."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage.null_designs import exponential, lognormal, normal, null_rows, rare_losses, same_rates, tied
from benchmarks.coverage.rows import cell


@pytest.mark.parametrize(
    "draw", [normal, tied, same_rates, exponential, lognormal, rare_losses(0.05), rare_losses(0.2)]
)
def test_the_null_holds(draw) -> None:
    first, second = draw(np.random.default_rng(6), 20_000)
    assert np.mean([first[k] - second[k] for k in first]) == pytest.approx(0, abs=0.03)


def test_rare_losses_mislead_the_signs_and_not_the_report() -> None:
    rows = {row.name: row for row in null_rows()}
    sign_flip = cell(rows["mean 0, rare large losses (5 %): sign-flip alone"], 12, runs=60)
    decisions = cell(rows["mean 0, rare large losses (5 %): as decided, on a scale"], 12, runs=60)
    assert sign_flip.share > 0.3 and decisions.share == 0
