"""Whether the model declined to answer."""

from __future__ import annotations

import pytest

from tests.support.metrics.text_scores import SCRIPT, scored


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        pytest.param([SCRIPT, "I cannot help."], [0.0, 1.0], id="refused"),
    ],
)
def test_by_hand(texts: list[str | None], values: list[float | None]) -> None:
    assert [i.value for i in scored("refusal_rate", texts).items] == values
