"""Published figures beside ours, and how far ours may be off.

A figure of ours is compared only where model, data, methods, set-up and judge are the published ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from evaluation.analysis.comparison import Comparison, MethodRow
from evaluation.analysis.correlations import passes_filter, spearman_p
from evaluation.analysis.text_ratings import PEOPLE, PROGRAMS, SHORT, RatingSource
from evaluation.judge.ratings import RatingCell
from evaluation.metrics.event_answers import RatedAnswer
from evaluation.metrics.pooled import PERPLEXITY
from evaluation.report.sections import ReportSection, TextSection, main_source
from evaluation.reproduction.published import (
    CASES,
    PrintedFigure,
    PublishedData,
    PublishedTable,
    data_difference,
    printed_figures,
)
from evaluation.runs.results import all_cases_by_key, cases_by_key
from schemas.cases import AnyCase, Case, DocumentCase, EventCase
from schemas.text.counting import counted

_GROUPS = {"ScEdit-CF": "counterfactual", "ScEdit-T": "temporal"}
_TYPES: dict[str, type[AnyCase]] = {"token": Case, "events": EventCase, "documents": DocumentCase}
_RATED = frozenset(SHORT.values())
_DATE = re.compile(r"-(20\d\d-?\d\d-?\d\d|latest)$")
"""What closed models' names end in: ``-2024-08-06``, ``-20241022``."""


class OurFigure(NamedTuple):
    """A figure of ours.

    Attributes:
        value: In the unit of the table.
        half: Half of its published kind of interval, None where there is none.
        differs: What is not as published, in words; empty where it may be compared.
        basis: On what it rests.
    """

    value: float
    half: float | None
    differs: tuple[str, ...]
    basis: str


class OurResults(NamedTuple):
    """What ours is looked for in.

    Attributes:
        parts: Runs, as a report takes them.
        others: Scripts of models that no run is of (Table 8).
        data: Published files that are here, by data set.
        cases: Cases by key, for scripts of no run.
    """

    parts: Sequence[ReportSection] = ()
    others: Sequence[TextSection] = ()
    data: Mapping[str, PublishedData] = {}
    cases: Mapping[str, Case] = {}


def our_figures(what: PublishedTable, entry: PrintedFigure, ours: OurResults) -> list[OurFigure]:
    """Every figure of ours of a printed kind, those that may be compared first."""
    return sorted(_KINDS.get(what["kind"], _metric)(what, entry, ours), key=lambda o: len(o.differs))


def is_published_model(what: PublishedTable, printed: str, model: str) -> bool:
    """Whether a model is the one that a table names, by the last part of its name.

    The dates of closed models are not printed, so any dated version of the same name is.

    Example:
        >>> from evaluation.reproduction.published import published_table
        >>> table = published_table("scedit-table8")
        >>> [is_published_model(table, "GPT-4o", m) for m in ("gpt-4o", "gpt-4o-2024-08-06", "gpt-4o-mini")]
        [True, True, False]
    """
    known = what["models"].get(printed, ())
    mine, *names = (
        name.rstrip("/").rsplit("/", 1)[-1].casefold()
        for name in (model, *([known] if isinstance(known, str) else known))
    )
    return mine in names or (bool(what.get("endpoint")) and _DATE.sub("", mine) in names)


def _model_and_cases(
    what: PublishedTable, entry: PrintedFigure, model: str, cases: Collection[AnyCase], ours: OurResults
) -> Iterator[str]:
    """In what model and cases are not the published ones."""
    same = is_published_model(what, entry.model, model)
    if not same:
        yield f"another model than {entry.model}"
    count = what.get("cases", CASES.get(entry.split, len(cases)))  # of events: see the data
    if len(cases) != count:
        yield f"{len(cases):,} cases, not {count:,}"
    if same and len(cases) == count and (why := data_difference(entry.split, cases, ours.data, part="cases" in what)):
        yield why


def _set_up(what: PublishedTable, entry: PrintedFigure, part: ReportSection, row: MethodRow) -> Iterator[str]:
    """In what a method's row was not made as the published ones: regime, instruction, judge, simplification."""
    run = next(e for e in part.run.editors if e.label == row.label)
    kind, regime, config = what["kind"], run.manifest.regime, part.run.about["config"]
    edit, at_once = "edit", False
    if kind == "events":
        edit, at_once = "event", entry.method == "FT"
        if config.get("events", {}).get("instruction") != "paper":
            yield "one instruction for all methods, not the published two"
    if at_once == (regime == "single"):
        yield f"regime {regime}, not {'all events at once' if at_once else f'each {edit} alone'}"
    if run.variant:
        yield f"a validity row ({run.variant.partition('@')[0]})"
    if absent := row.failed + row.pending + row.unedited:
        yield f"{counted(absent, 'case')} without answers"
    scored = kind in ("token", "correlation") and not set(entry.metric.split(", ")) <= _RATED
    if scored and part.normalisation != "mean":
        yield f"normalisation {part.normalisation}, published is mean"
    if kind == "events" and entry.metric.startswith(("ev_open", "ev_all")):
        answers = (a for e in part.run.editors for result in e.results.values() for a in result.answers)
        if what["judge"] not in {a.source for a in answers if isinstance(a, RatedAnswer)}:
            yield f"not rated by {what['judge']}"
    if kind == "documents":
        if entry.method.partition(" ")[0] in ("MEMIT", "ROME", "MEND"):
            strategy = _STRATEGIES[entry.method.partition(" + ")[2] or "NERQG"]
            choice = (config["editors"].get(row.label) or {}).get("simplify") or {}
            if not str(choice.get("file", "")).endswith(f".{strategy}"):
                yield f"not simplified by the released file of {strategy}"
        if entry.metric.endswith("_spec") and (part.run.about.get("specificity") or {}).get("number") is not None:
            yield "some specificity questions after each edit, not all 400"


_STRATEGIES = {"Stanford": "stanford_openie", "DOCoR": "doc_openie", "E2EQG": "lmqg", "NERQG": "lmqg_ner"}
"""Simplifications as printed, and as the released files call them."""


def _metric(what: PublishedTable, entry: PrintedFigure, ours: OurResults) -> list[OurFigure]:
    """Every row that is the printed method, under the printed metric: over cases, or over their questions."""
    kind, out = what["kind"], []
    for part in ours.parts:
        run, group = part.run, _GROUPS.get(entry.split, "")
        chosen = cases_by_key(run) if kind == "token" else all_cases_by_key(run)
        cases = [c for c in chosen.values() if isinstance(c, _TYPES[kind]) and group in ("", c.group)]
        table = _table(part, group, len(cases))
        metric = next((m for m in part.metrics if entry.metric in (m.name, m.title)), None)
        for row in table.rows if table is not None and cases and metric is not None else ():
            assert metric is not None
            s = row.summaries[metric.name]
            if row.editor != what["methods"][entry.method] or s.mean is None:
                continue
            model, scale = str(run.about["model"]), 1 if s.unit == PERPLEXITY else 100
            differs = [*_model_and_cases(what, entry, model, cases, ours), *_set_up(what, entry, part, row)]
            items = {"events": f"{s.items} questions of ", "documents": f"{s.items} probes of "}.get(kind, "")
            over = f"{items}{s.cases} {f'{run.split.type}s' if items else 'cases'}"
            basis = f"{model}, {run.split.name} ({run.split.digest[:12]}), {over}, {row.label}"
            basis += f", {counted(s.unscored, 'prompt')} unscored" if s.unscored else ""
            half = s.half if kind == "token" else _half(*(s.ends or (None, None)))
            out.append(OurFigure(scale * s.mean, None if half is None else scale * half, tuple(differs), basis))
    return out


def _table(part: ReportSection, kind: str, cases: int) -> Comparison | None:
    """The table over the cases of one kind: its own, or that of all cases where there is no other kind."""
    of_kind = next((t for t in part.tables if t.group == kind), None)
    return of_kind or (part.tables[0] if part.tables[0].cases == cases else None)


def _texts(ours: OurResults) -> Iterator[tuple[TextSection, Sequence[Case], ReportSection | None]]:
    """The scripts of every model, their cases, and the run that they are of."""
    for part in ours.parts:
        if part.text is not None:
            yield part.text, list(cases_by_key(part.run).values()), part
    for text in ours.others:
        keys = dict.fromkeys(s.case for s in text.texts.scripts)
        yield text, [ours.cases[k] for k in keys if k in ours.cases], None


def _judge_differs(what: PublishedTable, source: RatingSource) -> Iterator[str]:
    judge = what.get("judge")
    if judge not in source.raters:
        yield f"not rated by {judge}"
    elif len(source.raters) > 1:
        yield "rated by others too"


def _not_rated(text: TextSection, known: Sequence[Case], label: str, cell: RatingCell) -> Iterator[str]:
    """What of a method's scripts is not there or not rated: the printed means are over all cases and scripts."""
    scripts = [s for s in text.texts.scripts if s.editor == label]
    cases, asked = len({s.case for s in scripts}), cell.scripts + cell.unscored
    if cases < len(known):
        yield f"scripts of {cases:,} of {counted(len(known), 'case')}"
    if asked < len(scripts):
        yield f"{asked:,} of {counted(len(scripts), 'script')} rated"


def _text(what: PublishedTable, entry: PrintedFigure, ours: OurResults) -> list[OurFigure]:
    out = []
    for text, cases, part in _texts(ours):
        judged = [s for s in text.sources if what.get("judge") in s.raters]
        source = main_source(judged) or main_source(text.sources)
        if source is None:
            continue
        rows = {} if part is None else {r.label: r for r in part.tables[0].rows}
        for label, by_aspect in source.cells.items():
            method, cell = rows[label].editor if rows else label, by_aspect.get(entry.metric)
            if method != what["methods"][entry.method] or cell is None or cell.by_script.mean is None:
                continue
            differs = [*_model_and_cases(what, entry, text.model.partition("@")[0], cases, ours)]
            differs += [*_judge_differs(what, source), *_not_rated(text, cases, label, cell)]
            differs += [] if part is None else _set_up(what, entry, part, rows[label])
            basis = f"{text.model}, {label}, {cell.scripts} scripts, rated by {source.title}"
            basis += f", {cell.unscored} unscored" if cell.unscored else ""
            out.append(OurFigure(cell.by_script.mean, cell.by_script.half, tuple(differs), basis))
    return out


def _agreement(what: PublishedTable, entry: PrintedFigure, ours: OurResults) -> list[OurFigure]:
    out = []
    for text, _, _ in _texts(ours):
        reliability = None if text.judging is None else text.judging.people.get(entry.metric)
        if reliability is None or reliability.alpha.value is None:
            continue
        who = PROGRAMS if text.texts.synthetic else PEOPLE
        basis = f"{text.model}, {reliability.units} scripts, {reliability.raters} {who}"
        half = _half(reliability.alpha.low, reliability.alpha.high)
        out.append(OurFigure(reliability.alpha.value, half, ("other raters and scripts",), basis))
    return out


def _correlation(what: PublishedTable, entry: PrintedFigure, ours: OurResults) -> list[OurFigure]:
    out = []
    first, second = entry.metric.split(", ")
    for part in ours.parts:
        view = next((view for view in part.correlations if view.view == "pooled"), None)
        pair = None if view is None else view.between(first, second)
        if view is None or pair is None or pair.correlation.value is None:
            continue
        e, model = pair.correlation, str(part.run.about["model"])
        cases = cases_by_key(part.run).values()
        differs = [*_model_and_cases(what, entry, model, cases, ours)]
        if (e.cases or 0) < len(cases):
            differs.append(f"{e.cases} of {counted(len(cases), 'case')} with both values under every method")
        rows = [row for row in part.tables[0].rows if not row.control]
        differs += dict.fromkeys(why for row in rows for why in _set_up(what, entry, part, row))
        editors = {row.editor for row in rows}
        if editors != set(what["methods"].values()):
            differs.append(f"other methods ({', '.join(sorted(editors))})")
        source = None if part.text is None else main_source(part.text.sources)
        if {first, second} & _RATED and source is not None:
            differs += _judge_differs(what, source)
        p = "–" if e.p is None else f"{e.p:.2g}"
        basis = f"{model}, {e.cases} cases, {view.methods} methods, p {p}"
        kept = passes_filter(e.value, spearman_p(pair.correlation.value, e.n))  # single units, as printed
        basis += f"; {'passes' if kept else 'does not pass'} the printed filter"
        out.append(OurFigure(pair.correlation.value, _half(e.low, e.high), tuple(differs), basis))
    return out


def _half(low: float | None, high: float | None) -> float | None:
    return None if low is None or high is None else (high - low) / 2


_KINDS: dict[str, Callable[[PublishedTable, PrintedFigure, OurResults], list[OurFigure]]] = {
    "text": _text,
    "agreement": _agreement,
    "correlation": _correlation,
}


Verdict = Literal["within", "undecided", "outside", "not comparable", "no figure"]
_LAST_PLACE = 0.01  # printed figures have two decimals


class FigureComparison(NamedTuple):
    """A printed figure and ours.

    Attributes:
        printed: What was printed.
        ours: Our value and half width, None where there is none.
        told: On what ours rests, or what keeps it from being compared.
        tolerance: How far ours may be off: half width of the difference as if the cases were not the same ones, at
            least the last printed place; None where nothing is compared.
        verdict: ``within`` even the paired tolerance, ``outside`` the other one, ``undecided`` between the two;
            ``not comparable`` where something is not as published.
        paired: How far ours may be off where the values of the same cases vary together as much as both half widths
            allow; equal to ``tolerance`` where the cases are not known to be the same, or no half width is printed.
    """

    printed: PrintedFigure
    ours: float | None
    half: float | None
    told: str
    tolerance: float | None
    verdict: Verdict
    paired: float | None = None


def compare_figures(what: PublishedTable, ours: OurResults) -> list[FigureComparison]:
    """Every printed figure with ours: the one that is most like the published one."""
    same_cases = "cases" not in what
    return [_compared(entry, our_figures(what, entry, ours), same_cases=same_cases) for entry in printed_figures(what)]


def _compared(entry: PrintedFigure, candidates: Sequence[OurFigure], *, same_cases: bool) -> FigureComparison:
    if not candidates:
        return FigureComparison(entry, None, None, "", None, "no figure")
    best, *others = candidates
    if best.differs:
        basis = f"{best.basis}; {'; '.join(best.differs)}"
        return FigureComparison(entry, best.value, best.half, basis, None, "not comparable")
    paired, unpaired, note = tolerance(entry.half, best.half, same_cases=same_cases)
    off = abs(best.value - entry.value) - 1e-9
    verdict: Verdict = "within" if off <= paired else "outside" if off > unpaired else "undecided"
    more = sum(not figure.differs for figure in others)
    notes = (best.basis, f"{more} more of ours may be compared" if more else "", note)
    return FigureComparison(entry, best.value, best.half, "; ".join(filter(None, notes)), unpaired, verdict, paired)


def tolerance(printed: float | None, ours: float | None, *, same_cases: bool) -> tuple[float, float, str]:
    """How far two means may differ, from their half widths: if paired by case, if not, and a note.

    The half width of a difference is √(h₁² + h₂² - 2·r·h₁·h₂), with r the correlation of both by case. Published values
    by case are not known, so r lies between 0 (as if by other cases) and 1 (the same cases under the same model vary
    together as much as they can), where it is |h₁ - h₂|.

    Args:
        printed: Half width as printed, None where none is.
        ours: Half width of ours, None where there is none.
        same_cases: Both are known to be of the same cases.

    Example:
        >>> tolerance(3.0, 4.0, same_cases=True)
        (1.0, 5.0, '')
        >>> tolerance(None, 4.0, same_cases=False)[:2]
        (4.0, 4.0)
    """
    unpaired = max(_LAST_PLACE, math.hypot(printed or 0.0, ours or 0.0))
    if printed is None:
        return unpaired, unpaired, "no interval is printed, so only ours counts and the tolerance is too narrow"
    if ours is None:
        return unpaired, unpaired, "ours has no interval, so only the printed one counts"
    return (max(_LAST_PLACE, abs(printed - ours)) if same_cases else unpaired), unpaired, ""
