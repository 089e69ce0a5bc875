"""How often the steps of a script name the old object."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from tests.support.metrics.text_scores import SCRIPT, scored


def test_unscored_is_counted_and_says_why() -> None:
    score = scored("old_object_rate", ["No steps.", None])
    assert [i.reason for i in score.items] == ["the text has no steps", "no answer"] and score.mean is None
    assert METRICS.get("old_object_rate")().summarise([score]).unscored == 2


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        pytest.param([SCRIPT.format("Lima", "Oslo"), "No steps."], [1 / 3, None], id="old in steps"),
    ],
)
def test_by_hand(texts: list[str | None], values: list[float | None]) -> None:
    assert [i.value for i in scored("old_object_rate", texts).items] == values
