"""What a file is that is not UTF-8 text, in words."""

from __future__ import annotations

import codecs


def why_not_utf8(error: UnicodeDecodeError) -> str:
    r"""What stands in a file that is not UTF-8, and what to do.

    Example:
        >>> try:
        ...     "Rom\nCôte".encode("latin-1").decode()
        ... except UnicodeDecodeError as error:
        ...     why_not_utf8(error)
        'not UTF-8 text (Latin-1 or Windows-1252, perhaps): save the file as UTF-8'
    """
    head = bytes(error.object[:4])
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)):
        return f"not UTF-8 text but {wide_encoding(head)}: save the file as UTF-8"
    if b"\0" in error.object[:4096]:
        return "not a text file"
    return "not UTF-8 text (Latin-1 or Windows-1252, perhaps): save the file as UTF-8"


def wide_encoding(head: bytes) -> str | None:
    r"""UTF-16 or UTF-32, where a file begins as one of them: by its mark, or by the zeros around a plain letter.

    Args:
        head: Its first four bytes.

    Example:
        >>> [wide_encoding("ab".encode(name)[:4]) for name in ("utf-16", "utf-16-be", "utf-32", "utf-32-le", "utf-8")]
        ['UTF-16', 'UTF-16', 'UTF-32', 'UTF-32', None]
    """
    if head in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "UTF-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    return {3: "UTF-32", 2: "UTF-16"}.get(head.count(0)) if _zeros_around(head) else None


def _zeros_around(head: bytes) -> bool:
    """Whether zeros stand where the letters of another alphabet would: every other byte, or three of four."""
    letters = [place for place, byte in enumerate(head) if byte]
    return len(head) == 4 and letters in ([0], [3], [0, 2], [1, 3])


def line_of(error: UnicodeDecodeError) -> int:
    """The line, from 1, in which the first wrong byte of a whole file stands."""
    return error.object.count(b"\n", 0, error.start) + 1
