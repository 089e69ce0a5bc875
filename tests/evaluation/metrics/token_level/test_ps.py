"""PS by hand: the share of paraphrases at which the new object is ahead."""

from __future__ import annotations

import pytest

from tests.support.arithmetic import make_case
from tests.support.metrics.token_scores import scored


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        pytest.param([(-1.0, -2.0), (-3.0, -2.0)], 0.5, id="one of two"),
    ],
)
def test_by_hand(values, mean):
    assert scored("ps", make_case("Peru"), values).mean == mean
