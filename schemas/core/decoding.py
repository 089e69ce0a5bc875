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
    if bytes(error.object[:2]) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "not UTF-8 text but UTF-16: save the file as UTF-8"
    if b"\0" in error.object[:4096]:
        return "not a text file"
    return "not UTF-8 text (Latin-1 or Windows-1252, perhaps): save the file as UTF-8"


def line_of(error: UnicodeDecodeError) -> int:
    """The line, from 1, in which the first wrong byte of a whole file stands."""
    return error.object.count(b"\n", 0, error.start) + 1
