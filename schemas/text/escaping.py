r"""Text of others on a terminal or in a log: what would be obeyed, or would turn the line around, is written out.

Facts, keys and replies are data. A name may hold escape sequences that clear a screen, set a title or hide text, and
marks that make a line read backwards. They are kept in the store as they are, and shown as ``\u001b``, which is also
how JSON writes them, so JSON lines mean the same before and after.
"""

from __future__ import annotations

import re
from typing import Any

_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_OBEYED = re.compile(
    rf"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029{_BIDI}\ud800-\udfff\U000e0000-\U000e007f]|\r(?!\n)"
)
_COLOUR = r"\x1b\[[0-9;]*[mK]"
_ALLOWED = rf"{_COLOUR}|\A\r"
_BUT_ALLOWED = re.compile(rf"({_ALLOWED})|({_OBEYED.pattern})")


def _escape_char(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def escape(text: str) -> str:
    r"""A text with everything written out that a terminal would obey; line ends (also ``\r\n``) and tabs stay.

    Example:
        >>> escape("R\u202eome\x1b[2J")
        'R\\u202eome\\u001b[2J'
    """
    return _OBEYED.sub(lambda m: _escape_char(m.group()), text)


def escape_line(text: str, *, longest: int = 400) -> str:
    r"""A text on one line, the middle left out where it is long.

    Example:
        >>> escape_line("a\nb\x00")
        'a b\\u0000'
    """
    if len(text) > longest:
        text = f"{text[: longest // 2]} ... {text[-longest // 2 :]}"
    return " ".join(escape(text.replace("\r", " ")).split())


def markdown_cell(text: str) -> str:
    r"""A text in a Markdown line or a cell of a table: no tag, no link, no end of the cell.

    Example:
        >>> markdown_cell("<b>[x](javascript:y)|")
        '&lt;b>[x]\\(javascript:y)\\|'
    """
    return escape_line(text).replace("<", "&lt;").replace("](", "]\\(").replace("|", "\\|")


def markdown_code(text: str) -> str:
    r"""A text as code in a cell: one line, no bar, and a fence longer than any backticks in it.

    Example:
        >>> markdown_code("a|b"), markdown_code("a `b`"), markdown_code("")
        ('`a\\|b`', '`` a `b` ``', '–')
    """
    line = escape_line(text, longest=2000).replace("|", "\\|")
    fence = "`"
    while fence in line:
        fence += "`"
    space = " " if len(fence) > 1 else ""
    return f"{fence}{space}{line}{space}{fence}" if line else "–"


class EscapingStream:
    r"""A text stream that writes out what would be obeyed; everything else is the stream's.

    Colours are let through, and a ``\r`` that begins a write: so progress bars write their line over. The command line
    puts its output through one, so no command can forget it.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; returns the number of characters that were given."""
        self._stream.write(_BUT_ALLOWED.sub(lambda m: m.group(1) or _escape_char(m.group(2)), text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
