"""The wording of a figure, here and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import takewhile
from typing import Any

from curation.stats.estimates import Estimate
from curation.stats.intervals import LEAST_CASES, PUBLISHED, Interval
from evaluation.analysis.comparison import Comparison
from evaluation.analysis.pairwise_tests import ComparisonFamily
from evaluation.analysis.tables import DELTA, Cell, FigureTable
from evaluation.metrics.base import Metric, Summary
from evaluation.metrics.pooled import PERPLEXITY
from schemas.text.table_lines import aligned

_INVISIBLE = re.compile("[\u00ad\u200b\u2060-\u2064\ufeff]")
SMALL = 0.01  # below this share a second digit is shown (S-BO is often a few thousandths)
ARROWS = {"higher": "↑", "lower": "↓"}


def visible(text: str) -> str:
    r"""A text with what has no width written out. Zero-width joiners stay: some scripts are written with them.

    Example:
        >>> visible("R\u200bome")
        'R\\u200bome'
    """
    return _INVISIBLE.sub(lambda m: f"\\u{ord(m.group()):04x}", text)


def percent(value: float | None, *, signed: bool = False, digits: int = 1) -> str:
    """A fraction in percent, or a dash.

    Example:
        >>> percent(0.1234), percent(0.5, signed=True), percent(None)
        ('12.3', '+50.0', '–')
    """
    if value is None:
        return "–"
    text = f"{100 * value:+.{digits}f}" if signed else f"{100 * value:.{digits}f}"
    return text.replace("-", "\N{MINUS SIGN}") if float(text) else text.lstrip("+-")


def mean_with_interval(interval: Interval, *, signed: bool = False) -> str:
    """Mean with its 95 % interval: fractions in percent, with two digits below 1 %; other units with two decimals.

    The default interval stands as [low, high]; a published one (1.96·sd/√n) marks itself by ±. Brackets say why there
    is none. A factor has its sign of multiplication.

    Example:
        >>> mean_with_interval(Interval(0.5, 0.125, 6, (0.3, 0.7), "beta, by case"))
        '50.0 [30.0, 70.0]'
        >>> mean_with_interval(Interval(0.5, 0.125, 6)), mean_with_interval(Interval(1.0, 0.0, 6))
        ('50.0 ± 12.5', '100.0 [all agree]')
        >>> mean_with_interval(Interval(0.5, None, 3)), mean_with_interval(Interval(None, None, 0))
        ('50.0 [n = 3: too few]', '–')
        >>> mean_with_interval(Interval(0.85, None, 6, (0.8, 0.9), unit="ratio"))
        '×0.85 [0.80, 0.90]'
        >>> mean_with_interval(Interval(3.5, 0.5, 6, unit="bits"))
        '3.50 ± 0.50'
    """
    return f"{mean_text(interval, signed=signed)} {interval_text(interval, signed=signed)}".strip()


def cell_text(value: Cell, head: str = "") -> tuple[str, str]:
    """A cell of a table and its interval, which stands apart or is empty; a head that begins with Δ gives a sign.

    Fewer than five cases have no interval, which the head or the caption says once.

    Example:
        >>> cell_text(Interval(0.5, None, 9, (0.25, 0.75)), "Δ"), cell_text(Interval(0.5, None, 3))
        (('+50.0', '[+25.0, +75.0]'), ('50.0', ''))
        >>> cell_text(12), cell_text(None), cell_text(0.0342, "p, Holm"), cell_text(4.25)
        (('12', ''), ('–', ''), ('0.034', ''), ('4.25', ''))
    """
    signed = head.startswith(DELTA)
    if isinstance(value, Interval):
        few = value.n < LEAST_CASES and value.low is None
        return mean_text(value, signed=signed), "" if few else interval_text(value, signed=signed)
    if isinstance(value, Estimate):
        ends = "" if value.low is None or value.high is None else f"[{value.low:.2f}, {value.high:.2f}]"
        ends = ends.replace("-", "\N{MINUS SIGN}")
        return ("–" if value.value is None else f"{value.value:.2f}").replace("-", "\N{MINUS SIGN}"), ends
    if value is None:
        return "–", ""
    if isinstance(value, int):
        return f"{value:,}", ""
    if isinstance(value, float):
        return (p_value(value) if head.startswith("p") else plain_number(value)), ""
    return value, ""


def one_cell(value: Cell, head: str = "") -> str:
    """A cell with its interval as one text."""
    return " ".join(filter(None, cell_text(value, head)))


def table_lines(table: FigureTable) -> list[str]:
    """A table for a terminal: at least two spaces between columns."""
    rows = [
        [" ".join(filter(None, cell_text(c, h))) for c, h in zip(row, table.head, strict=True)] for row in table.rows
    ]
    named = takewhile(lambda column: all(isinstance(cell, str) for cell in column), zip(*table.rows, strict=True))
    sizes = column_sizes(table)
    return aligned([list(table.head), *([sizes] if any(sizes) else []), *rows], left=max(1, len(list(named))))


def column_sizes(table: FigureTable) -> list[str]:
    """How many cases the intervals of each column are over, for its head; empty for other columns, or where it says so.

    Example:
        >>> few, more = Interval(0.5, None, 3), Interval(0.5, 0.1, 9)
        >>> column_sizes(FigureTable("", ("Method", "ES", "PS"), (("ft", more, few), ("rome", few, few))))
        ['', 'n = 3 to 9', 'n = 3: too few']
    """
    out = []
    for n, head in enumerate(table.head):
        column = [row[n] for row in table.rows]
        counts = [c.n for c in column if isinstance(c, Interval) and c.mean is not None and c.kind]
        few = ": too few" if counts and max(counts) < LEAST_CASES else ""
        out.append(f"n = {count_range(counts)}{few}" if counts and "n = " not in head else "")
    return out


def tables_text(tables: Iterable[FigureTable]) -> str:
    """Tables for a terminal, each under its title."""
    blocks = [[f"{t.title}:", *(f"  {line}" for line in table_lines(t)), t.caption] for t in tables]
    return "\n\n".join("\n".join(filter(None, block)) for block in blocks)


def mean_text(interval: Interval, *, signed: bool = False) -> str:
    """The mean alone, or a dash."""
    mark = "×" if interval.unit == "ratio" else ""
    return "–" if interval.mean is None else mark + _show(interval)(interval.mean, signed=signed and not mark)


def interval_text(interval: Interval, *, signed: bool = False) -> str:
    """The interval alone, or why there is none; empty where there is no mean."""
    show = _show(interval)
    if interval.ends is not None:
        return f"[{', '.join(show(end, signed=signed and interval.unit != 'ratio') for end in interval.ends)}]"
    if interval.missing:
        return f"[{interval.missing}]"
    return "" if interval.low is None else f"± {show(interval.half)}"


def _show(interval: Interval) -> Callable[..., str]:
    """How the values of an interval are printed."""
    if interval.unit != "fraction":
        return plain_number
    return partial(percent, digits=2 if 0 < abs(interval.mean or 0.0) < SMALL else 1)


def plain_number(value: float | None, *, signed: bool = False) -> str:
    """A number with two decimals, small ones with two digits, or a dash.

    Example:
        >>> plain_number(1234.5), plain_number(-0.25, signed=True), plain_number(0.00171)
        ('1,234.50', '−0.25', '0.0017')
    """
    if value is None:
        return "–"
    form = ".2g" if 0 < abs(value) < SMALL else ",.2f"
    return format(value, f"+{form}" if signed else form).replace("-", "\N{MINUS SIGN}")


def with_unit(interval: Interval) -> str:
    """The same with a percent sign where it is in percent.

    Example:
        >>> with_unit(Interval(0.5, None, 9, (0.4, 0.6))), with_unit(Interval(0.5, None, 3))
        ('50.0 % [40.0, 60.0]', '50.0 % [n = 3: too few]')
        >>> with_unit(Interval(3.5, None, 9, (3.0, 4.0), unit="perplexity"))
        '3.50 [3.00, 4.00]'
    """
    mark = " %" if interval.unit == "fraction" and interval.mean is not None else ""
    return f"{mean_text(interval)}{mark} {interval_text(interval)}".strip()


def metric_head(metric: Metric) -> str:
    """The head of a metric's column: title, unit where it is not percent, and which values are better.

    Example:
        >>> from types import SimpleNamespace
        >>> metric_head(SimpleNamespace(title="ES-KL", unit="nats", better="lower"))
        'ES-KL (nats) ↓'
    """
    unit = "" if metric.unit in ("fraction", PERPLEXITY) else f" ({metric.unit})"
    return f"{metric.title}{unit} {ARROWS[metric.better]}"


def column_size(table: Comparison, metric: Metric) -> str:
    """What the means of a column are over, for its head: cases, and questions where the metric is a mean over them.

    Example:
        >>> from types import SimpleNamespace
        >>> rows = [SimpleNamespace(summaries={"es": Summary("es", 0.5, None, cases, items=9)}) for cases in (12, 11)]
        >>> column_size(SimpleNamespace(rows=rows), SimpleNamespace(name="es", pooled=False))
        'n = 11 to 12'
    """
    summaries = [row.summaries[metric.name] for row in table.rows]
    known = [s for s in summaries if s.mean is not None]
    if not known:
        return ""
    few = ": too few" if max(s.cases for s in known) < LEAST_CASES else ""
    items = count_range(s.items for s in known) if metric.pooled else ""
    questions = f", {items} {'question' if items == '1' else 'questions'}" if items else ""
    return f"n = {count_range(s.cases for s in known)}{few}{questions}"


def console_table(table: Comparison, metrics: Sequence[Metric]) -> list[str]:
    """The table of a run as lines for a terminal: at least two spaces between columns, n under the titles."""
    head = ["", *map(metric_head, metrics), "s/edit", ""]
    sizes = ["", *(column_size(table, m) for m in metrics), "", ""]
    rows = [
        [
            row.label,
            *(one_cell(row.summaries[m.name].interval) for m in metrics),
            seconds(row.seconds_edit),
            f"{row.failed} failed" if row.failed else "",
        ]
        for row in table.rows
    ]
    return aligned([head, sizes, *rows])


def count_range(counts: Iterable[int]) -> str:
    """The least and the greatest count: "3", "3 to 12"."""
    known = sorted(counts)
    return f"{known[0]:,}" if known[0] == known[-1] else f"{known[0]:,} to {known[-1]:,}"


def as_published(value: Any) -> Any:
    """The same records with every interval of the published kind, ± 1.96·sd/√n by case; not those that tests rest on.

    Example:
        >>> mean_with_interval(as_published([Interval(0.5, 0.7, 6, (0.1, 0.9), "beta, by case")])[0])
        '50.0 ± 70.0'
    """
    if isinstance(value, Interval):
        return value.published
    if isinstance(value, Summary):
        return value._replace(ends=None, kind=PUBLISHED)
    if isinstance(value, ComparisonFamily):
        return value
    if isinstance(value, Mapping):
        return {k: as_published(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        inner = [as_published(v) for v in value]
        return getattr(value, "_make", type(value))(inner)  # a NamedTuple is made by its own function
    return value


def p_value(p: float | None) -> str:
    """A p value with the digits that matter.

    Example:
        >>> p_value(0.0004), p_value(0.034), p_value(1.0), p_value(None)
        ('< 0.001', '0.034', '1', '–')
    """
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}".rstrip("0").rstrip(".")


def seconds(value: float | None) -> str:
    """Seconds with the digits that matter.

    Example:
        >>> seconds(0.0213), seconds(1.284), seconds(75.04), seconds(None)
        ('0.02', '1.28', '75.0', '–')
    """
    if value is None:
        return "–"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def memory(value: int | None) -> str:
    """Bytes in binary gigabytes or megabytes.

    Example:
        >>> memory(1_610_612_736), memory(5_242_880), memory(None)
        ('1.50 GiB', '5 MiB', '–')
    """
    if value is None:
        return "–"
    return f"{value / 2**30:.2f} GiB" if value >= 2**30 else f"{value / 2**20:.0f} MiB"


def holds_many_edits(table: Comparison) -> bool:
    """Whether some method of a table held more than one edit, so that the table says how many each held."""
    return any(row.edits[1] > 1 for row in table.rows)


def group_title(table: Comparison) -> str:
    """A table's heading."""
    if table.group == "all":
        return f"All cases ({table.cases:,})"
    if table.kind == "fact":
        return f"{table.group.capitalize()} changes ({table.cases:,})"
    return f"{table.kind.capitalize()}s: {table.group} ({table.cases:,})"
