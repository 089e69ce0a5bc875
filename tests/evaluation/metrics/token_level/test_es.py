"""ES by hand: the new object ahead of the old one, a tie is not preferred."""

from __future__ import annotations

import pytest

from tests.support.arithmetic import make_case
from tests.support.metrics.token_scores import scored


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        pytest.param([(-1.0, -2.0)], 1.0, id="new ahead"),
        pytest.param([(-2.0, -1.0)], 0.0, id="old ahead"),
        pytest.param([(-1.0, -1.0)], 0.0, id="a tie is not preferred"),
    ],
)
def test_by_hand(values, mean):
    assert scored("es", make_case("Peru"), values).mean == mean
