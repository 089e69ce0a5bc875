"""What a file is that is not UTF-8."""

from __future__ import annotations

import pytest

from schemas.core.decoding import line_of, why_not_utf8


@pytest.mark.parametrize(
    ("data", "message", "line"),
    [
        ("one\ntwo Côte".encode("latin-1"), "Latin-1", 2),
        ("Côte".encode("utf-16"), "but UTF-16", 1),
        ("Côte".encode("utf-16-be"), "not a text file", 1),
        (b"\x00\x01\n\xff", "not a text file", 2),
    ],
)
def test_bytes_that_are_no_text(data: bytes, message: str, line: int) -> None:
    with pytest.raises(UnicodeDecodeError) as error:
        data.decode()
    assert message in why_not_utf8(error.value) and line_of(error.value) == line
