"""Whether a text is a script in the asked-for format."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from tests.support.arithmetic import make_case
from tests.support.metrics.text_scores import SCRIPT, scored


def test_cut_off_breaks_the_format() -> None:
    assert scored("script_format", [SCRIPT, SCRIPT], ended="length").mean == 0.0


def test_scripts_are_not_stopped_at_a_line() -> None:
    assert all(p.stop == () for p in METRICS.get("script_format")().probes(make_case("Peru")))


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        pytest.param([SCRIPT, "I like Oslo."], [1.0, 0.0], id="format"),
    ],
)
def test_by_hand(texts: list[str | None], values: list[float | None]) -> None:
    assert [i.value for i in scored("script_format", texts).items] == values
