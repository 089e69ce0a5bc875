"""No cell of ours is run by a spreadsheet, and none is changed without need."""

from __future__ import annotations

import pytest

from schemas.text.spreadsheet_cells import safe_cell


@pytest.mark.parametrize("text", ["=cmd|'/c calc'!A0", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r\n=1", "  =1"])
def test_what_would_be_run_is_text(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a\x1b[2Jb", "a\\u001b[2Jb"),
        ("R\u202eome", "R\\u202eome"),
        ("\r=1", "'\\u000d=1"),
        ("=\x9b1", "'=\\u009b1"),
        ("\x00", "\\u0000"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\udb40\\udc41"),
    ],
)
def test_what_a_terminal_obeys_is_written_out(text: str, cell: str) -> None:
    assert safe_cell(text) == cell
    assert safe_cell(cell) == cell or cell.startswith("'"), "again changes nothing"


@pytest.mark.parametrize(
    "value", ["one\ntwo\tthree\r\n", "عربي", "क्\u200dष", "", " ", "rome", "a=b", "1-2", -0.5, None, 3, "'=1"]
)
def test_the_rest_stays(value: object) -> None:
    assert safe_cell(value) == value
