"""What a file is that is not UTF-8."""

from __future__ import annotations

import pytest

from schemas.core.decoding import line_of, why_not_utf8, wide_encoding


@pytest.mark.parametrize(
    ("data", "message", "line"),
    [
        ("one\ntwo Côte".encode("latin-1"), "Latin-1", 2),
        ("Côte".encode("utf-16"), "but UTF-16", 1),
        ("Côte".encode("utf-32"), "but UTF-32", 1),
        (b"\x00\x00\xfe\xff\x00\x00\x00a", "but UTF-32", 1),
        ("Côte".encode("utf-16-be"), "not a text file", 1),
        (b"\x00\x01\n\xff", "not a text file", 2),
    ],
)
def test_bytes_that_are_no_text(data: bytes, message: str, line: int) -> None:
    with pytest.raises(UnicodeDecodeError) as error:
        data.decode()
    assert message in why_not_utf8(error.value) and line_of(error.value) == line


MARKS = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize("encoding", MARKS)
@pytest.mark.parametrize("text", ["ab", '{"', "[\n"])
def test_two_and_four_bytes_a_letter_are_told_apart(encoding: str, text: str) -> None:
    assert wide_encoding(text.encode(encoding)[:4]) == encoding[:6].upper()


@pytest.mark.parametrize(
    "head", [b"", b"a", b"\0", b"a\0", bytes(4), b"abcd", b"ab\0\0", b"\0\0ab", b"\0abc", b"a\0bc"]
)
def test_other_bytes_are_neither(head: bytes) -> None:
    assert wide_encoding(head) is None
