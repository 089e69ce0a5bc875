"""S-NS by hand."""

from __future__ import annotations

import pytest

from schemas.cases import CaseNeighbour
from tests.support.arithmetic import make_case, make_neighbour
from tests.support.metrics.token_scores import scored


def test_several_neighbours_and_prompts_all_count():
    case = make_case("Peru")
    more: tuple[CaseNeighbour, ...] = (
        make_neighbour(case.fact.key, "A", "Lima", "same_object", prompts=2),
        make_neighbour(case.fact.key, "B", "Lima", "same_object", prompts=1),
    )
    score = scored("s_ns", case.model_copy(update={"neighbours": more}), [(-3, -2), (-1, -2), (-3, -2)])
    assert score.mean == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        pytest.param([(-4.0, -2.0)], 1.0, id="old kept"),
        pytest.param([(-1.0, -2.0)], 0.0, id="old lost"),
    ],
)
def test_by_hand(values, mean):
    assert scored("s_ns", make_case("Peru"), values).mean == mean
