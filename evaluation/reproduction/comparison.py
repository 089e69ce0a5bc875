"""Published figures beside ours, and how far ours may be off.

A figure of ours is compared only where model, data, methods, set-up and judge are the published ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from evaluation.analysis.comparison import Comparison, MethodRow
from evaluation.analysis.correlations import passes_filter, spearman_p
from evaluation.analysis.text_ratings import PEOPLE, PROGRAMS, SHORT, RatingSource
from evaluation.judge.ratings import RatingCell
from evaluation.metrics.base import Role, Summary, metric_of
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
from evaluation.runs.results import cases_by_key
from schemas.cases import AnyCase, Case, DocumentCase, EventCase
from schemas.text.counting import counted

_ROLES: dict[str, Role] = {"ES": "efficacy", "S-ES": "script_efficacy", "S-NS": "script_locality", "S-BO": "bleed_over"}
_GROUPS = {"ScEdit-CF": "counterfactual", "ScEdit-T": "temporal"}
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
    return sorted(_KINDS[what.kind](what, entry, ours), key=lambda o: len(o.differs))


def is_published_model(what: PublishedTable, printed: str, model: str) -> bool:
    """Whether a model is the one that a table names, by the last part of its name.

    The dates of closed models are not printed, so any dated version of the same name is.

    Example:
        >>> from evaluation.reproduction.published import published_table
        >>> table = published_table("scedit-table8")
        >>> [is_published_model(table, "GPT-4o", m) for m in ("gpt-4o", "gpt-4o-2024-08-06", "gpt-4o-mini")]
        [True, True, False]
    """
    known = what.data["models"].get(printed, ())
    names = [_last_part(name) for name in ([known] if isinstance(known, str) else known)]
    mine = _last_part(model)
    return mine in names or (bool(what.data.get("endpoint")) and _DATE.sub("", mine) in names)


def _last_part(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1].casefold()


def _model_and_cases(
    what: PublishedTable, entry: PrintedFigure, model: str, cases: Iterable[AnyCase], ours: OurResults
) -> Iterator[str]:
    """In what model and cases are not the published ones."""
    same = is_published_model(what, entry.model, model)
    if not same:
        yield f"another model than {entry.model}"
    listed, part = list(cases), "cases" in what.data
    count = what.data.get("cases", CASES.get(entry.split, len(listed)))  # of events: see the data
    if len(listed) != count:
        yield f"{len(listed):,} cases, not {count:,}"
    if same and len(listed) == count and (why := data_difference(entry.split, listed, ours.data, part=part)):
        yield why


def _set_up(part: ReportSection, row: MethodRow) -> Iterator[str]:
    """In what a method's row was not made as the published ones."""
    run = next(e for e in part.run.editors if e.label == row.label)
    if (regime := run.manifest.regime) != "single":
        yield f"regime {regime}, not each edit alone"
    if run.variant:
        yield f"a validity row ({run.variant.partition('@')[0]})"
    if absent := row.failed + row.pending + row.unedited:
        yield f"{counted(absent, 'case')} without answers"


def _token(what: PublishedTable, entry: PrintedFigure, ours: OurResults) -> list[OurFigure]:
    out = []
    for part in ours.parts:
        kind = _GROUPS[entry.split]
        cases = [c for c in cases_by_key(part.run).values() if c.fact.change == kind]
        table, metric = _table(part, kind, len(cases)), metric_of(part.metrics, _ROLES[entry.metric])
        if table is None or metric is None:
            continue
        model = str(part.run.about["model"])
        for row in table.rows:
            s = row.summaries[metric.name]
            if row.editor != what.data["methods"][entry.method] or s.mean is None:
                continue
            differs = [*_model_and_cases(what, entry, model, cases, ours), *_set_up(part, row)]
            if part.normalisation != "mean":
                differs.append(f"normalisation {part.normalisation}, published is mean")
            basis = f"{model}, {part.run.split.name} ({part.run.split.digest[:12]}), {s.cases} cases, {row.label}"
            basis += f", {counted(s.unscored, 'prompt')} unscored" if s.unscored else ""
            out.append(OurFigure(100 * s.mean, None if s.half is None else 100 * s.half, tuple(differs), basis))
    return out


def _table(part: ReportSection, kind: str, cases: int) -> Comparison | None:
    """The table over the cases of one kind: its own, or that of all cases where there is no other kind."""
    of_kind = next((t for t in part.tables if t.group == kind), None)
    return of_kind or (part.tables[0] if part.tables[0].cases == cases else None)


def _rows(
    what: PublishedTable, entry: PrintedFigure, ours: OurResults, kind: type[EventCase] | type[DocumentCase]
) -> Iterator[tuple[ReportSection, MethodRow, Summary, list[str]]]:
    """Rows over cases of a type that are the printed method, with what differs of model and cases."""
    for part in ours.parts:
        chosen = set(part.run.cases)
        cases = [c for c in part.run.split.all_cases if isinstance(c, kind) and c.key in chosen]
        table = _table(part, "", len(cases))
        if table is None or not cases:
            continue
        for row in table.rows:
            summary = row.summaries.get(entry.metric)
            if row.editor == what.data["methods"][entry.method] and summary is not None and summary.mean is not None:
                model = str(part.run.about["model"])
                yield part, row, summary, list(_model_and_cases(what, entry, model, cases, ours))


def _pooled_figure(
    part: ReportSection, row: MethodRow, summary: Summary, differs: Iterable[str], items: str
) -> OurFigure:
    """A figure over ``items`` of the cases, in percent where it is a share."""
    assert summary.mean is not None
    run, scale = part.run, 1 if summary.unit == PERPLEXITY else 100
    basis = f"{run.about['model']}, {run.split.name} ({run.split.digest[:12]}), {summary.items} {items} of "
    basis += f"{summary.cases} {run.split.type}s, {row.label}"
    half = None if summary.ends is None else scale * (summary.ends[1] - summary.ends[0]) / 2
    return OurFigure(scale * summary.mean, half, tuple(differs), basis)


def _events(what: PublishedTable, entry: PrintedFigure, ours: OurResults) -> list[OurFigure]:
    return [
        _pooled_figure(part, row, summary, [*differs, *_event_set_up(what, entry, part, row)], "questions")
        for part, row, summary, differs in _rows(what, entry, ours, EventCase)
    ]


def _event_set_up(what: PublishedTable, entry: PrintedFigure, part: ReportSection, row: MethodRow) -> Iterator[str]:
    """In what a method's row was not made as ELKEN's: instruction, edits in force, judge."""
    if part.run.about["config"].get("events", {}).get("instruction") != "paper":
        yield "one instruction for all methods, not the published two"
    regime = next(e.manifest.regime for e in part.run.editors if e.label == row.label)
    if (entry.method == "FT") != (regime != "single"):
        yield f"regime {regime}, not {'all events at once' if entry.method == 'FT' else 'each event alone'}"
    if absent := row.failed + row.pending + row.unedited:
        yield f"{counted(absent, 'case')} without answers"
    if entry.metric.startswith(("ev_open", "ev_all")) and (judge := what.data["judge"]) not in _judges(part):
        yield f"not rated by {judge}"


def _judges(part: ReportSection) -> set[str]:
    """Who rated the open answers that count."""
    answers = (a for e in part.run.editors for result in e.results.values() for a in result.answers)
    return {a.source for a in answers if isinstance(a, RatedAnswer)}


def _documents(what: PublishedTable, entry: PrintedFigure, ours: OurResults) -> list[OurFigure]:
    figures = []
    for part, row, summary, differs in _rows(what, entry, ours, DocumentCase):
        differs += [*_set_up(part, row), *_simplified_otherwise(entry, part, row)]
        if entry.metric.endswith("_spec") and (part.run.about.get("specificity") or {}).get("number") is not None:
            differs.append("some specificity questions after each edit, not all 400")
        figures.append(_pooled_figure(part, row, summary, differs, "probes"))
    return figures


_STRATEGIES = {"Stanford": "stanford_openie", "DOCoR": "doc_openie", "E2EQG": "lmqg", "NERQG": "lmqg_ner"}
"""Simplifications as printed, and as the released files call them."""


def _simplified_otherwise(entry: PrintedFigure, part: ReportSection, row: MethodRow) -> Iterator[str]:
    """Whether the facts that a document became may be others than the published ones."""
    if entry.method.partition(" ")[0] not in ("MEMIT", "ROME", "MEND"):
        return
    strategy = _STRATEGIES[entry.method.partition(" + ")[2] or "NERQG"]
    choice = (part.run.about["config"]["editors"].get(row.label) or {}).get("simplify") or {}
    if not str(choice.get("file", "")).endswith(f".{strategy}"):
        yield f"not simplified by the released file of {strategy}"


class _Texts(NamedTuple):
    """Scripts of one model: their cases, the method behind each label, and the run they are of."""

    text: TextSection
    cases: Sequence[Case]
    methods: Mapping[str, str]
    part: ReportSection | None


def _known_texts(ours: OurResults) -> Iterator[_Texts]:
    for part in ours.parts:
        if part.text is not None:
            methods = {e.label: e.manifest.editor for e in part.run.editors}
            yield _Texts(part.text, list(cases_by_key(part.run).values()), methods, part)
    for text in ours.others:
        keys = dict.fromkeys(s.case for s in text.texts.scripts)
        yield _Texts(text, [ours.cases[k] for k in keys if k in ours.cases], {}, None)


def _judge_differs(what: PublishedTable, source: RatingSource) -> Iterator[str]:
    judge = what.data.get("judge")
    if judge not in source.raters:
        yield f"not rated by {judge}"
    elif len(source.raters) > 1:
        yield "rated by others too"


def _not_rated(known: _Texts, label: str, cell: RatingCell) -> Iterator[str]:
    """What of a method's scripts is not there or not rated: the printed means are over all cases and scripts."""
    scripts = [s for s in known.text.texts.scripts if s.editor == label]
    cases, asked = len({s.case for s in scripts}), cell.scripts + cell.unscored
    if cases < len(known.cases):
        yield f"scripts of {cases:,} of {counted(len(known.cases), 'case')}"
    if asked < len(scripts):
        yield f"{asked:,} of {counted(len(scripts), 'script')} rated"


def _text(what: PublishedTable, entry: PrintedFigure, ours: OurResults) -> list[OurFigure]:
    out = []
    for known in _known_texts(ours):
        sources = known.text.sources
        source = main_source([s for s in sources if what.data.get("judge") in s.raters]) or main_source(sources)
        for label, row in () if source is None else source.cells.items():
            if known.methods.get(label, label) != what.data["methods"][entry.method] or entry.metric not in row:
                continue
            cell = row[entry.metric]
            if source is None or cell.by_script.mean is None:
                continue
            model = known.text.model.partition("@")[0]
            differs = [*_model_and_cases(what, entry, model, known.cases, ours), *_judge_differs(what, source)]
            differs += _not_rated(known, label, cell)
            if known.part is not None:
                table_row = next(r for r in known.part.tables[0].rows if r.label == label)
                differs += _set_up(known.part, table_row)
            basis = f"{known.text.model}, {label}, {cell.scripts} scripts, rated by {source.title}"
            basis += f", {cell.unscored} unscored" if cell.unscored else ""
            out.append(OurFigure(cell.by_script.mean, cell.by_script.half, tuple(differs), basis))
    return out


def _agreement(what: PublishedTable, entry: PrintedFigure, ours: OurResults) -> list[OurFigure]:
    out = []
    for text in [*(p.text for p in ours.parts if p.text is not None), *ours.others]:
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
        for view in part.correlations:
            pair = view.between(first, second)
            if view.view != "pooled" or pair is None or pair.correlation.value is None:
                continue
            e, model = pair.correlation, str(part.run.about["model"])
            cases = cases_by_key(part.run)
            differs = [*_model_and_cases(what, entry, model, cases.values(), ours)]
            if (e.cases or 0) < len(cases):
                differs.append(f"{e.cases} of {counted(len(cases), 'case')} with both values under every method")
            for row in part.tables[0].rows:
                differs += [] if row.null else _set_up(part, row)
            editors = {r.editor for r in part.tables[0].rows if not r.null}
            if editors != set(what.data["methods"].values()):
                differs.append(f"other methods ({', '.join(sorted(editors))})")
            source = None if part.text is None else main_source(part.text.sources)
            if {first, second} & _RATED and source is not None:
                differs += _judge_differs(what, source)
            p = "–" if e.p is None else f"{e.p:.2g}"
            basis = f"{model}, {e.cases} cases, {view.methods} methods, p {p}"
            kept = passes_filter(e.value, spearman_p(pair.correlation.value, e.n))  # single units, as printed
            basis += f"; {'passes' if kept else 'does not pass'} the printed filter"
            out.append(OurFigure(e.value or 0.0, _half(e.low, e.high), tuple(differs), basis))
    return out


def _half(low: float | None, high: float | None) -> float | None:
    return None if low is None or high is None else (high - low) / 2


_KINDS: dict[str, Callable[[PublishedTable, PrintedFigure, OurResults], list[OurFigure]]] = {
    "token": _token,
    "documents": _documents,
    "events": _events,
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


class Tolerance(NamedTuple):
    """How far a figure may be off: if the same cases agree as far as they can, and as if by other cases; and a note."""

    paired: float
    unpaired: float
    note: str = ""


def compare_figures(what: PublishedTable, ours: OurResults) -> list[FigureComparison]:
    """Every printed figure with ours: the one that is most like the published one."""
    out = []
    for entry in printed_figures(what):
        candidates = our_figures(what, entry, ours)
        if not candidates:
            out.append(FigureComparison(entry, None, None, "", None, "no figure"))
            continue
        best = candidates[0]
        if best.differs:
            basis = f"{best.basis}; {'; '.join(best.differs)}"
            out.append(FigureComparison(entry, best.value, best.half, basis, None, "not comparable"))
        else:
            others = sum(not figure.differs for figure in candidates[1:])
            note = f"; {others} more of ours may be compared" if others else ""
            best = best._replace(basis=best.basis + note)
            out.append(_compared(entry, best, same_cases="cases" not in what.data))
    return out


def _compared(entry: PrintedFigure, best: OurFigure, *, same_cases: bool) -> FigureComparison:
    allowed = tolerance(entry.half, best.half, same_cases=same_cases)
    off = abs(best.value - entry.value) - 1e-9
    verdict: Verdict = "within" if off <= allowed.paired else "outside" if off > allowed.unpaired else "undecided"
    basis = best.basis + (f"; {allowed.note}" if allowed.note else "")
    return FigureComparison(entry, best.value, best.half, basis, allowed.unpaired, verdict, allowed.paired)


def tolerance(printed: float | None, ours: float | None, *, same_cases: bool) -> Tolerance:
    """How far two means may differ, from their half widths.

    The half width of a difference is √(h₁² + h₂² - 2·r·h₁·h₂), with r the correlation of both by case. Published values
    by case are not known, so r lies between 0 (as if by other cases) and 1 (the same cases under the same model vary
    together as much as they can), where it is |h₁ - h₂|.

    Args:
        printed: Half width as printed, None where none is.
        ours: Half width of ours, None where there is none.
        same_cases: Both are known to be of the same cases.

    Example:
        >>> tolerance(3.0, 4.0, same_cases=True)
        Tolerance(paired=1.0, unpaired=5.0, note='')
        >>> tolerance(None, 4.0, same_cases=False)[:2]
        (4.0, 4.0)
    """
    unpaired = max(_LAST_PLACE, math.hypot(printed or 0.0, ours or 0.0))
    if printed is None:
        return Tolerance(
            unpaired, unpaired, "no interval is printed, so only ours counts and the tolerance is too narrow"
        )
    if ours is None:
        return Tolerance(unpaired, unpaired, "ours has no interval, so only the printed one counts")
    if not same_cases:
        return Tolerance(unpaired, unpaired)
    return Tolerance(max(_LAST_PLACE, abs(printed - ours)), unpaired)
