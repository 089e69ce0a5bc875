"""The first screen of a report, in words: what was edited, on what, three findings with intervals, the one caveat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from evaluation.analysis.comparison import Comparison
from evaluation.analysis.written.all_answers import (
    AnsweredQuestion,
    count_stopped,
    cut_off,
    cut_off_in_a_loop,
    without_methods,
)
from evaluation.metrics.base import Metric, Role, metric_of
from evaluation.regimes.config import regime_title
from evaluation.report import narrative
from evaluation.report.csv_tables import ratings_cell
from evaluation.report.formatting import percent, with_unit
from evaluation.report.sections import ReportSection, TextSection, main_source
from evaluation.runs.asked_cases import edits_made
from evaluation.runs.results import Run
from schemas.cases import FACT
from schemas.documents.document import Document
from schemas.events.event import Event
from schemas.text.counting import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

_REGIMES = {
    "single": "each edit alone, then undone",
    "sequential": "one after the other, all staying in the model",
    "batch": "many at once",
    "revert": "each edit made and taken back by another edit, alone",
    "reedit": "each edit made, taken back and made again, alone",
}
_EVENT_FINDINGS: tuple[tuple[str, Role], ...] = (
    ("Do facts follow the event?", "event_efficacy"),
    ("Do tendencies?", "event_tendency"),
    ("What else moved?", "event_locality"),
)
_MEANS: Mapping[Role, str] = {
    "script_efficacy": "where a script was about to name the old object, the new one is more probable",
    "script_locality": "in scripts about other subjects, the object that was there stays more probable",
    "efficacy": "after the fact's own prompt, the new object is more probable",
    "locality": "for other subjects, the object that was there stays more probable",
}


class HeadlineFinding(NamedTuple):
    """One finding: a word for the list, and the sentence."""

    title: str
    text: str


class FirstScreen(NamedTuple):
    """What was edited, an example, and the findings."""

    edited: str
    example: str
    findings: tuple[HeadlineFinding, ...]


def first_screen(part: ReportSection, answers: Sequence[AnsweredQuestion]) -> FirstScreen:
    """The first screen of a part."""
    run, table = part.run, part.tables[0]
    kinds = ", ".join(f"{t.cases:,} {t.group}" for t in part.tables[1:])
    methods = [r.label for r in table.rows if not r.baseline]
    names = ", ".join(methods) or "no method"
    model, split = narrative.model_name(str(run.about["model"])), run.about["split"]
    made = edits_made(run)
    asked = f"; {table.cases:,} of them were asked" if table.cases < made else ""
    kind = FACT if part.documents is not None and part.documents.follows else run.split.type
    edited = (
        f"{counted(made, kind)}{f' ({kinds})' if kinds and table.cases == made else ''} of the split {split} "
        f"{'was' if made == 1 else 'were'} edited in {model} with {names}; "
        f"{_regimes(run)}{asked}. \u201c{run.baseline.label}\u201d is the "
        "model without an edit."
    )
    return FirstScreen(edited, _example(part), tuple(_findings(part, answers)))


def _regimes(run: Run) -> str:
    """How many edits stood at once, in words."""
    words = [_REGIMES.get(regime.partition(":")[0], regime) for regime in run.regimes]
    if len(words) == 1:
        return words[0]
    named = "; ".join(f"{text} ({regime_title(regime)})" for text, regime in zip(words, run.regimes, strict=True))
    return f"in {len(words)} regimes: {named}"


def _example(part: ReportSection) -> str:
    keys = set(part.run.cases)
    fact = next((c.request for c in part.run.split.all_cases if c.key in keys), None)
    if isinstance(fact, Event | Document):
        return fact.text
    if fact is None or fact.new is None:
        return ""
    return f"{fact.fact_prompt} … {fact.old.text} → {fact.new.text}"


def _findings(part: ReportSection, answers: Sequence[AnsweredQuestion]) -> list[HeadlineFinding]:
    table, metrics, out = part.tables[0], part.metrics, []
    efficacy = metric_of(metrics, "script_efficacy") or metric_of(metrics, "efficacy")
    locality = metric_of(metrics, "script_locality") or metric_of(metrics, "locality")
    topics = [("Did the edit take?", efficacy), ("What else moved?", locality)]
    topics += [(title, metric_of(metrics, role)) for title, role in _EVENT_FINDINGS]
    for title, metric in topics:
        if metric is not None and (text := _by_method(table, metric)):
            out.append(HeadlineFinding(title, text))
    if missing := _locality_missing(part):
        out.append(HeadlineFinding("What else moved?", missing))
    if best := narrative.best_methods(table, metrics):
        out.insert(0, HeadlineFinding("Which method is best?", best))
    if text := _text_finding(part, answers):
        out.append(HeadlineFinding("What does the edited model write?", text))
    return out


def _locality_missing(part: ReportSection) -> str:
    """That locality was not measured, and why; empty where some method has a value for it, and for other edits."""
    roles: tuple[Role, ...] = ("locality", "script_locality", "bleed_over")
    names = [m.name for m in part.metrics if m.role in roles]
    if part.run.split.type != FACT or any(r.summaries[n].mean is not None for r in part.tables[0].rows for n in names):
        return ""
    if names:
        return "Locality was not measured: no case of this split has a neighbour that these metrics use."
    return "Locality was not measured: the run has no metric of it (scedit model metrics)."


def _by_method(table: Comparison, metric: Metric) -> str:
    """The best and the worst method against no edit, each with its interval."""
    rows = [r for r in table.rows if not r.baseline and not r.null and r.summaries[metric.name].mean is not None]
    base = next((r for r in table.rows if r.baseline), None)
    if not rows:
        return ""
    rows.sort(key=lambda r: -(r.summaries[metric.name].mean or 0))
    ends = [rows[0]] if len(rows) == 1 else [rows[0], rows[-1]]
    values = " to ".join(f"{with_unit(r.summaries[metric.name].interval)} ({r.label})" for r in ends)
    means = _MEANS.get(metric.role, metric.about) if metric.role else metric.about
    same = len(ends) == 2 and ends[0].summaries[metric.name].mean == ends[1].summaries[metric.name].mean
    if same:
        values = f"{with_unit(rows[0].summaries[metric.name].interval)} under every method"
    text = f"{metric.title} ({means}): {values}"
    if base is not None and base.summaries[metric.name].mean is not None:
        text += f"; without an edit {with_unit(base.summaries[metric.name].interval)}"
    return text + "."


def _text_finding(part: ReportSection, answers: Sequence[AnsweredQuestion]) -> str:
    """The text level: what raters say, else which object is written, and how many texts were cut off."""
    text = _rating_finding(part.text) if part.text is not None else ""
    metric = metric_of(part.metrics, "text_efficacy")
    if not text and metric is not None:
        text = _by_method(part.tables[0], metric)
    nulls = [r.label for r in part.tables[0].rows if r.null and not r.baseline]
    every, answers = answers, without_methods(answers, nulls)
    (cut, count), loops = cut_off(answers), cut_off_in_a_loop(answers)
    if count:
        share = percent(cut / count, digits=0)
        settings = (part.run.about.get("config") or {}).get("generation", {})
        limit = settings.get("max_tokens", 256)
        note = (
            f"{cut:,} of {counted(count, 'script')} ({share} %) "
            f"{'was' if cut == 1 else 'were'} cut off at {limit} tokens"
        )
        if cut:
            note += f", {loops:,} of {'which' if cut > 1 else 'it'} in a loop"
        if held := count_stopped(answers):
            stops = ", ".join(repr(str(stop)) for stop in settings.get("stop", ()))
            note += f"; {held:,} wrote more steps than were asked for and were stopped there (at {stops})"
        if (lost := cut_off(every)[0] - cut) > 0:
            beside = f"{lost:,} of {cut_off(every)[1] - count:,}"
            note += f"; of the scripts of {' and '.join(nulls)} (null), {beside} were cut off"
        text = (
            f"{text} {note}{': read their ratings with that in mind' if cut or count_stopped(answers) else ''}.".strip()
        )
    return text


def _rating_finding(text: TextSection) -> str:
    source = main_source(text.sources)
    if source is None:
        return ""
    rated = {label: row["coherence"] for label, row in source.cells.items() if "coherence" in row}
    edited = {label: c for label, c in rated.items() if label not in text.unranked and c.by_case.mean is not None}
    if not edited:
        return ""
    best = text.best(source).get("coherence")
    program = ", a program that answers by rules and no language model" if source.scripted else ""
    sentence = f"Coherence with the new fact (1 to 7), rated by {source.title}{program}: "
    sentence += f"the best is {best}; " if best else "the best is not decided; " if len(edited) > 1 else ""
    sentence += ", ".join(f"{label} {ratings_cell(cell.by_case)}" for label, cell in edited.items())
    plain = [label for label in rated if label in text.unranked]
    return sentence + (f"; {plain[0]} {ratings_cell(rated[plain[0]].by_case)}" if plain else "") + "."
