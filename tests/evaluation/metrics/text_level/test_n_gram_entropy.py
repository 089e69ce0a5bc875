"""How varied the words of a text are."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from schemas.answers import CaseScores, ItemScore
from tests.support.metrics.text_scores import scored


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        pytest.param(["short", " ".join(["a"] * 50)], [None, 0.0], id="entropy"),
    ],
)
def test_by_hand(texts: list[str | None], values: list[float | None]) -> None:
    assert [i.value for i in scored("n_gram_entropy", texts).items] == values


def test_an_entropy_is_never_below_nothing() -> None:
    """Loops of six cases, one of them with a few words more: "0.05 [-0.06, 0.26]" bits."""
    values = [0.0, 0.0, 0.0, 0.0, 0.1, 0.2]
    scores = [
        CaseScores(case=f"c{k}", metric="n_gram_entropy", items=(ItemScore(probe="p", item="p", value=v),))
        for k, v in enumerate(values)
    ]
    summary = METRICS.get("n_gram_entropy")().summarise(scores)
    assert summary.ends is not None and summary.ends[0] == 0.0 < summary.mean < summary.ends[1]
