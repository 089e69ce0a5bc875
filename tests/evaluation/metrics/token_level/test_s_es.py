"""S-ES by hand: the share of script prompts at which the new object is ahead."""

from __future__ import annotations

import pytest

from tests.support.arithmetic import make_case
from tests.support.metrics.token_scores import scored


@pytest.mark.parametrize(
    ("values", "mean"),
    [
        pytest.param([(-1.0, -2.0), (-1.0, -1.5)], 1.0, id="both"),
        pytest.param([(-1.0, -0.5), (-1.0, -1.5)], 0.5, id="one of two"),
    ],
)
def test_by_hand(values, mean):
    assert scored("s_es", make_case("Peru"), values).mean == mean
