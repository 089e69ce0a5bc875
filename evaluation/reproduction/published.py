"""Figures that were published: which tables there are, and what they print."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from evaluation.analysis.text_ratings import ASPECTS, SHORT
from evaluation.reproduction.mulfe_arithmetic import probes_note
from evaluation.reproduction.table_2_check import recompute, table_2
from schemas.core.errors import UserError
from schemas.core.registry import suggest

SOURCE = "Li et al., ScEdit, Findings of ACL 2025, arXiv 2505.23291"
_ROUNDING = 0.11  # of a mean of two figures with one decimal, against a third one


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
    if what.kind == "token":
        out = []
        for e, checked in ((entry, recompute(entry)) for entry in table_2()):
            note = "" if checked.verdict != "impossible" else f"impossible interval, should be {checked.half:.2f}"
            out.append(PrintedFigure(e.model, e.method, e.split, e.metric, e.value, e.half, note))
        return tuple(out)
    if what.kind == "events":
        return tuple(_of_events(what))
    if what.kind == "documents":
        return tuple(_of_documents(what))
    if what.kind == "text":
        return tuple(
            PrintedFigure(model, method, "ScEdit-CF", aspect, cell[0], cell[1] if len(cell) > 1 else None)
            for model, method, *cells in what.data["rows"]
            for aspect, cell in zip(ASPECTS, cells, strict=True)
        )
    if what.kind == "agreement":
        return tuple(PrintedFigure("", "", "ScEdit-CF", aspect, v, None) for aspect, v in what.data["alpha"].items())
    return tuple(PrintedFigure("Llama-3", "", "ScEdit-CF", f"{a}, {b}", v, None) for a, b, v in what.data["pairs"])


def _of_events(what: PublishedTable) -> Iterator[PrintedFigure]:
    """Shares by method; those that no whole number of events gives, or not the data's shares, are marked."""
    for model, method, *values in what.data["rows"]:
        row = dict(zip(what.data["metrics"], values, strict=True))
        for metric, value in row.items():
            if math.isnan(value):
                continue
            numbers = what.data.get("events", {}).get(metric, ())
            note = ""
            if numbers and not any(_is_share_of(value, n) for n in numbers):
                note = f"no whole number of {' or '.join(map(str, numbers))} events"
            if metric == "ev_fact" and (share := what.data.get("unknown_share")):
                mean = share * row["ev_unknown"] + (1 - share) * row["ev_known"]
                note = f"{mean:.1f} by the shares of the released data" if abs(mean - value) > _ROUNDING else ""
            yield PrintedFigure(model, method, "elken-test", metric, value, None, note)


def _of_documents(what: PublishedTable) -> Iterator[PrintedFigure]:
    """Figures by method; exact matches that are no whole number of the published probes are marked."""
    for model, method, *values in what.data["rows"]:
        row = dict(zip(what.data["metrics"], values, strict=True))
        note = probes_note(row)
        for metric, value in row.items():
            yield PrintedFigure(
                model, method, "mulfe_test", metric, value, None, note if metric in ("em", "em_3") else ""
            )


def _is_share_of(percent: float, number: int) -> bool:
    """Whether a count out of ``number`` is this percentage, printed with one decimal."""
    return abs(100 * round(percent * number / 100) / number - percent) <= 0.05 + 1e-9


def unit(what: PublishedTable) -> str:
    """What the figures of a table are."""
    units = {"text": "points of 7", "agreement": "alpha", "correlation": "rho"}
    if any(metric.startswith("ppl") for metric in what.data.get("metrics", ())):
        return "percent, perplexities as they are"
    return units.get(what.kind, "percent")


def short(metric: str) -> str:
    """A metric as tables show it."""
    return SHORT.get(metric, metric)
