"""Every picture of a report, drawn by altair: dots with intervals, lines, heat maps; the same style everywhere."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.files.atomic import write_bytes
from curation.stats.intervals import LEAST_CASES, Interval
from evaluation.analysis.comparison import Comparison
from evaluation.analysis.correlations import Correlations
from evaluation.analysis.tables import Plot, PlotPoint
from evaluation.metrics.base import Metric
from evaluation.report.formatting import column_size, metric_head, visible
from schemas.core.errors import UserError
from schemas.core.ids import slug
from schemas.text.escaping import escape_line

if TYPE_CHECKING:
    import altair as alt

COLOURS = ("#6b7280", "#0072b2", "#c05000", "#00896a", "#a64d86", "#8a6d00")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
FORMATS = ("svg", "png", "pdf")
STYLE: dict[str, Any] = {
    "font": "sans-serif",
    "padding": {"left": 28, "right": 8, "top": 5, "bottom": 5},  # a browser's letters may be wider than measured
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelPadding": 6},
    "legend": {"labelFontSize": 12},
    "title": {"fontSize": 13, "subtitleFontSize": 11, "anchor": "start"},
}
_HALF = 0.5  # shares above it are shown on an axis that ends at 100 %
_SHORTEST = 1.0  # percent: no axis of shares ends below it, else 0.002 % would stand at its far end
_DIVERGING = ["#0b5a94", "#f2f2f2", "#b35806"]
_LINE = 29  # letters of a method's name in a line
_SPLIT = "split(datum.label, '\\n')"
_FEW_VALUES = 10  # on an axis of numbers each has its own tick up to so many


class Figure(NamedTuple):
    """A drawn picture: the name of its file, what it shows in words, the chart, and its sentence."""

    name: str
    title: str
    chart: alt.TopLevelMixin
    caption: str = ""

    @property
    def svg(self) -> str:
        """The picture for a page."""
        return _converted(self.chart, "svg").decode("utf-8")


def mark_style(number: int) -> tuple[str, str]:
    """Colour and shape of the method of this number, from 0: 36 methods differ in one of them, the first six in both.

    Example:
        >>> mark_style(0), mark_style(6)
        (('#6b7280', 'circle'), ('#6b7280', 'square'))
    """
    count = len(SHAPES)
    return COLOURS[number % count], SHAPES[(number + number // count) % count]


def metric_plot(table: Comparison, metric: Metric) -> Plot | None:
    """The values of all methods under a metric, and that without an edit as a reference; None without finite values."""
    points = [PlotPoint(row.label, "", row.summaries[metric.name].interval) for row in table.rows]
    known = tuple(p for p in points if p.value.mean is not None and abs(p.value.mean) != float("inf"))
    if not known:
        return None
    base = next((r.summaries[metric.name].mean for r in table.rows if r.baseline), None)
    size = column_size(table, metric)
    return Plot("dots", metric_head(metric), known, upwards=size, reference=base)


def draw(plot: Plot, labels: Sequence[str]) -> Figure:
    """A picture; ``labels`` are the methods of the report, whose places give colours and marks."""
    others = [p.label for p in plot.points if p.label not in labels]
    order = list(dict.fromkeys([*labels, *others]))
    chart = _dots(plot, order) if plot.kind == "dots" else _lines(plot, order)
    return Figure(slug(plot.title.replace("Δ", "").strip()) or "figure", plot.title, chart, plot.caption)


def _encodings(order: Sequence[str], shown: Iterable[str], *, legend: bool) -> dict[str, Any]:
    """Colour and shape of every method by its place among all of them."""
    import altair as alt

    there = [label for label in order if label in set(shown)]
    colours, shapes = zip(*(mark_style(order.index(label)) for label in there), strict=True)
    names = [_name(label) for label in there]
    key = alt.Legend(title=None, labelExpr=_SPLIT, labelLimit=190, symbolLimit=40) if legend else None
    return {
        "color": alt.Color("method:N", scale=alt.Scale(domain=names, range=colours), legend=key),
        "shape": alt.Shape("method:N", scale=alt.Scale(domain=names, range=shapes), legend=key),
    }


def _data(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a chart's own data."""
    import altair as alt

    return alt.Data(values=list(rows))  # type: ignore[no-untyped-call]


def _name(label: str) -> str:
    """A method's name, a long one in lines."""
    words = escape_line(visible(label)).replace("_", "_ ")
    return "\n".join(line.replace("_ ", "_") for line in textwrap.wrap(words, _LINE)) or label


def _scaled(value: Interval) -> dict[str, float | None]:
    """Mean and ends as they are shown: shares in percent."""
    scale = 100.0 if value.unit == "fraction" else 1.0
    ends = {"mean": value.mean, "low": value.low, "high": value.high}
    return {name: None if end is None else scale * end for name, end in ends.items()}


def _domain(points: Iterable[PlotPoint]) -> list[float] | None:
    """The axis of shares: from 0, up to 100 % where some value is above one half, else to the largest, 1 % at least.

    None for other units.
    """
    values = [v for p in points for v in (p.value.mean, p.value.low, p.value.high) if v is not None]
    if any(p.value.unit != "fraction" for p in points) or not values:
        return None
    return [min(0.0, 100 * min(values)), 100.0 if max(values) > _HALF else max(100 * max(values), _SHORTEST)]


def _dots(plot: Plot, order: Sequence[str]) -> Any:
    import altair as alt

    points = plot.points
    heads = [_name(p.label) for p in points]
    rows = [{"method": name, **_scaled(p.value)} for name, p in zip(heads, points, strict=True)]
    unit = "%" if points[0].value.unit == "fraction" else points[0].value.unit
    domain = _domain(points)
    scale = alt.Scale(domain=domain, nice=False) if domain else alt.Scale(zero=True)
    style = _encodings(order, [p.label for p in points], legend=False)
    names = alt.Axis(labelLimit=190, labelExpr=_SPLIT, labelBaseline="middle", ticks=False, domain=False)
    lines = max(name.count("\n") for name in heads)
    base = alt.Chart(_data(rows)).encode(y=alt.Y("method:N", sort=heads, title=None, axis=names), color=style["color"])
    across = alt.X("low:Q", scale=scale, title=None, axis=alt.Axis(tickCount=5))
    bars = base.mark_rule().encode(x=across, x2="high:Q")
    dots = base.mark_point(filled=True, size=70, opacity=1).encode(x="mean:Q", shape=style["shape"])
    layers: list[Any] = [bars, dots]
    if plot.reference is not None:
        at = 100 * plot.reference if unit == "%" else plot.reference
        line = alt.Chart(_data([{"at": at}])).mark_rule(strokeDash=[4, 4], color="#8a9099")
        layers.insert(0, line.encode(x="at:Q"))
    title: Any = {"text": f"{plot.title}, %" if unit == "%" else plot.title, "subtitle": plot.upwards}
    return alt.layer(*layers).properties(width=250, height={"step": 22 + 12 * lines}, title=title)


def _lines(plot: Plot, order: Sequence[str]) -> Any:
    import altair as alt

    columns = list(dict.fromkeys(p.x for p in plot.points))
    numbers = all(isinstance(x, int | float) for x in columns)
    across: dict[str, Any] = {"title": plot.across or None}
    if numbers:
        ticks = [x for x in columns if isinstance(x, int | float)] if len(columns) <= _FEW_VALUES else None
        axis = alt.Axis(values=ticks, format=",d") if ticks else alt.Axis(format=",d")
        x = alt.X("x:Q", scale=alt.Scale(type="log", nice=False, padding=12), axis=axis, **across)
    else:
        x = alt.X("x:O", sort=[str(x) for x in columns], axis=alt.Axis(labelAngle=-32, labelLimit=200), **across)
    percent = plot.points[0].value.unit == "fraction"
    domain = _domain([*plot.points, *plot.earlier])
    scale = alt.Scale(domain=domain) if domain else alt.Scale(zero=False, reverse=plot.ranked)
    title = plot.upwards + (", %" if percent and "%" not in plot.upwards else "")
    style = _encodings(order, [p.label for p in plot.points], legend=True)

    def layer(points: Sequence[PlotPoint]) -> Any:
        rows = [{"method": _name(p.label), "x": p.x, **_scaled(p.value)} for p in points]
        return alt.Chart(_data(rows)).encode(x=x, color=style["color"])

    now = layer(plot.points)
    y = alt.Y("mean:Q", scale=scale, title=title, axis=alt.Axis(tickMinStep=1) if plot.ranked else alt.Axis())
    layers: list[Any] = [
        now.mark_line().encode(y=y),
        now.mark_rule().encode(y=alt.Y("low:Q", scale=scale), y2="high:Q"),
    ]
    layers.append(now.mark_point(filled=True, size=60, opacity=1).encode(y=y, shape=style["shape"]))
    if plot.earlier:
        layers.insert(0, layer(plot.earlier).mark_line(strokeDash=[5, 4], opacity=0.8).encode(y=y))
    wide = 380 if numbers else max(300, 62 * len(columns))
    return alt.layer(*layers).properties(width=min(wide, 900), height=240, title=plot.title)


def heat_map(correlations: Correlations) -> Figure | None:
    """The clustered heat map of correlations (as ScEdit's Figure 5); None for few cases and without a value."""
    import altair as alt

    names = list(correlations.order)
    cells = []
    for first in names:
        for second in names:
            pair = correlations.between(first, second)
            value = 1.0 if first == second else None if pair is None else pair.correlation.value
            text = "–" if value is None else f"{value:.2f}".replace("0.", ".", 1)
            decided = first == second or (pair is not None and pair.decided)
            cells.append({"first": first, "second": second, "rho": value, "text": text, "decided": decided})
    known = any(c["rho"] is not None and c["first"] != c["second"] for c in cells)
    if correlations.cases < LEAST_CASES or not known:
        return None
    x = alt.X("second:N", sort=names, title=None, axis=alt.Axis(labelAngle=-40, labelLimit=140))
    y = alt.Y("first:N", sort=names, title=None, axis=alt.Axis(labelLimit=140))
    base = alt.Chart(_data(cells)).encode(x=x, y=y)
    colour = alt.Color("rho:Q", scale=alt.Scale(domain=[-1, 0, 1], range=_DIVERGING), legend=None)
    white = "datum.rho !== null && abs(datum.rho) > 0.75"
    ink = {"condition": {"test": white, "value": "#ffffff"}, "value": "#111111"}
    bold = [base.transform_filter(f"datum.decided == {flag}") for flag in ("true", "false")]
    texts = [
        part.mark_text(fontWeight=weight, fontSize=11).encode(text="text:N", color=ink)  # type: ignore[arg-type]
        for part, weight in zip(bold, ("bold", "normal"), strict=True)
    ]
    squares = alt.layer(base.mark_rect(stroke="white").encode(color=colour), *texts)
    size = max(34 * len(names), 120)
    chart = squares.properties(width=size, height=size)
    titled = alt.vconcat(_tree(correlations, size), chart, spacing=2) if correlations.joins else chart
    return Figure(f"correlations-{correlations.view}", f"Correlations, {correlations.view}", titled)


def _tree(correlations: Correlations, size: int) -> Any:
    """The tree of the clusters, above the columns: three lines a join, the distance upwards."""
    import altair as alt

    lines = []
    for x1, y1, x2, y2, height in correlations.joins:
        corners = ((x1, y1), (x1, height), (x2, height), (x2, y2))
        lines += [{"x": a, "y": b, "x2": c, "y2": d} for (a, b), (c, d) in pairwise(corners)]
    across = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-0.5, len(correlations.order) - 0.5], nice=False))
    base = alt.Chart(_data(lines)).mark_rule(color="#8a9099")
    return base.encode(x=across, x2="x2:Q", y=alt.Y("y:Q", axis=None), y2="y2:Q").properties(width=size, height=46)


def write_figures(figures: Iterable[Figure], folder: Path) -> list[Path]:
    """Write every picture as SVG, PNG and PDF; pictures of one name are numbered.

    Raises:
        UserError: a file is not writable.
    """
    written, names = [], dict[str, int]()
    for figure in figures:
        number = names[figure.name] = names.get(figure.name, 0) + 1
        name = figure.name if number == 1 else f"{figure.name}-{number}"
        for kind in FORMATS:
            path = folder / f"{name}.{kind}"
            write_bytes(path, _converted(figure.chart, kind), "the picture", fix="name another --figures")
            written.append(path)
    return written


def _converted(chart: alt.TopLevelMixin, kind: str) -> bytes:
    """A chart as the bytes of a file; on a page its ground is left open."""
    import altair as alt

    try:
        import vl_convert
    except ImportError:
        raise UserError(
            "pictures need vl-convert-python, which is not installed", fix="pip install scedit[eval]"
        ) from None
    ground = "transparent" if kind == "svg" else "white"
    spec = chart.properties(background=ground).to_dict(validate=False)  # type: ignore[attr-defined]
    spec["config"] = {**spec["config"], **STYLE}
    version = alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0]
    if kind == "svg":
        return vl_convert.vegalite_to_svg(spec, vl_version=version).encode("utf-8")
    if kind == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(spec, vl_version=version))
    return bytes(vl_convert.vegalite_to_png(spec, vl_version=version, scale=2))
