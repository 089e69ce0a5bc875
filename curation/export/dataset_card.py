"""The dataset card: a README for people, with the header that Hugging Face's hub and ``datasets`` read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from curation.export.parquet import tables_of
from curation.export.summary import EventSummary, SplitSummary
from curation.splits.split_file import Split
from schemas.text.counting import counted
from schemas.text.escaping import escape_line

_HUB = {  # the hub's names of licences
    "CC0-1.0": "cc0-1.0",
    "CC0": "cc0-1.0",
    "MIT": "mit",
    "Apache-2.0": "apache-2.0",
    "CC BY 4.0": "cc-by-4.0",
    "CC BY-SA 4.0": "cc-by-sa-4.0",
    "CC BY-NC-SA 4.0": "cc-by-nc-sa-4.0",
}
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_MOST = 20  # values of a list in the header that the card spells out
_KNOWN = {"format", "split", "version", "cases", "digest", "rule", "counts", "written_by", "judged_by"}
"""Parts of the header that have a place in the card."""


class ReleasePart(NamedTuple):
    """A file or folder of the release: its name, what it is, what it cannot carry, cases in it."""

    name: str
    about: str
    losses: tuple[str, ...]
    cases: int


def card(
    split: Split, summary: SplitSummary | EventSummary, parts: Sequence[ReleasePart], *, tables: bool = True
) -> str:
    """The card as Markdown, by the template ``card.md.jinja``.

    Args:
        split: The frozen split.
        summary: What ``survey`` counted.
        parts: The files that go with it.
        tables: Whether ``data/*.parquet`` are among them (then the header says how to load them).
    """
    header, cases = split.header, len(split.all_cases)
    loader = FileSystemLoader(Path(__file__).parent)
    page = Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    page.filters |= {"cell": _cell, "words": _plain_text, "counted": counted, "quote": _quote}
    text = page.get_template("card.md.jinja").render(
        split=split,
        header={"written_by": None, "judged_by": None, "rule": None, **header},
        lost={k: n for k, n in header.get("counts", {}).items() if k not in ("cases", "facts")},
        more={k: v for k, v in header.items() if k not in _KNOWN and v not in (None, "", [], {})},
        summary=summary,
        parts=parts,
        tables=tables_of(split) if tables else {},
        cases=cases,
        licence=hub_licence(summary.licences),
        size=next((name for limit, name in _SIZES if cases < limit), "n>1M"),
        half=100 * 1.96 * math.sqrt(0.25 / cases),
        file_name=split.name.replace("/", "-") + ".jsonl",
        first=_first,
    )
    return text.rstrip() + "\n"


def hub_licence(licences: Sequence[str]) -> str:
    """The hub's word for the licences: a known one, or ``other`` for several and for unknown ones.

    Example:
        >>> hub_licence(["MIT"]), hub_licence(["MIT", "CC BY-SA 4.0"])
        ('mit', 'other')
    """
    return _HUB.get(licences[0], "other") if len(licences) == 1 else "other"


def _first(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return list(counts.items())[:8]


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _cell(value: object) -> str:
    r"""A number, or text of others, in a Markdown line: no tag, no link, no end of the cell.

    Example:
        >>> _cell("<b>[x](javascript:y)|"), _cell(1200)
        ('&lt;b>[x]\\(javascript:y)\\|', '1,200')
    """
    if isinstance(value, int):
        return f"{value:,}"
    return escape_line(str(value)).replace("<", "&lt;").replace("](", "]\\(").replace("|", "\\|")


def _plain_text(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{k} = {_plain_text(v)}" for k, v in value.items())
    if isinstance(value, list):
        return f"{len(value):,} of them" if len(value) > _MOST else ", ".join(_plain_text(v) for v in value) or "none"
    return str(value)
