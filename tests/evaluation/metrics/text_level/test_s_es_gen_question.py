"""S-ES by a whole script: which object it names first."""

from __future__ import annotations

import pytest

from tests.support.metrics.text_scores import SCRIPT, scored


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        pytest.param([SCRIPT.format("Oslo", "Lima"), SCRIPT.format("Lima", "Oslo")], [1.0, 0.0], id="question"),
    ],
)
def test_by_hand(texts: list[str | None], values: list[float | None]) -> None:
    assert [i.value for i in scored("s_es_gen_question", texts).items] == values
