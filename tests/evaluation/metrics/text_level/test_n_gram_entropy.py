"""How varied the words of a text are."""

from __future__ import annotations

import pytest

from tests.support.metrics.text_scores import scored


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        pytest.param(["short", " ".join(["a"] * 50)], [None, 0.0], id="entropy"),
    ],
)
def test_by_hand(texts: list[str | None], values: list[float | None]) -> None:
    assert [i.value for i in scored("n_gram_entropy", texts).items] == values
