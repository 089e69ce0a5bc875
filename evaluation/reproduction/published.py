"""Figures that were published: which tables there are, and what they print."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from evaluation.analysis.text_ratings import ASPECTS, SHORT
from evaluation.reproduction.table_2_check import recompute, table_2
from schemas.core.errors import UserError
from schemas.core.registry import suggest

SOURCE = "Li et al., ScEdit, Findings of ACL 2025, arXiv 2505.23291"


class PublishedTable(NamedTuple):
    """One published table: its name, what and where it is, and its part of ``scedit.toml``."""

    name: str
    title: str
    where: str
    kind: str
    data: Mapping[str, Any]


class PrintedFigure(NamedTuple):
    """One printed figure: model and method as printed, data, metric or pair, value and half width (None: not printed).

    Values in the unit of the table: percent, points of 7, or a coefficient. ``note`` is an erratum.
    """

    model: str
    method: str
    split: str
    metric: str
    value: float
    half: float | None
    note: str = ""


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((files("evaluation.reproduction") / "scedit.toml").read_text(encoding="utf-8"))


def published_tables() -> tuple[str, ...]:
    """Names of what can be reproduced.

    Example:
        >>> published_tables()
        ('scedit-table2', 'scedit-table3', 'scedit-table5', 'scedit-table6', 'scedit-table8')
    """
    return tuple(_tables())


def published_table(name: str) -> PublishedTable:
    """A published table by name.

    Raises:
        UserError: unknown.
    """
    if name not in _tables():
        near = suggest(name, list(published_tables()))
        raise UserError(
            f"nothing published is known as '{name}'",
            allowed=", ".join(published_tables()),
            fix=f"did you mean '{near}'?" if near else None,
        )
    data = _tables()[name]
    return PublishedTable(name, data["title"], data["where"], data["kind"], data)


def printed_figures(what: PublishedTable) -> tuple[PrintedFigure, ...]:
    """The printed figures.

    Example:
        >>> printed_figures(published_table("scedit-table5"))[2]
        PrintedFigure(model='', method='', split='ScEdit-CF', metric='consistency', value=-0.09, half=None, note='')
    """
    if what.kind == "token":
        out = []
        for e, checked in ((entry, recompute(entry)) for entry in table_2()):
            note = "" if checked.verdict != "impossible" else f"impossible interval, should be {checked.half:.2f}"
            out.append(PrintedFigure(e.model, e.method, e.split, e.metric, e.value, e.half, note))
        return tuple(out)
    if what.kind == "text":
        return tuple(
            PrintedFigure(model, method, "ScEdit-CF", aspect, cell[0], cell[1] if len(cell) > 1 else None)
            for model, method, *cells in what.data["rows"]
            for aspect, cell in zip(ASPECTS, cells, strict=True)
        )
    if what.kind == "agreement":
        return tuple(PrintedFigure("", "", "ScEdit-CF", aspect, v, None) for aspect, v in what.data["alpha"].items())
    return tuple(PrintedFigure("Llama-3", "", "ScEdit-CF", f"{a}, {b}", v, None) for a, b, v in what.data["pairs"])


def unit(what: PublishedTable) -> str:
    """What the figures of a table are."""
    return {"token": "percent", "text": "points of 7", "agreement": "alpha", "correlation": "rho"}[what.kind]


def short(metric: str) -> str:
    """A metric as tables show it."""
    return SHORT.get(metric, metric)
