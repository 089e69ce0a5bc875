"""The report as one HTML file that loads nothing."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.checks.store_checks import VerdictCounts
from curation.files.templates import templates_in
from curation.stats.intervals import LEAST_CASES, TWO_WAY
from evaluation.analysis.breakdown import asks_what_follows
from evaluation.analysis.comparison import Comparison
from evaluation.analysis.example_cases import PURPOSES, pick_examples, probability
from evaluation.analysis.pairwise_tests import PairwiseTest
from evaluation.analysis.tables import Cell, FigureTable, Plot, Section
from evaluation.analysis.written_texts import all_answers
from evaluation.metrics.base import NORMALISATIONS, Metric
from evaluation.regimes.config import regime_title
from evaluation.report import narrative
from evaluation.report.charts import Figure, draw, heat_map, metric_plot
from evaluation.report.formatting import (
    cell_text,
    column_size,
    column_sizes,
    count_range,
    group_title,
    holds_many_edits,
    metric_head,
    p_value,
    percent,
    visible,
)
from evaluation.report.further_tables import chat_table, comparison_section, cost_section, harmonic_table
from evaluation.report.sections import ReportSection, TextSection, why_not_comparable
from evaluation.runs.results import Run
from schemas.cases import FACT
from schemas.core.clock import now
from schemas.text.counting import counted
from schemas.text.escaping import escape

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).with_name("templates")
_HEADINGS = {
    FACT: "Script-based knowledge editing",
    "event": "Event-level knowledge editing",
    "document": "Free-text knowledge editing",
    "follows": "What follows from knowledge edits",
}
_QUESTIONS = {
    FACT: "How far an edited fact carries over into how-to scripts, and what else the edit changes.",
    "event": "What an edited event changes in facts and tendencies, and what it leaves alone.",
    "document": "What a model knows of an edited document, and what it leaves alone.",
    "follows": "What a model answers to questions that an edited fact bears on, and to those that it leaves alone.",
}

_COLUMNS = 9  # metrics side by side in a table that 1,200 pixels show whole; the others follow folded


def page(
    parts: Sequence[ReportSection],
    others: Sequence[TextSection],
    built: VerdictCounts | None,
    *,
    calibrated: Section | None = None,
    published: bool = False,
    list_answers: bool = True,
    against: str | None = None,
) -> str:
    """The whole file.

    Args:
        parts: What the runs gave.
        others: Scripts of models that no run is of.
        built: What construction left over, where a store was given.
        calibrated: Judges held to people.
        published: Intervals are of the published kind, and the page says so.
        against: The method that the comparisons are about, where they are about one.
        list_answers: Whether every answer is on the page; else it says how to see them.
    """
    types = {"follows" if asks_what_follows(part.run) else part.run.split.type for part in parts}
    kind = types.pop() if len(types) == 1 else FACT
    template = _environment().get_template("report.html.j2")
    text = template.render(
        parts=[_template_values(part, against) for part in parts],
        heading=_HEADINGS[kind],
        question=_QUESTIONS[kind],
        list_answers=list_answers,
        published=published,
        others=[(text, (*text.sections, comparison_section(text.families, against))) for text in others],
        calibrated=calibrated if calibrated is not None and calibrated.parts else None,
        apart=why_not_comparable(parts),
        built=built,
        columns=_COLUMNS,
        least_cases=LEAST_CASES,
        purposes=PURPOSES,
        normalisations=NORMALISATIONS,
        written=now(zone="Z"),
        program=version("scedit"),
    )
    return reveal_hidden(text)


def answer_list(part: ReportSection) -> dict[str, Any]:
    """Every script of a part with what the page's filter needs: methods and cases in order, and their numbers."""
    texts = None if part.text is None else part.text.texts
    questions = all_answers(part.run, texts) if part.run.split.type == FACT else []
    labels = list(dict.fromkeys(a["label"] for q in questions for a in q["answers"]))
    cases = {q["case"].key: q["case"] for q in questions}
    return {
        "answers": questions,
        "answer_count": sum(len(q["answers"]) for q in questions),
        "answer_methods": labels,
        "answer_labels": {label: n for n, label in enumerate(labels, 1)},
        "answer_cases": list(cases.values()),
        "answer_numbers": {key: n for n, key in enumerate(cases, 1)},
    }


def figures_of(part: ReportSection) -> list[Figure]:
    """Every picture of a part: a metric each, those of its sections, the correlations."""
    labels = [row.label for row in part.tables[0].rows]
    plots = [plot for m in part.metrics if (plot := metric_plot(part.tables[0], m)) is not None]
    plots += [one for section in part.sections for one in section.parts if isinstance(one, Plot)]
    maps = [heat_map(view) for view in part.correlations]
    return [*(draw(plot, labels) for plot in plots), *(figure for figure in maps if figure is not None)]


def reveal_hidden(text: str) -> str:
    r"""A text with everything written out that turns or hides it on a screen: bidi marks, zero width, escapes.

    Zero-width joiners stay: some scripts are written with them.

    Example:
        >>> reveal_hidden("R\u202eome\u200b\x1b[2J")
        'R\\u202eome\\u200b\\u001b[2J'
    """
    return escape(visible(text))


@functools.cache
def _environment() -> Environment:
    """Where the template is, and the filters that it uses."""
    filters = {
        "percent": percent,
        "probability": probability,
        "group_title": group_title,
        "column_size": column_size,
        "counted": counted,
        "metric_head": metric_head,
        "column_sizes": column_sizes,
        "cell": _cell,
        "is_table": lambda part: isinstance(part, FigureTable),
        "test_of": _test_against_no_edit,
        "count_range": count_range,
        "holds_many_edits": holds_many_edits,
        "regime_title": regime_title,
        "common_cases_note": narrative.common_cases_note,
        "shown": _with_values,
        "model_name": narrative.model_name,
        "when": _time_text,
        "setting": _setting,
        "glue": _glue,
        "p_value": p_value,
    }
    return templates_in(_TEMPLATES, filters=filters, html=True)


def errors(run: Run) -> list[dict[str, str]]:
    """Cases that ended in an error, with it."""
    return [
        {"label": e.label, "case": k, "error": r.error} for e in run.editors for k, r in e.results.items() if r.error
    ]


def _template_values(part: ReportSection, against: str | None) -> dict[str, Any]:
    """What the template reads of one part."""
    answers, run, table = answer_list(part), part.run, part.tables[0]
    labels = [row.label for row in table.rows]
    facts = run.split.type == FACT
    ordered = sorted(part.metrics, key=lambda m: m.role in ("other", "text"))
    plots = [plot for m in ordered if (plot := metric_plot(table, m)) is not None]
    families = (*part.families, *(part.text.families if part.text is not None else ()))
    compared = comparison_section(families, against)
    chat = chat_table(table, part.metrics, part.scores, part.run)
    in_chat = [Section("chat", chat.title, (chat._replace(title="", caption=""),), chat.caption)] if chat.rows else []
    sections = [*in_chat, compared, *part.sections]
    correlations = [(c, figure) for c in part.correlations if (figure := heat_map(c)) is not None]
    return {
        **answers,
        "harmonic": harmonic_table(table, part.metrics, part.scores),
        "first": narrative.opening(part, answers["answers"]),
        "run": run,
        "about": run.about,
        "metrics": part.metrics,
        "normalisation": part.normalisation,
        "tables": part.tables,
        "caveats": list(narrative.caveats(part)),
        "missing": narrative.not_measured(part),
        "plots": [draw(plot, labels) for plot in plots],
        "examples": pick_examples(run, part.scores, part.metrics, part.normalisation) if facts else [],
        "type": run.split.type,
        "errors": errors(run),
        "environment": run.baseline.environment,
        "sections": [_drawn(s, labels) for s in sections if s.parts],
        "cost": _drawn(cost_section(run, table, part.metrics), labels),
        "text": part.text,
        "by_text": _with_values([m for m in part.metrics if facts and m.asks_for_texts], table),
        "by_token": _with_values([m for m in part.metrics if not facts or not m.asks_for_texts], table),
        "correlations": correlations,
        "two_way": [m.title for m in part.metrics if any(r.summaries[m.name].kind == TWO_WAY for r in table.rows)],
    }


def _drawn(section: Section, labels: Sequence[str]) -> dict[str, Any]:
    """A section with its pictures drawn."""
    parts = [draw(part, labels) if isinstance(part, Plot) else part for part in section.parts]
    return {**section._asdict(), "parts": parts}


def _cell(value: Cell, head: str) -> dict[str, str]:
    """What a cell shows under a head: the figure, its interval, and why there is no figure."""
    figure, interval = cell_text(value, head)
    return {"figure": _glue(figure), "interval": _glue(interval), "reason": getattr(value, "reason", "")}


def _test_against_no_edit(table: Comparison, metric: Metric, label: str) -> PairwiseTest | None:
    """The paired comparison of a method with no edit; None where there is none."""
    families = [f for f in table.families if f.metric == metric.title and f.kind != "among"]
    return next((c for f in families for c in f.pairs if c.first == label), None)


def _with_values(metrics: Sequence[Metric], table: Comparison) -> list[Metric]:
    """The metrics that have a value in a table; a column of dashes says nothing."""
    return [m for m in metrics if any(r.summaries[m.name].mean is not None for r in table.rows)]


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
