"""Tables and shares for pages that benchmarks write."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from curation.files.atomic import write_text
from curation.stats.intervals import binomial_interval


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def share(hits: int, n: int) -> str:
    """Hits, share and Wilson's interval in a cell."""
    if not n:
        return "not judged"
    interval, form = binomial_interval(hits, n, kind="wilson"), ".2f" if n < 1000 else ".3f"
    return f"{hits} of {n}: {interval.value:{form}} [{interval.low:{form}}, {interval.high:{form}}]"


_NUMBER = r"[+\u2212-]?[\d.]+"
_CELL = re.compile(rf"(?:([\d,]+) of ([\d,]+): )?({_NUMBER}) \[({_NUMBER}), ({_NUMBER})\]")
_PARTS = ("hits", "of", "", "low", "high")


def csv_tables(page: str) -> list[str]:
    """The Markdown tables of a page as CSV, in their order; an estimate with its interval becomes several columns.

    Example:
        >>> print(csv_tables("| a | share |\\n| --- | --- |\\n| x | 1 of 4: 0.25 [0.05, 0.70] |\\n")[0], end="")
        a,share hits,share of,share,share low,share high
        x,1,4,0.25,0.05,0.70
    """
    return [_as_csv(block.splitlines()) for block in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE)]


def _as_csv(lines: Sequence[str]) -> str:
    heads, _, *rows = [re.sub(r"[`*]", "", line[2:-2]).split(" | ") for line in lines]
    columns = []
    for head, cells in zip(heads, zip(*rows, strict=True), strict=True):
        columns += _split(head, cells)
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(zip(*columns, strict=True))
    return out.getvalue()


def _split(head: str, cells: Sequence[str]) -> list[list[str]]:
    """A column, or those of its hits, numbers of cases, values and ends of intervals."""
    found = [_CELL.fullmatch(cell) for cell in cells]
    if not any(found):
        return [[head.strip(), *(cell.strip() for cell in cells)]]
    columns = []
    for n, part in enumerate(_PARTS, 1):
        values = [(match[n] or "") if match else cell * (part == "") for match, cell in zip(found, cells, strict=True)]
        if any(values):
            columns.append([f"{head} {part}".strip(), *(value.replace("\u2212", "-") for value in values)])
    return columns


def write_csv(page: Path, names: Mapping[str, str]) -> None:
    """Write a page's tables into the folder of the page's name.

    Args:
        page: The page.
        names: Names of the files by the beginning of the table as CSV.
    """
    for text in csv_tables(page.read_text(encoding="utf-8")):
        name = next(name for start, name in names.items() if text.startswith(start))
        write_text(page.with_suffix("") / f"{name}.csv", text, "the table")
