"""Bleed-over by hand: what an edit takes from the objects of near subjects."""

from __future__ import annotations

import math

import pytest

from evaluation.metrics import METRICS
from tests.support.arithmetic import make_case
from tests.support.metrics.token_scores import answer, scored


@pytest.mark.parametrize(
    ("before", "after", "normalisation", "loss"),
    [
        pytest.param(0.5, 0.2, "mean", 0.3, id="lost"),
        pytest.param(0.2, 0.5, "mean", 0.0, id="a gain is no bleedover"),
        pytest.param(0.4, 0.4, "sum", 0.0, id="unmoved"),
    ],
)
def test_bleedover_by_hand(before, after, normalisation, loss):
    case = make_case("Club", change="temporal")
    score = scored("s_bo", case, [(math.log(after),)], before=[(math.log(before),)], normalisation=normalisation)
    assert score.mean == pytest.approx(loss)


def test_bleedover_states_its_normalisation():
    """log P = -2 before and -4 after, over two tokens: exp(-1) - exp(-2) per token, exp(-2) - exp(-4) in sum."""
    case = make_case("Club", change="temporal")
    probe = METRICS.get("s_bo")().probes(case)[0]
    after, before = [answer(probe, -4.0, tokens=(2,))], [answer(probe, -2.0, tokens=(2,))]
    mean = scored("s_bo", case, after, before=before, normalisation="mean").mean
    assert mean == pytest.approx(math.exp(-1) - math.exp(-2))
    total = scored("s_bo", case, after, before=before, normalisation="sum").mean
    assert total == pytest.approx(math.exp(-2) - math.exp(-4))


def test_bleedover_without_an_answer_before_is_unscored():
    score = scored("s_bo", make_case("Club", change="temporal"), [(-1.0,)])
    assert score.mean is None
    assert "before the edit" in score.items[0].reason
