"""Whether a text repeats itself."""

from __future__ import annotations

import pytest

from tests.support.metrics.text_scores import SCRIPT, scored


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        pytest.param([SCRIPT, "Oslo Oslo Oslo Oslo"], [0.0, 1.0], id="loops"),
    ],
)
def test_by_hand(texts: list[str | None], values: list[float | None]) -> None:
    assert [i.value for i in scored("repetition_rate", texts).items] == values
