"""S-flip by hand: only prompts at which the unedited model preferred the old object count."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from tests.evaluation.metrics.test_base import scored
from tests.support.arithmetic import make_case

# (new, old) log-probabilities of the two script prompts after and before the edit -> mean, prompts without a value
FLIPS = [
    pytest.param([(-1.0, -2.0), (-1.0, -2.0)], [(-3.0, -2.0), (-3.0, -2.0)], 1.0, 0, id="both flip"),
    pytest.param([(-1.0, -2.0), (-2.0, -1.0)], [(-3.0, -2.0), (-3.0, -2.0)], 0.5, 0, id="one flips"),
    pytest.param(
        [(-1.0, -2.0), (-2.0, -1.0)], [(-1.0, -2.0), (-3.0, -2.0)], 0.0, 1, id="new ahead before: not counted"
    ),
    pytest.param([(-1.0, -2.0), (-1.0, -2.0)], [(-2.0, -2.0), (-3.0, -2.0)], 1.0, 1, id="a tie before: not counted"),
    pytest.param([(-2.0, -2.0), (-1.0, -2.0)], [(-3.0, -2.0), (-3.0, -2.0)], 0.5, 0, id="a tie after is no flip"),
    pytest.param([(-1.0, -2.0), (-1.0, -2.0)], [None, (-3.0, -2.0)], 1.0, 1, id="no answer before"),
    pytest.param([None, (-1.0, -2.0)], [(-3.0, -2.0), (-3.0, -2.0)], 1.0, 1, id="no answer after"),
]


@pytest.mark.parametrize(("after", "before", "mean", "omission"), FLIPS)
def test_flips_by_hand(after, before, mean, omission):
    score = scored("s_flip_rate", make_case("Peru"), after, before=before)
    assert score.mean == mean and sum(i.value is None for i in score.items) == omission


def test_it_asks_what_s_es_asks():
    case = make_case("Peru")
    assert METRICS.get("s_flip_rate")().probes(case) == METRICS.get("s_es")().probes(case)
