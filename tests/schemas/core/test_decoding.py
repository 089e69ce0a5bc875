"""What a file is that is not UTF-8."""

from __future__ import annotations

import pytest

from schemas.core.decoding import line_of, why_not_utf8


@pytest.mark.parametrize(
    ("data", "said", "line"),
    [
        ("one\ntwo Côte".encode("latin-1"), "Latin-1", 2),
        ("Côte".encode("utf-16"), "but UTF-16", 1),
        ("Côte".encode("utf-16-be"), "not a text file", 1),
        (b"\x00\x01\n\xff", "not a text file", 2),
    ],
)
def test_bytes_that_are_no_text(data: bytes, said: str, line: int) -> None:
    with pytest.raises(UnicodeDecodeError) as caught:
        data.decode()
    assert said in why_not_utf8(caught.value) and line_of(caught.value) == line
