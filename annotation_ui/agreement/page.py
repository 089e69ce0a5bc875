"""Agreement as a page: tables with intervals and two pictures an aspect, in one file without a network."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from annotation_ui.agreement.judgements import Judgement
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
from schemas.text.counting import counted

_STYLE = """
<style>
.ag {font: 15px/1.45 system-ui, sans-serif; color: inherit; max-width: 62rem;}
.ag table {border-collapse: collapse; margin: .5rem 0 1rem; width: 100%; font-variant-numeric: tabular-nums;}
.ag th, .ag td {text-align: left; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid rgba(128,128,128,.35);
  vertical-align: top;}
.ag h2 {font-size: 1.15rem; margin: 1.4rem 0 .3rem;}
.ag .note {font-size: .87rem; opacity: .85;}
.ag .warn {border-left: 4px solid #c4570d; padding: .3rem .7rem;}
.ag .scroll {overflow-x: auto;}
.ag .bars td {border: 0; padding: .05rem .4rem .05rem 0;}
.ag .bar {background: #3b6fb6; height: .8rem; min-width: 1px;}
.ag .track {position: relative; height: .9rem; background: rgba(128,128,128,.18); min-width: 12rem;}
.ag .range {position: absolute; top: .35rem; height: .2rem; background: #3b6fb6;}
.ag .dot {position: absolute; top: .15rem; width: .6rem; height: .6rem; margin-left: -.3rem; background: #3b6fb6;
  border-radius: 50%;}
@media (max-width: 640px) {.ag .track {min-width: 5rem;} .ag th, .ag td {font-size: .85rem;}}
.ag .ring {position: absolute; top: 0; width: 2px; height: .9rem; background: #c4570d;}
</style>
"""
_NAMES = {"exact": "exact agreement", "within_one": "within one point"}


def write_page(
    report: TaskReport, judgements: Sequence[Judgement], task: RatingTask, path: Path, *, title: str, more: str = ""
) -> None:
    """Write the page; ``more`` are further sections, as HTML.

    Raises:
        UserError: it cannot be written.
    """
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        'content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
        f"<title>Agreement: {html.escape(title)}</title></head><body>"
    )
    with atomic_file(path, "the page") as file:
        file.write(f'{head}<h1 style="font: 600 1.4rem system-ui">Agreement: {html.escape(title)}</h1>')
        file.write(page_body(report, judgements, task) + more)
        file.write("</body></html>\n")


def page_body(report: TaskReport, judgements: Sequence[Judgement], task: RatingTask) -> str:
    """The page's content as HTML without scripts, for the page and for the lead's view."""
    people = ", ".join(report.people) or "nobody yet"
    parts = [
        _STYLE,
        '<div class="ag">',
        f"<p>{_escape(report.task)}: {counted(report.items, 'item')} in {counted(report.cases, 'case')}, "
        f"{counted(len(report.people), 'person', 'people')} "
        f"({_escape(people)}). Intervals resample cases, 95 %.</p>",
    ]
    if report.synthetic:
        names = _escape(", ".join(report.synthetic))
        parts.append(f'<p class="warn">Synthetic: {names} are programs. Nothing here says how people agree.</p>')
    parts.append(_summary(report))
    for a in report.aspects:
        parts.append(_aspect(a, [m for m in judgements if m.aspect == a.aspect], task))
    if report.sets:
        rows = [[_escape(f"{name}, {e.name}"), _escape(e.text())] for name, e in report.sets.items()]
        parts.append(_table(["sets of choices", "value"], rows))
    parts.append(_parts_table(report))
    parts.append(_pooled_row(report))
    parts.append(_outlook(report))
    parts.append("</div>")
    return "".join(parts)


def _escape(text: object) -> str:
    return html.escape(str(text))


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f"<th>{_escape(h)}</th>" for h in head)
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{lines}</tbody></table></div>'


def _summary(report: TaskReport) -> str:
    """Alpha by aspect: number, picture, the paper's value."""
    rows = []
    for a in report.aspects:
        alpha_text = _escape(a.agreement.alpha.text())
        published = "" if a.published is None else f"{a.published:.2f}"
        rows.append([_escape(a.aspect), alpha_text, _track(a.agreement.alpha, a.published), published])
    name = report.aspects[0].agreement.alpha.name if report.aspects else "alpha"
    ordinal = any(a.published is not None for a in report.aspects)
    paper = "ScEdit Table 5" if ordinal else ""
    note = (
        '<p class="note">Scale from -0.2 to 1. The upright mark is the paper\'s alpha (three people, 400 scripts, '
        f"level not stated); the paper's four have a mean of {PUBLISHED_MEAN}.</p>"
        if ordinal
        else '<p class="note">Scale from -0.2 to 1.</p>'
    )
    return _table(["aspect", name, "", paper], rows) + note


def _track(estimate: Estimate, published: float | None) -> str:
    def at(value: float) -> float:
        return max(0.0, min(100.0, (value + 0.2) / 1.2 * 100))

    inner = ""
    if estimate.low is not None and estimate.high is not None:
        left, right = at(estimate.low), at(estimate.high)
        inner += f'<div class="range" style="left:{left:.1f}%;width:{right - left:.1f}%"></div>'
    if estimate.value is not None:
        inner += f'<div class="dot" style="left:{at(estimate.value):.1f}%"></div>'
    if published is not None:
        inner += f'<div class="ring" style="left:{at(published):.1f}%"></div>'
    return f'<div class="track">{inner}</div>'


def _aspect(a: AspectReport, judgements: Sequence[Judgement], task: RatingTask) -> str:
    g = a.agreement
    rows = [(g.alpha.name, g.alpha), ("exact agreement", g.exact), ("Gwet's AC1", g.ac1)]
    if g.level == "ordinal":
        rows += [
            ("within one point", g.within_one),
            ("Gwet's AC2, quadratic weights", g.ac2),
            (a.ceiling.name, a.ceiling),
        ]
    out = [f"<h2>{_escape(a.aspect)}</h2>", _bars(judgements, task, a.aspect)]
    out.append(_table(["statistic", "value"], [[_escape(n), _escape(e.text())] for n, e in rows]))
    if a.pairs:
        head = ["two people", "Spearman", "Kendall", "exact"]
        out.append(
            _table(
                head, [[_escape(f"{p.first}, {p.second}"), *_texts(p.spearman, p.kendall, p.exact)] for p in a.pairs]
            )
        )
    each: list[tuple[str, Mapping[str, Estimate]]] = [
        ("alpha without", a.without), ("above (+) or below (-) the others", a.severity), ("drift (Spearman)", a.drift),
    ]  # fmt: skip
    each = [(name, values) for name, values in each if values]
    if each:
        people = list(each[-1][1])
        head = ["person", *(name for name, _ in each)]
        out.append(_table(head, [[_escape(p), *(_escape(values[p].text(2)) for _, values in each)] for p in people]))
    for p in a.judges:
        gap = "" if p.difference is None else f"; mean difference {_escape(p.difference.text(2))}"
        same = "" if p.alpha is None else f"; {_escape(p.alpha.name)} {_escape(p.alpha.text())}"
        correlations = f"Spearman {_escape(p.spearman.text())}, Kendall {_escape(p.kendall.text())}{same}{gap}"
        out.append(f"<p>{_escape(p.first)} against the mean of people: {correlations}</p>")
    if a.judges:
        out.append(
            f'<p class="note">The paper prints alpha {PUBLISHED_JUDGE["alpha"]} and Spearman '
            f"{PUBLISHED_JUDGE['spearman']} between people and its judge. A perfect judge could reach no more than the "
            "ceiling above.</p>"
        )
    return "".join(out)


def _texts(*estimates: Estimate) -> list[str]:
    return [_escape(e.text(2)) for e in estimates]


def _bars(judgements: Sequence[Judgement], task: RatingTask, aspect: str) -> str:
    """How often each answer was given."""
    counts = Counter(m.value for m in judgements if not m.rater.is_judge)
    largest = max(counts.values(), default=0)
    rows = []
    for value in task.form.field(aspect).allowed:
        n = counts.get(value, 0)
        width = 100 * n / largest if largest else 0
        rows.append(
            f"<tr><td>{_escape(value)}</td>"
            f'<td style="width:60%"><div class="bar" style="width:{width:.1f}%"></div></td>'
            f"<td>{n}</td></tr>"
        )
    return f'<table class="bars" style="max-width:26rem"><tbody>{"".join(rows)}</tbody></table>'


def _parts_table(report: TaskReport) -> str:
    """Agreement of each part of the items: a label that is nearly always the same in one of them says little there."""
    rows = [
        [_escape(f"{part} ({counted(some.items, 'item')})"), _escape(a.aspect),
         *(_escape(e.text()) for e in (a.agreement.alpha, a.agreement.exact, a.agreement.ac1))]
        for part, some in report.parts.items()
        for a in some.aspects
    ]  # fmt: skip
    if not rows:
        return ""
    return "<h2>Apart</h2>" + _table(["items", "aspect", "alpha, nominal", "exact agreement", "Gwet's AC1"], rows)


def _pooled_row(report: TaskReport) -> str:
    if report.pooled is None:
        return ""
    return (
        f"<h2>Pooled over aspects</h2><p>{_escape(report.pooled.name)}: {_escape(report.pooled.text())}</p>"
        '<p class="note">Pooling raises alpha wherever aspects differ in level, so this is no summary of them. '
        f"The paper's {PUBLISHED_POOLED} is such a value.</p>"
    )


def _outlook(report: TaskReport) -> str:
    rows = [r for r in projected_widths(report) if r["now"] is not None]
    if not rows:
        return ""
    head = ["aspect", "now", *(f"+{n} cases" for n in rows[0] if n not in ("aspect", "now"))]
    table = [[_escape(r["aspect"]), *(f"{w:.2f}" for k, w in r.items() if k != "aspect")] for r in rows]
    return "<h2>Width of alpha's interval with more cases</h2>" + _table(head, table)
