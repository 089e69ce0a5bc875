r"""Tables for a paper: LaTeX with booktabs, the best method bold where the paired tests decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TypeVar

from curation.stats.intervals import Interval
from evaluation.analysis.comparison import Comparison
from evaluation.analysis.text_ratings import ASPECTS, SHORT, RatingSource
from evaluation.metrics.base import Metric
from evaluation.report.formatting import (
    cell_text,
    column_size,
    count_range,
    group_title,
    holds_many_edits,
    metric_head,
    visible,
)
from schemas.text.escaping import escape_line

_T = TypeVar("_T")
_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{c: "\\" + c for c in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "–": "--",
    "\N{MINUS SIGN}": "$-$",
}
WIDEST = 4  # metrics of one table: with their intervals as subscripts a page holds no more
TALLEST = 48  # rows of one table
_LETTERS = 80  # of a row, of a figure with its interval, and of a line of a method's name
_CELL = 16
_NAME = 28
HEAD = "% \\usepackage{booktabs}; \\textquotedbl needs \\usepackage[T1]{fontenc}\n"


def escape(text: str) -> str:
    r"""Text as LaTeX shows it, control and direction characters written out.

    Example:
        >>> escape("ft_l & 50 %"), escape("a\x1b")
        ('ft\\_l \\& 50 \\%', 'a\\textbackslash{}u001b')
    """
    return "".join(_SPECIAL.get(c, c) for c in escape_line(visible(text)))


def figure(interval: Interval, *, best: bool = False) -> str:
    r"""A mean with its interval as a subscript, bold where it is the best.

    Example:
        >>> figure(Interval(0.5, 0.125, 9, (0.25, 0.75), "beta, by case"))
        '50.0\\textsubscript{[25.0, 75.0]}'
        >>> figure(Interval(0.5, 0.125, 9), best=True), figure(Interval(None, None, 0))
        ('\\textbf{50.0}\\textsubscript{$\\pm$ 12.5}', '--')
    """
    mean, ends = map(escape, cell_text(interval))
    mean = rf"\textbf{{{mean}}}" if best else mean
    return rf"{mean}\textsubscript{{{ends}}}" if ends else mean


def token_table(
    tables: Sequence[Comparison], metrics: Sequence[Metric], *, about: str, label: str = "tab:token"
) -> str:
    """The token level: a block a group of cases (all, counterfactual, temporal); more than fits: more tables."""
    shown = [m for m in metrics if any(r.summaries[m.name].mean is not None for t in tables for r in t.rows)]
    names = [[row.label for row in t.rows] for t in tables]
    each = max(1, TALLEST // max(2 + sum(-(-len(name) // _NAME) for name in some) for some in names))
    first = min(_NAME, max(len(name) for some in names for name in some))
    wide = max([_CELL, *(len(m.title) + 2 for m in shown)])
    most = min(WIDEST, max(1, (_LETTERS - first) // wide))
    pages = list(product(_even(shown, most), _even(tables, each)))
    out = []
    for n, (part, groups) in enumerate(pages, 1):
        of = f", part {n} of {len(pages)}" if len(pages) > 1 else ""
        caption = (
            f"Token-level results of {about}{of}: means of case means in percent, with 95\\,\\% intervals by case (and "
            "neighbour, where neighbours recur; none for fewer than five cases). Bold: best by paired test."
        )
        out.append(_token_table(groups, part, caption=caption, label=f"{label}-{n}" if n > 1 else label))
    return "\n".join(out)


def _even(things: Sequence[_T], most: int) -> list[Sequence[_T]]:
    """The things in parts of even size, ``most`` in one at most."""
    count = max(1, -(-len(things) // most))
    size = max(1, -(-len(things) // count))
    return [things[n * size : (n + 1) * size] for n in range(count)]


def _token_table(tables: Sequence[Comparison], shown: Sequence[Metric], *, caption: str, label: str) -> str:
    head = [escape(metric_head(m)) for m in shown]
    body, many = [], any(holds_many_edits(table) for table in tables)
    for n, table in enumerate(tables):
        body += [r"\midrule"] * (n > 0)
        sizes = [escape(column_size(table, m).replace(": too few", "")).replace("n = ", "$n$=") for m in shown]
        body.append(rf"\multicolumn{{{1 + many + len(sizes)}}}{{l}}{{{escape(group_title(table))}}} \\")
        body.append(" & ".join(["", *[""] * many, *sizes]) + r" \\")
        for row in table.rows:
            leads = {name for name, lead in table.leads.items() if lead.best == row.label}
            cells = [figure(row.summaries[m.name].interval, best=m.name in leads) for m in shown]
            held = [count_range(row.edits)] if many else []
            body.append(" & ".join([_name(row.label), *held, *cells]) + r" \\")
    return _table(["Method", *(["Edits"] if many else []), *head], body, caption=caption, label=label)


def _name(label: str) -> str:
    """A method's name, a long one in lines."""
    name = escape(label)
    if len(label) <= _NAME:
        return name
    name = name.replace("_", r"_\allowbreak ")
    return rf"\parbox[t]{{13em}}{{\raggedright {name}}}"


def text_table(source: RatingSource, *, model: str, best: Mapping[str, str], label: str = "tab:text") -> str:
    """The text level as one source rated it: mean of case means with its interval by case; ``best`` by aspect."""
    aspects = [a for a in ASPECTS if any(a in row for row in source.cells.values())]
    body = []
    for method, row in source.cells.items():
        cells = [figure(row[a].by_case, best=best.get(a) == method) if a in row else "--" for a in aspects]
        body.append(" & ".join([escape(method), *cells]) + r" \\")
    caption = (
        f"Text level of {model}, rated by {escape(source.title)}: means of case means with 95\\,\\% intervals by case, "
        "integer ratings. Unscored scripts are in no mean."
    )
    return _table(["Method", *(f"{SHORT[a]} $\\uparrow$" for a in aspects)], body, caption=caption, label=label)


def _table(head: Sequence[str], body: Sequence[str], *, caption: str, label: str) -> str:
    lines = [
        r"\begin{table}",
        r"\centering\small\setlength{\tabcolsep}{3pt}",
        rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}",
        r"\toprule",
        " & ".join(head) + r" \\",
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"
