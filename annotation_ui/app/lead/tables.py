"""Tables of lead pages as HTML: rows that become cards on a phone, every text escaped."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path

import streamlit as st


def apply_lead_style() -> None:
    """The rules of the lead's pages, beside those that all pages share."""
    st.html(f"<style>{(Path(__file__).parents[1] / 'assets').joinpath('lead.css').read_text(encoding='utf-8')}</style>")


def lead_table(head: Sequence[str], rows: Sequence[Sequence[str]], *, flagged: Sequence[str] = ()) -> str:
    """A table; a column that is empty in every row is left out.

    Args:
        head: Titles of the columns.
        rows: Texts, a row each.
        flagged: Columns whose texts are to be noticed.

    Example:
        >>> lead_table(["who", "note"], [["ann", ""]]).count("<th>")
        1
    """
    there = [n for n in range(len(head)) if any(row[n] for row in rows)]
    top = "".join(f"<th>{html.escape(head[n])}</th>" for n in there)
    lines = "".join(
        "<tr>" + "".join(_cell(head[n], row[n], flagged=head[n] in flagged) for n in there) + "</tr>" for row in rows
    )
    return f'<div class="se-lead"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def _cell(title: str, text: str, *, flagged: bool) -> str:
    body = html.escape(text)
    if flagged and text:
        body = f'<div class="se-flag">{body}</div>'
    return f'<td data-label="{html.escape(title)}">{body}</td>'
