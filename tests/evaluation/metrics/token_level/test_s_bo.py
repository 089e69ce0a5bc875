"""Bleed-over by hand: what an edit takes from the objects of near subjects."""

from __future__ import annotations

import math

import pytest

from evaluation.metrics import METRICS
from schemas.answers import CaseScores
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


def test_a_prompt_loses_no_more_than_its_probability_before_the_edit():
    """Nothing lost of 0.1 each by five cases: the upper end was 52 %, as if each prompt could lose 1."""
    case, metric = make_case("Club", change="temporal"), METRICS.get("s_bo")()
    lost = {after: scored("s_bo", case, [(math.log(after),)], before=[(math.log(0.1),)]) for after in (0.1, 0.075)}
    assert lost[0.1].largest == pytest.approx(0.1)

    def five(after):
        items = [i.model_copy(update={"cluster": None}) for i in lost[after].items]
        return metric.summarise([CaseScores(case=f"c{n}", metric="s_bo", items=items) for n in range(5)])

    none, some = map(five, lost)
    assert none.interval.low == 0.0 and none.interval.high == pytest.approx(0.1 * (1 - 0.025 ** (1 / 5)))
    assert (none.share, some.share) == (0.0, pytest.approx(0.25))
    assert some.interval.low > 0 and some.interval.high < 0.1


def test_bleedover_without_an_answer_before_is_unscored():
    score = scored("s_bo", make_case("Club", change="temporal"), [(-1.0,)])
    assert score.mean is None
    assert "before the edit" in score.items[0].reason
