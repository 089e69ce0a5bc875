"""What a report says in words: the result in a sentence, findings with intervals, caveats, what was not measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from curation.files.local_models import LOCAL, LOCAL_LABEL
from curation.files.model_packages import EMBEDDED, EMBEDDED_LABEL
from curation.stats.intervals import LEAST_CASES
from evaluation.analysis.breakdown import asks_what_follows
from evaluation.analysis.comparison import Comparison
from evaluation.judge.model_families import family_conflicts
from evaluation.metrics.base import NORMALISATIONS, Metric, Role, case_mean_difference, metric_of
from evaluation.metrics.script_parser import has_repetition
from evaluation.regimes.config import ALONE, regime_title
from evaluation.report.formatting import count_range, mean_text, mean_with_interval, percent, with_unit
from evaluation.runs.results import Run, edits_made
from schemas.cases import FACT
from schemas.documents.document import Document
from schemas.events.event import Event
from schemas.text.counting import counted

if TYPE_CHECKING:
    from evaluation.report.sections import ReportSection, TextSection

FEW = 100  # cases below which the number is a caveat of its own
_MOST_NAMED = 4  # metrics that one sentence names
_WORSE = "no method is better than no edit"
_REGIMES = {
    "single": "each edit alone, then undone",
    "sequential": "one after the other, all staying in the model",
    "batch": "many at once",
    "revert": "each edit made and taken back by another edit, alone",
    "reedit": "each edit made, taken back and made again, alone",
}
_TOPICS: tuple[tuple[str, tuple[Role, ...]], ...] = (
    ("Did the edit take?", ("script_efficacy", "efficacy")),
    ("What else moved?", ("script_locality", "locality")),
    ("Do facts follow the event?", ("event_efficacy",)),
    ("Do tendencies?", ("event_tendency",)),
    ("What else moved?", ("event_locality",)),
    ("Did the edit take?", ("document_efficacy",)),
    ("What else moved?", ("document_locality",)),
)
_LOCALITY: tuple[Role, ...] = ("locality", "script_locality", "bleed_over")
_MEANS: Mapping[Role, str] = {
    "script_written": "a script written for the question alone names the new object, and before the old one",
    "text_efficacy": "continued from the script prompt, the cut step names the new object first",
    "script_efficacy": "where a script was about to name the old object, the new one is more probable",
    "script_locality": "in scripts about other subjects, the object that was there stays more probable",
    "efficacy": "after the fact's own prompt, the new object is more probable",
    "locality": "for other subjects, the object that was there stays more probable",
}


def model_name(name: str) -> str:
    """A model as it is shown: those of this program by what they are.

    Example:
        >>> model_name("local"), model_name("openai-community/gpt2-xl")
        ('Qwen2.5-Coder-1.5B-Instruct (local, Q4_K_M)', 'openai-community/gpt2-xl')
    """
    return {EMBEDDED: EMBEDDED_LABEL, LOCAL: LOCAL_LABEL}.get(name, name)


def opening(part: ReportSection, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What a reader sees first: the result in one sentence, what was edited, an example, findings with titles."""
    run, table = part.run, part.tables[0]
    kinds = ", ".join(f"{t.cases:,} {t.group}" for t in part.tables[1:])
    methods = [r.label for r in table.rows if not (r.baseline or r.variant)]
    made = edits_made(run)
    asked = f"; {table.cases:,} of them were asked" if table.cases < made else ""
    kind = FACT if asks_what_follows(run) else run.split.type
    edited = (
        f"{counted(made, kind)}{f' ({kinds})' if kinds and table.cases == made else ''} of the split "
        f"{run.about['split']} {'was' if made == 1 else 'were'} edited in {model_name(str(run.about['model']))} with "
        f"{_some(methods) or 'no method'}; {_regimes(run)}{asked}."
    )
    findings = [finding for finding in _findings(part, answers) if finding[1]]
    result = best_methods(table, part.metrics)
    return {"result": result, "edited": edited, "example": _example(run), "findings": findings}


def best_methods(table: Comparison, metrics: Sequence[Metric]) -> str:
    """Which method is best by the paired tests, in one sentence; empty where nothing was compared.

    Where none is decided, that is all there is to say; else every best method with its metrics.
    """
    leads = [(m.title, table.leads[m.name]) for m in metrics if m.role != "other" and m.name in table.leads]
    if not leads:
        return ""
    won: dict[str, list[str]] = {}
    for title, lead in leads:
        won.setdefault(lead.best or (_WORSE if lead.decided else ""), []).append(title)
    undecided, worse = won.pop("", []), won.pop(_WORSE, [])
    parts = [f"{label} is best on {_some(titles)}" for label, titles in won.items()]
    parts += [f"{_WORSE} on {_some(worse)}"] if worse else []
    if not parts:
        return f"Which method is best is not decided ({_some(undecided)}; {counted(table.cases, 'case')})."
    parts += [f"not decided: {_some(undecided)}"] if undecided else []
    text = "; ".join(parts)
    return (text if won else text[0].upper() + text[1:]) + "."


def _some(titles: Sequence[str]) -> str:
    """Some names, the others as a number: "ES, PS, NS, S-ES and 3 more"."""
    more = len(titles) - _MOST_NAMED
    mark = "; " if any("," in title for title in titles) else ", "
    return mark.join(titles[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _regimes(run: Run) -> str:
    """How many edits were made at once, in words."""
    words = [_REGIMES.get(regime.partition(":")[0], regime) for regime in run.regimes]
    if len(words) == 1:
        return words[0]
    named = "; ".join(f"{text} ({regime_title(regime)})" for text, regime in zip(words, run.regimes, strict=True))
    return f"in {len(words)} regimes: {named}"


def _example(run: Run) -> str:
    keys = set(run.cases)
    fact = next((c.request for c in run.split.all_cases if c.key in keys), None)
    if isinstance(fact, Event | Document):
        return fact.text
    if fact is None or fact.new is None:
        return ""
    return f"{fact.fact_prompt} … {fact.old.text} → {fact.new.text}"


def _findings(part: ReportSection, answers: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for title, roles in _TOPICS:
        metric = next((m for role in roles if (m := metric_of(part.metrics, role)) is not None), None)
        yield title, "" if metric is None else _by_method(part.tables[0], metric)
    yield "What else moved?", _locality_missing(part)
    yield "What does the edited model write?", _text_finding(part, answers)


def _locality_missing(part: ReportSection) -> str:
    """That locality was not measured, and why; empty where some method has a value for it, and for other edits."""
    names = [m.name for m in part.metrics if m.role in _LOCALITY]
    if part.run.split.type != FACT or any(r.summaries[n].mean is not None for r in part.tables[0].rows for n in names):
        return ""
    if names:
        return "Locality was not measured: no case of this split has a neighbour that these metrics use."
    return "Locality was not measured: the run has no metric of it (scedit model metrics)."


def _by_method(table: Comparison, metric: Metric) -> str:
    """The methods with the highest and the lowest value, and no edit, each with its interval; no control conditions."""
    values = {r.label: r.summaries[metric.name].interval for r in table.rows}
    rows = [r for r in table.rows if not (r.control or r.variant) and values[r.label].mean is not None]
    if not rows:
        return ""
    rows.sort(key=lambda r: -(values[r.label].mean or 0))
    highest, lowest = rows[0].label, rows[-1].label
    text = f"{with_unit(values[highest])} ({highest})"
    if values[highest].mean != values[lowest].mean:
        text += f" to {with_unit(values[lowest])} ({lowest})"
    elif len(rows) > 1:
        text = f"{with_unit(values[highest])} under every method"
    base = next((r for r in table.rows if r.baseline and values[r.label].mean is not None), None)
    unedited = "" if base is None else f"; without an edit {with_unit(values[base.label])}"
    return f"{metric.title} ({_MEANS.get(metric.role, metric.about)}): {text}{unedited}."


def _text_finding(part: ReportSection, answers: Sequence[Mapping[str, Any]]) -> str:
    """The text level: what raters say, else which object is written; and how the texts ended."""
    text = _rating_finding(part.text) if part.text is not None else ""
    written, scored = metric_of(part.metrics, "script_written"), metric_of(part.metrics, "script_efficacy")
    if metric := written or metric_of(part.metrics, "text_efficacy"):
        text = f"{text} {_by_method(part.tables[0], metric)}".strip()
    if written is not None and scored is not None:
        text += _below_scored(part, written, scored)
    left_out = [r.label for r in part.tables[0].rows if r.variant or (r.control and not r.baseline)]
    scripts = [a for q in answers for a in q["answers"] if a["method"] not in left_out]
    if scripts:
        cut_off = [a for a in scripts if a["ended"] == "length"]
        loops = sum(has_repetition(a["text"]) for a in cut_off)
        stopped = sum(a["ended"] == "stop" and not a["unfinished"] for a in scripts)
        limit = (part.run.about.get("config") or {}).get("generation", {}).get("max_tokens", 256)
        share = percent(len(cut_off) / len(scripts), digits=0)
        text += f" {len(cut_off):,} of {counted(len(scripts), 'script')} ({share} %) were cut off at {limit} tokens"
        text += f", {loops:,} of them in a loop" if cut_off else ""
        text += f"; {stopped:,} ended at a stop text." if stopped else "."
    return text.strip()


def _below_scored(part: ReportSection, written: Metric, scored: Metric) -> str:
    """How far written scripts are from what the probabilities of script prompts say: the methods at both ends."""
    by_editor = part.scores.by_editor
    labels = [row.label for row in part.tables[0].rows if not (row.control or row.variant)]
    gaps = {k: case_mean_difference(scored, by_editor[k][written.name], by_editor[k][scored.name]) for k in labels}
    ends = sorted((gap.mean, label) for label, gap in gaps.items() if gap.mean is not None)
    both = dict.fromkeys(label for _, label in [*ends[:1], *ends[-1:]])
    shown = {k: (mean_text if gaps[k].ends is None else mean_with_interval)(gaps[k], signed=True) for k in both}
    told = " to ".join(f"{gap} points ({label})" for label, gap in shown.items())
    return f" Against {scored.title} over the same cases: {told}." if shown else ""


def _rating_finding(text: TextSection) -> str:
    from evaluation.report.sections import main_source

    source = main_source(text.sources)
    if source is None:
        return ""
    rated = {label: row["coherence"].by_case for label, row in source.cells.items() if "coherence" in row}
    edited = [label for label, value in rated.items() if label not in text.unranked and value.mean is not None]
    if not edited:
        return ""
    best = text.best(source).get("coherence")
    program = ", a program that answers by rules and no language model" if source.scripted else ""
    sentence = f"Coherence with the new fact (1 to 7), rated by {source.title}{program}: "
    sentence += f"the best is {best}; " if best else "the best is not decided; " if len(edited) > 1 else ""
    shown = [*edited, *[label for label in rated if label in text.unranked][:1]]
    return sentence + ", ".join(f"{label} {mean_with_interval(rated[label])}" for label in shown) + "."


def common_cases_note(table: Comparison, metrics: Sequence[Metric]) -> str | None:
    """Which columns are ordered over fewer cases than some figures in them rest on; None where none is."""
    leads = [table.leads[m.name] for m in metrics if m.name in table.leads]
    common = [lead.common for lead in leads if lead.common is not None]
    if not common:
        return None
    shared = "1 case" if max(common) == 1 else f"{count_range(common)} cases"
    return f"Some methods lack cases: the best is chosen over the {shared} that all of them have."


def caveats(part: ReportSection) -> Iterator[str]:
    """What the figures do not show, from the general to what happened in this run; at most two sentences each."""
    run, table, metrics = part.run, part.tables[0], part.metrics
    if run.about["model"] == EMBEDDED:
        yield "The embedded model has 135 million parameters: its figures show that the pipeline runs, no more."
    yield from _small_sample(table, metrics)
    if metric_of(metrics, "script_efficacy") is not None:
        yield (
            "S-ES asks which of two objects is more probable, not what the model would write. A method that raises the "
            "new object everywhere has a high S-ES and a low S-NS: read the two together."
        )
    if run.split.type == FACT:
        yield (
            f"Objects are compared by {NORMALISATIONS[part.normalisation]}. For the other normalisation: "
            "scedit report --normalisation."
        )
    shared = [regime_title(r) for r in run.regimes if r not in ALONE]
    if run.regimes == ("single",):
        yield "Each edit is made alone and undone before the next: results with many edits may differ."
    elif shared:
        yield (
            f"Cases share one model ({', '.join(shared)}): they are not independent, and intervals by case are too "
            "narrow."
        )
    yield "Paired tests are corrected within one metric, not over all metrics: some may be decided by chance."
    if part.text is not None:
        yield from _of_ratings(part.text)
    yield from _of_run(run, table)


def not_measured(part: ReportSection) -> str:
    """What this run has no figure of, in one sentence; empty where nothing is missing, and for other edits."""
    if part.run.split.type != FACT:
        return ""
    there = {section.anchor for section in part.sections}
    missing = [] if not _locality_missing(part) else ["locality"]
    missing += [] if any(m.asks_for_texts for m in part.metrics) else ["what the model writes"]
    missing += [] if part.text is not None and part.text.sources else ["ratings of texts"]
    missing += [] if "many" in there else ["many edits in one model"]
    return f"Not measured: {', '.join(missing)}." if missing else ""


def _small_sample(table: Comparison, metrics: Sequence[Metric]) -> Iterator[str]:
    intervals = [r.summaries[m.name].interval for r in table.rows for m in metrics if m.better == "higher"]
    widths = [i.high - i.low for i in intervals if i.high is not None and i.low is not None]
    if table.cases < LEAST_CASES:
        yield f"{counted(table.cases, 'case')} are too few for intervals and tests: these figures decide nothing."
    elif table.cases < FEW and widths:
        width = percent(median(widths), digits=0)
        yield f"{counted(table.cases, 'case')} are few: the median interval of a success rate is {width} points wide."


def _of_ratings(text: TextSection) -> Iterator[str]:
    if text.texts.synthetic:
        yield "Some raters are simulated (programs): their agreement is not human agreement."
    if lost := sum(c.unscored for s in text.sources for row in s.cells.values() for c in row.values()):
        yield f"{counted(lost, 'rating')} unscored (refused or unreadable): in no mean, see the bounds."
    judges = [s for s in text.sources if not s.person]
    if programs := [s.title for s in judges if s.scripted]:
        yield f"{' and '.join(programs)}: rules put in a judge's place. Such ratings say nothing about scripts."
    if judges and len(judges) == len(text.sources):
        yield "The only ratings are by a judge model: no human ratings confirm them."
    yield from (f"{f}." for s in judges for r in s.raters for f in family_conflicts(r, writers=[text.model]))


def _of_run(run: Run, table: Comparison) -> Iterator[str]:
    cases, made = counted(table.cases, "case"), edits_made(run)
    happened = {
        "Cases that ended in an error, in no mean": [(row.label, row.failed) for row in table.rows],
        "Cases not yet run, so that a method is not ranked": [(row.label, row.pending) for row in table.rows],
        "Edits that diverged, included in the means": [(row.label, len(row.blow_ups)) for row in table.rows],
    }
    for what, counts in happened.items():
        if named := [f"{label} {n:,}" for label, n in counts if n]:
            yield f"{what} (of {table.cases:,}): {_some(named)}."
    if not run.about.get("finished"):
        yield "The run is not finished: these are the figures so far."
    if after := max(row.unedited for row in table.rows):
        yield f"{after:,} of the {cases} come after the last length of the sequence and are never edited."
    if table.cases < made:
        yield f"{counted(made, 'edit')} were made; {table.cases:,} of their cases were asked."
    if made < run.about["split_cases"]:
        order = str(run.about["order"])
        place = "an order drawn from the split's digest" if order.startswith("drawn") else f"this order: {order}"
        yield f"{made:,} of the split's {counted(run.about['split_cases'], 'case')} were used, in {place}."
