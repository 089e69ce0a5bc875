"""The report as one HTML file that loads nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.checks.verdict_counts import VerdictCounts
from curation.stats.estimates import Estimate
from curation.stats.intervals import TWO_WAY
from evaluation.analysis.attribution_ladder import KNOWN_CASES
from evaluation.analysis.comparison import Comparison
from evaluation.analysis.example_cases import PURPOSES, pick_examples, probability
from evaluation.analysis.text_ratings import ASPECTS, SHORT, RatingSource, ranks
from evaluation.metrics.base import NORMALISATIONS, Metric
from evaluation.report import narrative
from evaluation.report.correlation_heatmap import heat_map
from evaluation.report.csv_tables import ratings_cell
from evaluation.report.forgetting_plot import forgetting_plot
from evaluation.report.formatting import ARROWS, certain, group_title, memory, p_value, percent, seconds, spread
from evaluation.report.judge_calibration import JudgeCalibration
from evaluation.report.sections import ReportSection, TextSection, why_not_comparable
from evaluation.report.tradeoff_plot import tradeoff_plot
from evaluation.runs.results import Run
from schemas.core.clock import now
from schemas.text.escaping import escape

if TYPE_CHECKING:
    from jinja2 import Environment

NO_TEXTS = "Name the store that has them: scedit report RUN --store S."
NO_TEXTS_THERE = "The store has none that fit: generate them with the run, then report again."
NO_RATINGS = "Rate the scripts first: scedit annotate new NAME --task rate_script, or scedit judge."
_INVISIBLE = re.compile("[\u00ad\u200b\u2060-\u2064\ufeff]")
_TEMPLATES = Path(__file__).with_name("templates")


def page(
    parts: Sequence[ReportSection],
    others: Sequence[TextSection],
    built: VerdictCounts | None,
    *,
    store: Path | None,
    calibrations: Sequence[JudgeCalibration] = (),
    published: bool = False,
) -> str:
    """The whole file.

    Args:
        parts: What the runs gave.
        others: Scripts of models that no run is of.
        built: What construction left over, where a store was given.
        store: That store.
        calibrations: Judges held to people.
        published: Intervals are of the published kind, and the page says so.
    """
    template = _environment().get_template("report.html.j2")
    text = template.render(
        parts=[_shown(p) for p in parts],
        published=published,
        others=others,
        calibrations=calibrations,
        known_before=KNOWN_CASES,
        apart=why_not_comparable(parts),
        built=built,
        store=None if store is None else Path(store).name,
        missing_texts=NO_TEXTS if store is None else NO_TEXTS_THERE,
        missing_ratings=NO_RATINGS,
        arrows=ARROWS,
        aspects=ASPECTS,
        short=SHORT,
        purposes=PURPOSES,
        normalisations=NORMALISATIONS,
        written=now(zone="Z"),
        program=_version(),
    )
    return revealed(text)


def revealed(text: str) -> str:
    r"""A text with everything written out that turns or hides it on a screen: bidi marks, zero width, escapes.

    Zero-width joiners stay: some scripts are written with them.

    Example:
        >>> revealed("R\u202eome\u200b\x1b[2J")
        'R\\u202eome\\u200b\\u001b[2J'
    """
    return escape(_INVISIBLE.sub(lambda m: f"\\u{ord(m.group()):04x}", text))


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
        "spread": spread,
        "points": ratings_cell,
        "seconds": seconds,
        "memory": memory,
        "probability": probability,
        "group_title": group_title,
        "certain": certain,
        "no_variance_note": narrative.no_variance_note,
        "shown": _with_values,
        "model_name": narrative.model_name,
        "when": _when,
        "setting": _setting,
        "glue": _glue,
        "p_value": p_value,
        "best": _best,
        "estimate": lambda e: e.text(2),
        "unscaled": _unscaled,
        "of_cases": _of_cases,
    }
    return place


def errors(run: Run) -> list[dict[str, str]]:
    """Cases that ended in an error, with it."""
    return [
        {"label": e.label, "case": k, "error": r.error} for e in run.editors for k, r in e.results.items() if r.error
    ]


def _shown(part: ReportSection) -> dict[str, Any]:
    """What the template reads of one part."""
    run, table = part.run, part.tables[0]
    return {
        "run": run,
        "about": run.about,
        "metrics": part.metrics,
        "normalisation": part.normalisation,
        "tables": part.tables,
        "summary": narrative.summary(part),
        "caveats": narrative.caveats(part),
        "plane": tradeoff_plot(table, part.metrics),
        "examples": pick_examples(run, part.scores, part.metrics, part.normalisation),
        "errors": errors(run),
        "blow_ups": _blow_ups(run),
        "environment": run.baseline.environment,
        "contests": part.contests,
        "breakdowns": part.breakdowns,
        "curves": [forgetting_plot(f) for f in part.forgetting],
        "text": part.text,
        "writing": part.writing,
        "by_text": [m for m in part.metrics if m.asks_for_texts],
        "by_token": [m for m in part.metrics if not m.asks_for_texts],
        "correlations": part.correlations,
        "two_way": _recurring(table, part.metrics),
        "maps": [m for m in ((c, heat_map(c)) for c in part.correlations) if m[1] is not None],
    }


def _recurring(table: Comparison, metrics: Sequence[Metric]) -> list[str]:
    """Titles of metrics whose neighbour facts recur."""
    found = {name for r in table.rows for name, s in r.summaries.items() if s.kind == TWO_WAY}
    return [m.title for m in metrics if m.name in found]


def _blow_ups(run: Run) -> list[dict[str, Any]]:
    """Edits that their method flags, with the numbers it gives."""
    cases = {c.key: c for c in run.split.cases}
    return [
        {
            "label": e.label,
            "subject": cases[k].fact.subject.text,
            "case": k,
            "norm_ratio": r.notes.get("norm_ratio"),
            "value_norm": r.notes.get("value_norm"),
        }
        for e in run.editors
        for k, r in e.results.items()
        if r.notes.get("blow_up")
    ]


def _with_values(metrics: Sequence[Metric], table: Comparison) -> list[Metric]:
    """The metrics that have a value in a table; a column of dashes says nothing."""
    return [m for m in metrics if any(r.summaries[m.name].mean is not None for r in table.rows)]


def _best(source: RatingSource, text: TextSection) -> dict[str, dict[str, str]]:
    """``first`` and ``second`` by aspect and label."""
    cells = source.cells.items()
    return {a: ranks({k: row[a].by_case.mean for k, row in cells if a in row}, text.unranked) for a in ASPECTS}


def _unscaled(value: float | None, rated: bool) -> str:
    """A difference: of ratings in points, of shares in percentage points, with its sign."""
    if value is None:
        return "–"
    text = f"{value:+.2f}" if rated else f"{100 * value:+.1f}"
    text = text if float(text) else text.lstrip("+-")
    return text.replace("-", "\N{MINUS SIGN}")


def _of_cases(share: Estimate | None) -> str:
    """Hits of cases: "3 of 12"; a dash where there is no case."""
    return "–" if share is None or share.value is None else f"{round(share.value * share.n)} of {share.n}"


def _when(stamp: str) -> str:
    """A stored time as people read it."""
    return stamp.replace("T", " ")[:16] + " UTC"


def _glue(text: str) -> str:
    """Keep a figure and its interval on one line."""
    whole = text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")
    return re.sub(r" \[([^\[\], ]+), ([^\[\], ]+)\]", "\N{NO-BREAK SPACE}[\\1,\N{NO-BREAK SPACE}\\2]", whole)


def _setting(value: Any) -> str:
    """A parameter's value, long lists by their number."""
    if isinstance(value, (list, dict)) and len(value) > 4:
        return f"({len(value)} values)"
    return json.dumps(value, ensure_ascii=False)


def _version() -> str:
    try:
        return version("scedit")
    except PackageNotFoundError:
        return "not installed"
