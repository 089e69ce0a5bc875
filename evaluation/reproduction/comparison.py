"""Published results beside ours: what was printed, what a reproduction needs and lacks here, and how far ours are off.

A figure of ours is compared with a printed one only where model and data are the published ones.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

from evaluation.analysis.text_ratings import ASPECTS, PEOPLE, PROGRAMS, SHORT
from evaluation.metrics.base import Role, metric_of
from evaluation.report.sections import ReportSection, TextSection, main_source
from evaluation.reproduction.table_2_check import CASES, recompute, table_2
from schemas.core.errors import UserError
from schemas.core.registry import suggest

SOURCE = "Li et al., ScEdit, Findings of ACL 2025, arXiv 2505.23291"
_BYTES = {"GPT2-XL": 6.2, "GPT-J": 24.2, "Llama-3": 32.1}  # GB of the weights in float32
Verdict = Literal["within", "outside", "not comparable", "no figure"]


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


class FigureComparison(NamedTuple):
    """A printed figure and ours.

    Attributes:
        printed: What was printed.
        ours: Our value and half width, None where there is none. ``told``: on what ours rests.
        tolerance: How far ours may be off: half width of the difference, at least the last printed place; else None.
        verdict: ``within`` or ``outside`` the tolerance where model and data are the same.
    """

    printed: PrintedFigure
    ours: float | None
    half: float | None
    told: str
    tolerance: float | None
    verdict: Verdict


class Requirement(NamedTuple):
    """Something that a full reproduction needs, whether it is here, and what to do if not."""

    what: str
    here: bool
    fix: str


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


def requirements(what: PublishedTable, *, data: Path | None = None) -> list[Requirement]:
    """What a full reproduction needs, and what of it is on this machine.

    Args:
        what: The table.
        data: Folder with the published files; the working folder where it is not given.
    """
    folder = data or Path()
    out = []
    for name in what.data["data"]:
        fix = (
            f"get {name} from the authors' repository (it is not redistributed here), then name its folder with --data"
        )
        out.append(Requirement(f"data: {name}", (folder / name).is_file(), fix))
    for name, hub in what.data["models"].items():
        if what.data.get("endpoint"):
            continue
        out.append(Requirement(f"model: {hub}", _cached(hub), f"huggingface-cli download {hub}, or --set model=FOLDER"))
        size = _BYTES[name]
        told = f"memory for {name}: about {size:.0f} GB of weights in float32, or half of it"
        out.append(Requirement(told, _memory() >= size * 1.2, "a GPU or machine of that size, or dtype=bfloat16"))
    out += [_method(name) for name in what.data["methods"].values()]
    if what.data.get("endpoint"):
        out.append(
            Requirement("a key for the closed models", bool(os.environ.get("OPENAI_API_KEY")), "export OPENAI_API_KEY")
        )
    if judge := what.data.get("judge"):
        fix = f"export OPENAI_API_KEY and judge with --model {judge}, or another judge (then Table 3 is not the same)"
        out.append(Requirement(f"judge: {judge}", bool(os.environ.get("OPENAI_API_KEY")), fix))
    if people := what.data.get("people"):
        out.append(
            Requirement(f"{people} people who rate the same scripts", False, "scedit annotate new NAME --overlap 3")
        )
    return out


def _method(name: str) -> Requirement:
    from evaluation.editors import EDITORS

    return Requirement(f"method: {name}", name in EDITORS.names(), "it comes with a later version")


def _cached(hub: str) -> bool:
    """Whether a model's configuration is in the hub cache; asks nothing of the network."""
    try:
        from huggingface_hub import try_to_load_from_cache
    except ModuleNotFoundError:
        return False
    return isinstance(try_to_load_from_cache(hub, "config.json"), str)


def _memory() -> float:
    """GB of the largest device: a GPU where there is one, else this machine's memory."""
    try:
        import torch

        if torch.cuda.is_available():
            return max(torch.cuda.get_device_properties(n).total_memory for n in range(torch.cuda.device_count())) / 1e9
    except ModuleNotFoundError:
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    except (ValueError, OSError, AttributeError):
        return 0.0


class OurFigure(NamedTuple):
    """A figure of ours: value, half width, whether model and data are the published ones, on what it rests."""

    value: float
    half: float | None
    same: bool
    basis: str


def compare_figures(
    what: PublishedTable, parts: Sequence[ReportSection], others: Sequence[TextSection] = ()
) -> list[FigureComparison]:
    """Every printed figure with ours: of the same model and data where a run has them, else of the first run with any.

    Args:
        what: The table.
        parts: Runs, as a report takes them.
        others: Scripts of models that no run is of (Table 8).
    """
    ways: dict[
        str, Callable[[PublishedTable, PrintedFigure, Sequence[ReportSection], Sequence[TextSection]], list[OurFigure]]
    ] = {
        "token": _token,
        "text": _text,
        "agreement": _agreement,
        "correlation": _correlation,
    }
    out = []
    for entry in printed_figures(what):
        found = sorted(ways[what.kind](what, entry, parts, others), key=lambda o: not o.same)
        if not found:
            out.append(FigureComparison(entry, None, None, "", None, "no figure"))
            continue
        best = found[0]
        if not best.same:
            out.append(FigureComparison(entry, best.value, best.half, best.basis, None, "not comparable"))
            continue
        tolerance = max(0.01, math.hypot(entry.half or 0.0, best.half or 0.0))
        verdict: Verdict = "within" if abs(best.value - entry.value) <= tolerance + 1e-9 else "outside"
        basis = best.basis + ("" if entry.half is not None else "; no interval is printed, so only ours counts")
        out.append(FigureComparison(entry, best.value, best.half, basis, tolerance, verdict))
    return out


_ROLES: dict[str, Role] = {"ES": "efficacy", "S-ES": "script_efficacy", "S-NS": "script_locality", "S-BO": "bleed_over"}
_GROUPS = {"ScEdit-CF": "counterfactual", "ScEdit-T": "temporal"}


def _same(what: PublishedTable, entry: PrintedFigure, model: str, cases: int) -> bool:
    """Whether a model is the published one, by the last part of its name, and the cases as many as published."""
    hub = what.data["models"].get(entry.model, "")
    mine, theirs = (x.rstrip("/").rsplit("/", 1)[-1].casefold() for x in (model, hub))
    return mine == theirs and cases == what.data.get("cases", CASES.get(entry.split, -1))


def _token(
    what: PublishedTable, entry: PrintedFigure, parts: Sequence[ReportSection], others: Sequence[TextSection]
) -> list[OurFigure]:
    out = []
    for part in parts:
        kind = _GROUPS[entry.split]
        tables = {t.group: t for t in part.tables}
        kinds = {c.fact.change for c in part.run.split.cases if c.key in set(part.run.cases)}
        table = tables.get(kind) or (part.tables[0] if kinds == {kind} else None)
        metric = metric_of(part.metrics, _ROLES[entry.metric])
        if table is None or metric is None:
            continue
        for row in table.rows:
            s = row.summaries[metric.name]
            if row.editor != what.data["methods"][entry.method] or s.mean is None:
                continue
            model = str(part.run.about["model"])
            told = f"{model}, {part.run.split.name}, {s.cases} cases, {row.label}"
            half = None if s.half is None else 100 * s.half
            out.append(OurFigure(100 * s.mean, half, _same(what, entry, model, table.cases), told))
    return out


def _text(
    what: PublishedTable, entry: PrintedFigure, parts: Sequence[ReportSection], others: Sequence[TextSection]
) -> list[OurFigure]:
    known = [
        (p.text, len(p.run.cases), {e.label: e.manifest.editor for e in p.run.editors})
        for p in parts
        if p.text is not None
    ]
    known += [(t, len({s.case for s in t.texts.scripts}), {}) for t in others]
    out = []
    for text, cases, methods in known:
        source = next((s for s in text.sources if what.data.get("judge") in s.raters), main_source(text.sources))
        for label, row in () if source is None else source.cells.items():
            if methods.get(label, label) != what.data["methods"][entry.method] or entry.metric not in row:
                continue
            cell = row[entry.metric]
            if source is None or cell.by_script.mean is None:
                continue
            judged = any(r == what.data.get("judge") for r in source.raters)
            same = judged and _same(what, entry, text.model.partition("@")[0], cases)
            told = f"{text.model}, {label}, {cell.scripts} scripts, rated by {source.title}"
            out.append(OurFigure(cell.by_script.mean, cell.by_script.half, same, told))
    return out


def _agreement(
    what: PublishedTable, entry: PrintedFigure, parts: Sequence[ReportSection], others: Sequence[TextSection]
) -> list[OurFigure]:
    out = []
    for text in [*(p.text for p in parts if p.text is not None), *others]:
        found = None if text.judging is None else text.judging.people.get(entry.metric)
        if found is None or found.alpha.value is None:
            continue
        low, high = found.alpha.low, found.alpha.high
        half = None if low is None or high is None else (high - low) / 2
        who = PROGRAMS if text.texts.synthetic else PEOPLE
        out.append(
            OurFigure(found.alpha.value, half, False, f"{text.model}, {found.units} scripts, {found.raters} {who}")
        )
    return out


def _correlation(
    what: PublishedTable, entry: PrintedFigure, parts: Sequence[ReportSection], others: Sequence[TextSection]
) -> list[OurFigure]:
    out = []
    for part in parts:
        for view in part.correlations:
            first, second = entry.metric.split(", ")
            pair = view.between(first, second)
            if view.view != "pooled" or pair is None or pair.correlation.value is None:
                continue
            e = pair.correlation
            half = None if e.low is None or e.high is None else (e.high - e.low) / 2
            model = str(part.run.about["model"])
            same = _same(what, entry, model, len(part.run.cases))
            p = "–" if e.p is None else f"{e.p:.2g}"
            out.append(
                OurFigure(e.value or 0.0, half, same, f"{model}, {e.cases} cases, {view.methods} methods, p {p}")
            )
    return out


def unit(what: PublishedTable) -> str:
    """What the figures of a table are."""
    return {"token": "percent", "text": "points of 7", "agreement": "alpha", "correlation": "rho"}[what.kind]


def short(metric: str) -> str:
    """A metric as tables show it."""
    return SHORT.get(metric, metric)
