"""The report as one HTML file that loads nothing."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.checks.verdict_counts import VerdictCounts
from curation.stats.estimates import Estimate
from curation.stats.intervals import TWO_WAY
from evaluation.analysis.attribution_ladder import KNOWN_CASES
from evaluation.analysis.comparison import Comparison
from evaluation.analysis.example_cases import PURPOSES, pick_examples, probability
from evaluation.analysis.pairwise_tests import PairwiseTest
from evaluation.analysis.text_ratings import ASPECTS, SHORT
from evaluation.metrics.base import NORMALISATIONS, Metric
from evaluation.regimes.config import regime_title
from evaluation.report import narrative
from evaluation.report.contents import contents
from evaluation.report.correlation_heatmap import heat_map
from evaluation.report.csv_tables import ratings_cell
from evaluation.report.facts.section import fact_section
from evaluation.report.first_screen import first_screen
from evaluation.report.forgetting_plot import batch_size_plot, forgetting_plot
from evaluation.report.formatting import (
    ARROWS,
    column_size,
    edits_in_force,
    group_title,
    holds_many_edits,
    interval_text,
    mean_text,
    mean_with_interval,
    memory,
    p_value,
    percent,
    seconds,
    visible,
)
from evaluation.report.harmonic_score import harmonic_scores
from evaluation.report.interval_plot import interval_plots
from evaluation.report.judge_calibration import JudgeCalibration
from evaluation.report.sections import ReportSection, TextSection, why_not_comparable
from evaluation.report.sequences.state_rows import state_table
from evaluation.report.viewer.answer_list import answer_list
from evaluation.runs.results import Run
from schemas.cases import FACT, EditRequest
from schemas.core.clock import now
from schemas.documents.document import Document
from schemas.events.event import Event
from schemas.text.escaping import escape

if TYPE_CHECKING:
    from jinja2 import Environment

NO_TEXTS = "Name the store that has them: scedit report RUN --store S."
NO_TEXTS_THERE = "The store holds no scripts of this model on these cases: write them with the run first."
NO_RATINGS = "Rate the scripts first: scedit annotate new NAME --task rate_script, or scedit judge."
_WITHOUT_NUMBERS = re.compile(r" \(.*\)$")
_TEMPLATES = Path(__file__).with_name("templates")


def page(
    parts: Sequence[ReportSection],
    others: Sequence[TextSection],
    built: VerdictCounts | None,
    *,
    store: Path | None,
    calibrations: Sequence[JudgeCalibration] = (),
    published: bool = False,
    answers_file: str = "",
    against: str | None = None,
) -> str:
    """The whole file.

    Args:
        parts: What the runs gave.
        others: Scripts of models that no run is of.
        built: What construction left over, where a store was given.
        store: That store.
        calibrations: Judges held to people.
        published: Intervals are of the published kind, and the page says so.
        against: The method that the comparisons are about, where they are about one.
        answers_file: Name of the file with every answer, where they are not on this page.
    """
    template = _environment().get_template("report.html.j2")
    text = template.render(
        parts=[_template_values(p, store) for p in parts],
        answers_file=answers_file,
        published=published,
        against=against,
        others=others,
        calibrations=calibrations,
        known_before=KNOWN_CASES,
        apart=why_not_comparable(parts),
        built=built,
        store=None if store is None else Path(store).name,
        arrows=ARROWS,
        aspects=ASPECTS,
        short=SHORT,
        purposes=PURPOSES,
        normalisations=NORMALISATIONS,
        written=now(zone="Z"),
        program=_version(),
    )
    return reveal_hidden(text)


def answers_page(parts: Sequence[ReportSection], *, report: str) -> str:
    """Every answer as a page of its own, for where the report would be too large with them.

    Args:
        parts: What the runs gave.
        report: File name of the report that it belongs to.
    """
    template = _environment().get_template("parts/answers_page.html.j2")
    return reveal_hidden(template.render(parts=[answer_list(p) | {"about": p.run.about} for p in parts], report=report))


def reveal_hidden(text: str) -> str:
    r"""A text with everything written out that turns or hides it on a screen: bidi marks, zero width, escapes.

    Zero-width joiners stay: some scripts are written with them.

    Example:
        >>> reveal_hidden("R\u202eome\u200b\x1b[2J")
        'R\\u202eome\\u200b\\u001b[2J'
    """
    return escape(visible(text))


def _environment() -> Environment:
    """Where the template is, and the filters that it uses."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    place = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    place.filters |= {
        "percent": percent,
        "spread": mean_with_interval,
        "points": ratings_cell,
        "seconds": seconds,
        "memory": memory,
        "probability": probability,
        "group_title": group_title,
        "column_size": column_size,
        "mean": mean_text,
        "interval": interval_text,
        "test_of": _test_against_no_edit,
        "interval_kinds": _interval_kinds,
        "edits_in_force": edits_in_force,
        "holds_many_edits": holds_many_edits,
        "regime_title": regime_title,
        "common_cases_note": narrative.common_cases_note,
        "shown": _with_values,
        "model_name": narrative.model_name,
        "when": _time_text,
        "setting": _setting,
        "glue": _glue,
        "p_value": p_value,
        "estimate": _estimate,
        "why": _reasons_text,
        "unscaled": _difference_text,
        "of_cases": _of_cases,
    }
    return place


def errors(run: Run) -> list[dict[str, str]]:
    """Cases that ended in an error, with it."""
    return [
        {"label": e.label, "case": k, "error": r.error} for e in run.editors for k, r in e.results.items() if r.error
    ]


def _harmonic(part: ReportSection) -> dict[str, Any]:
    """The harmonic means by method, and their names."""
    scores = harmonic_scores(part.tables[0], part.metrics, part.scores)
    by = {label: [s for s in scores if s.label == label] for label in dict.fromkeys(s.label for s in scores)}
    return {"harmonic": by, "harmonic_names": list(dict.fromkeys(s.name for s in scores))}


def _template_values(part: ReportSection, store: Path | None = None) -> dict[str, Any]:
    """What the template reads of one part."""
    answers = answer_list(part)
    inside = contents(
        part,
        answers["answers"],
        texts_hint=NO_TEXTS if store is None else NO_TEXTS_THERE,
        ratings_hint=NO_RATINGS,
    )
    run, table = part.run, part.tables[0]
    labels = [row.label for row in table.rows]
    return {
        **answers,
        **_harmonic(part),
        "menu": inside.menu,
        "there": inside.there,
        "absent": inside.absent,
        "first": first_screen(part, answers["answers"]),
        "run": run,
        "about": run.about,
        "metrics": part.metrics,
        "normalisation": part.normalisation,
        "tables": part.tables,
        "summary": narrative.summary(part),
        "caveats": narrative.caveats(part),
        "plots": interval_plots(table, part.metrics),
        "examples": pick_examples(run, part.scores, part.metrics, part.normalisation) if run.split.type == FACT else [],
        "events": part.events,
        "documents": part.documents,
        "fact_section": fact_section(part.facts, labels),
        "size_curves": [batch_size_plot(f, labels) for f in (part.documents.size_curves if part.documents else ())],
        "type": run.split.type,
        "errors": errors(run),
        "blow_ups": _blow_ups(run),
        "environment": run.baseline.environment,
        "contests": part.contests,
        "repeated": part.repeated,
        "titles": {m.name: m for m in part.metrics},
        "breakdowns": part.breakdowns,
        "curves": [forgetting_plot(f, labels) for f in part.forgetting],
        "states": state_table(run),
        "text": part.text,
        "writing": part.writing,
        "by_text": [m for m in part.metrics if run.split.type == FACT and m.asks_for_texts],
        "by_token": [m for m in part.metrics if run.split.type != FACT or not m.asks_for_texts],
        "correlations": part.correlations,
        "two_way": _recurring_titles(table, part.metrics),
        "maps": [m for m in ((c, heat_map(c)) for c in part.correlations) if m[1] is not None],
    }


def _recurring_titles(table: Comparison, metrics: Sequence[Metric]) -> list[str]:
    """Titles of metrics whose neighbour facts recur."""
    two_way_names = {name for r in table.rows for name, s in r.summaries.items() if s.kind == TWO_WAY}
    return [m.title for m in metrics if m.name in two_way_names]


def _test_against_no_edit(table: Comparison, metric: Metric, label: str) -> PairwiseTest | None:
    """The paired comparison of a method with no edit; None where there is none."""
    families = [f for f in table.contests if f.metric == metric.title and f.kind != "among"]
    return next((c for f in families for c in f.contests if c.first == label), None)


def _interval_kinds(table: Comparison, metrics: Sequence[Metric]) -> list[tuple[str, list[str]]]:
    """How the intervals of a table were had, and the titles of the metrics that have such intervals."""
    titles: dict[str, list[str]] = {}
    for m in metrics:
        summaries = [r.summaries[m.name] for r in table.rows]
        for kind in sorted({s.kind for s in summaries if s.interval.low is not None}):
            titles.setdefault(kind, []).append(m.title)
    return list(titles.items())


def _blow_ups(run: Run) -> list[dict[str, Any]]:
    """Edits that their method flags, with the numbers it gives."""
    cases = {c.key: c for c in run.split.all_cases}
    return [
        {
            "label": e.label,
            "subject": _name_of(cases[k].request),
            "case": k,
            "norm_ratio": r.notes.get("norm_ratio"),
            "value_norm": r.notes.get("value_norm"),
        }
        for e in run.editors
        for k, r in e.results.items()
        if r.notes.get("blow_up")
    ]


def _name_of(request: EditRequest) -> str:
    """What an edit is called in a list: a fact's subject, an event's or a document's words."""
    return request.text if isinstance(request, Event | Document) else request.subject.text


def _with_values(metrics: Sequence[Metric], table: Comparison) -> list[Metric]:
    """The metrics that have a value in a table; a column of dashes says nothing."""
    return [m for m in metrics if any(r.summaries[m.name].mean is not None for r in table.rows)]


def _difference_text(value: float | None, rated: bool, ratio: bool = False) -> str:
    """A difference: of ratings in points, of shares in percentage points, with its sign; of perplexities a factor."""
    if value is None:
        return "–"
    if ratio:
        return f"×{value:.2f}"
    text = f"{value:+.2f}" if rated else f"{100 * value:+.1f}"
    text = text if float(text) else text.lstrip("+-")
    return text.replace("-", "\N{MINUS SIGN}")


def _estimate(estimate: Estimate) -> str:
    """An estimate for a cell; why it has no value or no interval stands under the table (``_reasons_text``)."""
    if estimate.value is None:
        return "–"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:.2f}" + ("*" if estimate.note else "")
    return estimate.text(2)


def _reasons_text(estimates: Iterable[Estimate | None]) -> str:
    """Why estimates of a table have no value (–) or no interval (*), each reason once."""
    known = [e for e in estimates if e is not None]
    undefined = Counter(_WITHOUT_NUMBERS.sub("", e.reason) for e in known if e.value is None)
    bare = Counter(_WITHOUT_NUMBERS.sub("", e.note) for e in known if e.value is not None and e.low is None and e.note)
    parts = [
        f"{mark}: {why} ({n})" for mark, reasons in (("–", undefined), ("*", bare)) for why, n in reasons.most_common()
    ]
    return "; ".join(parts)


def _of_cases(share: Estimate | None) -> str:
    """Hits of cases: "3 of 12"; a dash where there is no case."""
    return "–" if share is None or share.value is None else f"{round(share.value * share.n)} of {share.n}"


def _time_text(stamp: str) -> str:
    """A stored time as people read it."""
    return stamp.replace("T", " ")[:16] + " UTC"


def _glue(text: str) -> str:
    """Keep an interval on one line."""
    whole = text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")
    return re.sub(r"\[([^\[\], ]+), ([^\[\], ]+)\]", "[\\1,\N{NO-BREAK SPACE}\\2]", whole)


def _setting(value: Any) -> str:
    """A parameter's value, long lists by their number."""
    text = json.dumps(value, ensure_ascii=False)
    return f"({len(value)} values)" if isinstance(value, (list, dict)) and len(value) > 4 else text


def _version() -> str:
    try:
        return version("scedit")
    except PackageNotFoundError:
        return "not installed"
