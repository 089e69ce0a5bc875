"""No cell of ours is run by a spreadsheet, and none is changed without need."""

from __future__ import annotations

import pytest

from schemas.text.spreadsheet_cells import safe_cell


@pytest.mark.parametrize("text", ["=cmd|'/c calc'!A0", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1", "  =1"])
def test_what_would_be_run_is_text(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["", " ", "rome", "a=b", "1-2", -0.5, None, 3, "'=1"])
def test_the_rest_stays(value: object) -> None:
    assert safe_cell(value) == value
