"""The agreement page: tables by pandas and pictures by altair, one HTML text for the file and for the lead's view."""

from __future__ import annotations

import base64
import html
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from annotation_ui.agreement.judgements import Judgement
from annotation_ui.agreement.method_means import MethodMeans, stop_lines
from annotation_ui.agreement.report import (
    PUBLISHED_JUDGE,
    PUBLISHED_MEAN,
    PUBLISHED_POOLED,
    AspectReport,
    TaskReport,
    projected_widths,
)
from annotation_ui.tasks.base import RatingTask
from curation.files.atomic import atomic_file
from curation.stats.estimates import Estimate
from schemas.core.errors import MissingPackage
from schemas.text.counting import counted

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
_GLOSSARY = (
    "Alpha and Gwet's AC: agreement beyond chance; 1 is perfect, 0 is chance. Alpha is low when nearly all answers are "
    "the same, AC is not. Spearman and Kendall: whether two people order the items alike; 1 is the same order."
)
_LOWEST = -0.2  # where the axis of alpha begins


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
    people = f"{counted(len(report.people), 'person', 'people')} ({', '.join(report.people) or 'nobody yet'})"
    items = f"{counted(report.items, 'item')} in {counted(report.cases, 'case')}"
    parts = [_STYLE, '<div class="ag">', _paragraph(f"{report.task}: {items}, {people}. Intervals: 95 %, over cases.")]
    parts.append(_paragraph(_GLOSSARY, "note"))
    if report.synthetic:
        names = ", ".join(report.synthetic)
        parts.append(_paragraph(f"Synthetic: {names} are programs. Nothing here says how people agree.", "warn"))
    parts += [_summary(report)]
    parts += [_aspect(a, judgements, task) for a in report.aspects]
    parts += [_table([{"sets of choices": f"{n}, {e.name}", "value": e.text()} for n, e in report.sets.items()])]
    parts += [_parts(report), _pooled(report), _widths(report), _means(means) if means else "", "</div>"]
    return "".join(parts)


def _paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{html.escape(text)}</p>' if kind else f"<p>{html.escape(text)}</p>"


def _table(rows: Sequence[Mapping[str, object]]) -> str:
    """Rows as a table; on a narrow screen it scrolls by itself."""
    if not rows:
        return ""
    return f'<div class="scroll">{pd.DataFrame(rows).to_html(index=False, border=0)}</div>'


def _picture(chart: alt.TopLevelMixin, words: str) -> str:
    """A chart as an SVG within the page, and what it shows in words. Streamlit removes inline SVG from HTML."""
    spec = {**chart.to_dict(validate=False), "config": _CONFIG}
    version = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    svg = vl_convert.vegalite_to_svg(spec, vl_version=version)
    data = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    return f'<img alt="{html.escape(words)}" src="data:image/svg+xml;base64,{data}">'


def _summary(report: TaskReport) -> str:
    """Alpha of every aspect as a table and a picture, with the paper's value."""
    name = report.aspects[0].agreement.alpha.name if report.aspects else "alpha"
    rows: list[dict[str, object]] = [{"aspect": a.aspect, name: a.agreement.alpha.text()} for a in report.aspects]
    published = any(a.published is not None for a in report.aspects)
    if published:
        for row, a in zip(rows, report.aspects, strict=True):
            row["ScEdit Table 5"] = "" if a.published is None else f"{a.published:.2f}"
    note = (
        "The orange mark is the paper's alpha (three people, 400 scripts, level not stated). "
        f"The paper's four values have a mean of {PUBLISHED_MEAN}."
    )
    return _table(rows) + _alpha_picture(report.aspects) + (_paragraph(note, "note") if published else "")


def _alpha_picture(aspects: Sequence[AspectReport]) -> str:
    """Alpha of each aspect with its interval, on an axis from -0.2 to 1; what is lower is drawn at -0.2."""
    points = [
        {"aspect": a.aspect, "value": e.value, "low": e.low, "high": e.high, "paper": a.published}
        for a in aspects
        if (e := a.agreement.alpha).defined
    ]
    if not points:
        return ""
    scale = alt.Scale(domain=[_LOWEST, 1], clamp=True)
    data = alt.Data(values=points)  # type: ignore[no-untyped-call]
    base = alt.Chart(data).encode(y=alt.Y("aspect:N", title=None, sort=None))
    value = alt.X("value:Q", title="alpha", scale=scale)
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


def _aspect(a: AspectReport, judgements: Sequence[Judgement], task: RatingTask) -> str:
    g = a.agreement
    rows = [(g.alpha.name, g.alpha), ("exact agreement", g.exact), ("Gwet's AC1", g.ac1)]
    if g.level == "ordinal":
        rows += [
            ("within one point", g.within_one),
            ("Gwet's AC2, quadratic weights", g.ac2),
            (a.ceiling.name, a.ceiling),
        ]
    pairs = [
        {"two people": f"{p.first}, {p.second}", **_texts(Spearman=p.spearman, Kendall=p.kendall, exact=p.exact)}
        for p in a.pairs
    ]
    each = {"alpha without": a.without, "above (+) or below (-) the others": a.severity, "drift (Spearman)": a.drift}
    people = [
        {"person": p, **{name: values[p].text(2) for name, values in each.items() if values}}
        for p in next((values for values in each.values() if values), {})
    ]
    parts = [
        f"<h2>{html.escape(a.aspect)}</h2>",
        _answers_picture(judgements, task, a.aspect),
        _table([{"statistic": name, "value": e.text()} for name, e in rows]),
        _table(pairs),
        _table(people),
    ]
    for p in a.judges:
        words = [f"Spearman {p.spearman.text()}", f"Kendall {p.kendall.text()}"]
        words += [f"{p.alpha.name} {p.alpha.text()}"] if p.alpha is not None else []
        words += [f"mean difference {p.difference.text(2)}"] if p.difference is not None else []
        parts.append(_paragraph(f"{p.first} against the mean of people: {'; '.join(words)}"))
    if a.judges:
        note = (
            f"The paper prints alpha {PUBLISHED_JUDGE['alpha']} and Spearman {PUBLISHED_JUDGE['spearman']} between "
            "people and its judge. Even a perfect judge could not exceed the ceiling above."
        )
        parts.append(_paragraph(note, "note"))
    return "".join(parts)


def _texts(**estimates: Estimate) -> dict[str, str]:
    return {name: e.text(2) for name, e in estimates.items()}


def _parts(report: TaskReport) -> str:
    """Agreement of each part of the items: a label that is nearly always the same in one of them says little there."""
    rows = [
        {"items": f"{part} ({counted(some.items, 'item')})", "aspect": a.aspect, "alpha, nominal": g.alpha.text(),
         "exact agreement": g.exact.text(), "Gwet's AC1": g.ac1.text()}
        for part, some in report.parts.items()
        for a in some.aspects
        for g in [a.agreement]
    ]  # fmt: skip
    return "<h2>By part of the items</h2>" + _table(rows) if rows else ""


def _pooled(report: TaskReport) -> str:
    if report.pooled is None:
        return ""
    note = (
        "Pooling raises alpha if aspects differ in level, so this is no summary of them. "
        f"The paper's {PUBLISHED_POOLED} is such a value."
    )
    value = _paragraph(f"{report.pooled.name}: {report.pooled.text()}")
    return f"<h2>Pooled over aspects</h2>{value}{_paragraph(note, 'note')}"


def _widths(report: TaskReport) -> str:
    rows = [
        {(k if k in ("aspect", "now") else f"+{k} cases"): w if k == "aspect" else f"{w:.2f}" for k, w in row.items()}
        for row in projected_widths(report)
        if row["now"] is not None
    ]
    return "<h2>Width of alpha's interval with more cases</h2>" + _table(rows) if rows else ""


def _means(means: MethodMeans) -> str:
    """Means of methods corrected for severity, with intervals; the reason if there are none."""
    head = "<h2>Means of methods, corrected for severity</h2>"
    if means.report is None:
        return head + _paragraph(f"None, because {means.refused}.")
    r = means.report
    note = (
        "A mean here is the mean if every person had rated every item (many-facet ordinal model; 95 % intervals by "
        "case). Severity is in logits: a person above 0 rates lower than the others."
    )
    parts = [
        head,
        "" if r.converged else _paragraph("The fit did not converge: treat these figures with care.", "warn"),
        _table(
            [
                {"aspect": aspect, "method": method, "mean": e.text(2),
                 "uncorrected mean": f"{r.raw[aspect, method]:.2f}", "ratings": e.n}
                for (aspect, method), e in r.means.items()
            ]
        ),
        _table(
            [
                {"aspect": d.aspect, "difference": f"{d.first} - {d.second}", "points": d.difference.text(2)}
                for d in r.differences
            ]
        ),
        _table([{"person": who, "severity": e.text(2)} for who, e in r.severity.items()]),
        _paragraph(note, "note"),
    ]  # fmt: skip
    return "".join([*parts, *map(_paragraph, [*means.left_out, *stop_lines(means)])])
