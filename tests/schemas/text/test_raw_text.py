from __future__ import annotations

import pytest

from schemas.text.raw_text import RAW_LENGTH, raw_text


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ("Step 1:\n\n  go\r\ngo", "Step 1:\n\n  go\ngo"),
        ("a\u202eb\x1b]0;t\x07", "a\\u202eb\\u001b]0;t\\u0007"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("x" * RAW_LENGTH, "x" * RAW_LENGTH),
        ("", ""),
    ],
    ids=["as written", "obeyed by a screen", "markup is the page's business", "just fits", "nothing"],
)
def test_nothing_is_left_out_and_nothing_obeyed(text: str, view: str) -> None:
    assert raw_text(text) == view


def test_what_is_cut_is_said() -> None:
    assert raw_text("x" * (RAW_LENGTH + 1)).endswith("x\n[the text goes on: 6,000 of 6,001 characters are shown]")
