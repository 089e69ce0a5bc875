"""What a model wrote, as judges, raters and readers of a report see it: nothing left out in silence, nothing obeyed."""

from __future__ import annotations

from schemas.text.escaping import escape

RAW_LENGTH = 6_000  # characters that are shown; nine short steps have some 500


def raw_text(text: str, *, longest: int = RAW_LENGTH) -> str:
    r"""A model's text as it stands: labels, empty steps, loops and remarks beside the steps included.

    Control characters and marks that turn a line around are written out. A longer text is cut, and its last line says
    how much is missing.

    Example:
        >>> raw_text("Note: it is in Paris\n\nStep 1:\nStep 1:\x1b[2J")
        'Note: it is in Paris\n\nStep 1:\nStep 1:\\u001b[2J'
        >>> raw_text("go " * 4, longest=6)
        'go go\n[the text goes on: 6 of 12 characters are shown]'
    """
    whole = text.replace("\r\n", "\n")
    shown = escape(whole[:longest]).rstrip()
    if len(whole) <= longest:
        return shown
    return f"{shown}\n[the text goes on: {longest:,} of {len(whole):,} characters are shown]"
