"""The agreement page: tables by pandas and pictures by altair, one HTML text for the file and for the lead's view."""

from __future__ import annotations

import base64
import html
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from annotation_ui.agreement.blocks import agreement_blocks
from annotation_ui.agreement.method_means import MethodMeans
from annotation_ui.agreement.report import AspectReport, Judgement, TaskReport
from annotation_ui.tasks.base import RatingTask
from curation.files.atomic import atomic_file
from schemas.core.errors import MissingPackage

try:
    import altair as alt
    import pandas as pd
    import vl_convert
except ImportError as error:
    raise MissingPackage(error.name or "altair", extra="annotate") from None

_STYLE = """
<style>
.ag {font: 15px/1.45 system-ui, sans-serif; color: inherit; max-width: 62rem;}
.ag table {border-collapse: collapse; margin: .5rem 0 1rem; font-variant-numeric: tabular-nums;}
.ag th, .ag td {text-align: left; min-width: 6.5rem; padding: .2rem 1.2rem .2rem 0; vertical-align: top;
  border-bottom: 1px solid rgba(128,128,128,.35);}
.ag h2 {font-size: 1.15rem; margin: 1.4rem 0 .3rem;}
.ag img {display: block; max-width: 100%; height: auto;}
.ag .note {font-size: .87rem; opacity: .85;}
.ag .warn {border-left: 4px solid #c4570d; padding: .3rem .7rem;}
.ag .scroll {overflow-x: auto;}
@media (max-width: 640px) {.ag th, .ag td {font-size: .82rem; min-width: 4.4rem; padding-right: .5rem;}}
</style>
"""
_BLUE, _ORANGE = "#3b6fb6", "#c4570d"
_INK = "#767676"  # read on a light and on a dark page: a picture does not know which
_CONFIG: dict[str, Any] = {
    "font": "sans-serif",
    "background": "transparent",
    "padding": {"left": 16, "right": 8, "top": 2, "bottom": 2},
    "view": {"stroke": None},
    "axis": {
        "labelColor": _INK, "titleColor": _INK, "titleFontWeight": "normal", "labelFontSize": 12, "titleFontSize": 12,
        "tickColor": "#808080", "domainColor": "#808080", "gridColor": "#80808050", "labelLimit": 200,
    },
}  # fmt: skip


def write_page(
    report: TaskReport,
    judgements: Sequence[Judgement],
    task: RatingTask,
    path: Path,
    *,
    title: str,
    means: MethodMeans | None = None,
) -> None:
    """Write the page as one file that loads nothing.

    Raises:
        UserError: it cannot be written.
    """
    body = page_body(report, judgements, task, means)
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<title>Agreement: {html.escape(title)}</title></head><body>"
    )
    with atomic_file(path, "the page") as file:
        file.write(f'{head}<h1 style="font: 600 1.4rem system-ui">Agreement: {html.escape(title)}</h1>')
        file.write(body + "</body></html>\n")


def page_body(
    report: TaskReport, judgements: Sequence[Judgement], task: RatingTask, means: MethodMeans | None = None
) -> str:
    """The page's content as HTML without scripts."""
    parts = [_STYLE, '<div class="ag">']
    for block in agreement_blocks(report, means):
        if block.rows:  # on a narrow screen a table scrolls by itself
            parts.append(f'<div class="scroll">{pd.DataFrame(block.rows).to_html(index=False, border=0)}</div>')
        elif block.kind == "heading":
            parts.append(f"<h2>{html.escape(block.text)}</h2>")
        elif block.kind == "alpha":
            parts.append(_alpha_picture(report.aspects))
        elif block.kind == "answers":
            parts.append(_answers_picture(judgements, task, block.text))
        elif block.kind != "table":
            parts.append(f'<p class="{block.kind}">{html.escape(block.text)}</p>')
    return "".join([*parts, "</div>"])


def _picture(chart: alt.TopLevelMixin, words: str) -> str:
    """A chart as an SVG within the page, and what it shows in words. Streamlit removes inline SVG from HTML."""
    spec = {**chart.to_dict(validate=False), "config": _CONFIG}
    version = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    svg = vl_convert.vegalite_to_svg(spec, vl_version=version)
    data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    return f'<img alt="{html.escape(words)}" src="data:image/svg+xml;base64,{data}">'


def _alpha_picture(aspects: Sequence[AspectReport]) -> str:
    """Alpha of each aspect with its interval, on an axis that holds all of them."""
    points = [
        {"aspect": a.aspect, "value": e.value, "low": e.low, "high": e.high, "paper": a.published}
        for a in aspects
        if (e := a.agreement.alpha).defined
    ]
    if not points:
        return ""
    scale = alt.Scale(domainMax=1, zero=True)
    data = alt.Data(values=points)  # type: ignore[no-untyped-call]
    base = alt.Chart(data).encode(y=alt.Y("aspect:N", title=None, sort=None))
    value = alt.X("value:Q", title="alpha", scale=scale, axis=alt.Axis(tickCount=5))  # 0 is named
    layers = [
        base.mark_rule(color=_BLUE, strokeWidth=3).encode(x=alt.X("low:Q", scale=scale), x2="high:Q"),
        base.mark_point(color=_BLUE, filled=True, size=80, opacity=1).encode(x=value),
        base.mark_tick(color=_ORANGE, thickness=2).encode(x=alt.X("paper:Q", scale=scale)),
    ]
    return _picture(alt.layer(*layers).properties(width=300, height=alt.Step(22)), "Alpha by aspect, as in the table")


def _answers_picture(judgements: Sequence[Judgement], task: RatingTask, aspect: str) -> str:
    """How often people gave each answer."""
    counts = Counter(m.value for m in judgements if m.aspect == aspect and not m.rater.is_judge)
    rows = [{"answer": str(v), "answers": counts.get(v, 0)} for v in task.form.field(aspect).allowed]
    data = alt.Data(values=rows)  # type: ignore[no-untyped-call]
    base = alt.Chart(data).encode(
        x=alt.X("answers:Q", axis=None), y=alt.Y("answer:N", title=None, sort=None)
    )  # fmt: skip
    numbers = base.mark_text(align="left", dx=4, color=_INK).encode(text="answers:Q")
    chart = alt.layer(base.mark_bar(color=_BLUE), numbers).properties(width=260, height=alt.Step(18))
    return _picture(chart, "Answers: " + ", ".join(f"{row['answer']}: {row['answers']}" for row in rows))
