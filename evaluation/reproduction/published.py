"""Figures that were published: which tables there are, and what they print."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from evaluation.analysis.text_ratings import SHORT
from schemas.core.errors import UserError
from schemas.core.registry import suggest

SOURCE = "Li et al., ScEdit, Findings of ACL 2025, arXiv 2505.23291"
CASES = {"ScEdit-CF": 1830, "ScEdit-T": 1762}
"""Cases of the published data."""


class PublishedTable(NamedTuple):
    """One published table: its name, what and where it is, and its part of a file of published figures."""

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
    """The tables of all papers; what a file says of all of its tables stands in ``all``."""
    tables: dict[str, Any] = {}
    for name in ("scedit.toml", "elken.toml", "mulfe.toml"):
        data = tomllib.loads((files("evaluation.reproduction") / name).read_text(encoding="utf-8"))
        shared = data.pop("all", {"source": SOURCE})
        tables |= {table: shared | fields for table, fields in data.items()}
    return tables


@cache
def _rows() -> tuple[dict[str, str], ...]:
    """The rows of the file of figures."""
    text = (files("evaluation.reproduction") / "published.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def published_tables() -> tuple[str, ...]:
    """Names of what can be reproduced.

    Example:
        >>> published_tables()[-4:]
        ('elken-table15', 'mulfe-table2', 'mulfe-table3', 'mulfe-table7')
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
    return tuple(
        PrintedFigure(
            row["model"],
            row["method"],
            row["split"],
            row["metric"],
            float(row["value"]),
            float(row["half"]) if row["half"] else None,
            row["note"],
        )
        for row in _rows()
        if row["table"] == what.name
    )


def unit(what: PublishedTable) -> str:
    """What the figures of a table are."""
    units = {"text": "points of 7", "agreement": "alpha", "correlation": "rho"}
    if any(figure.metric.startswith("ppl") for figure in printed_figures(what)):
        return "percent, perplexities as they are"
    return units.get(what.kind, "percent")


def short(metric: str) -> str:
    """A metric as tables show it."""
    return SHORT.get(metric, metric)
