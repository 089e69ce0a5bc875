"""Thirty cases of mini to draw samples of, and sheets as people fill them in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from curation.quality.sample import CRITERIA, Sample, sheet
from curation.shipped import mini_split
from curation.splits.split_file import make_split

MINI = make_split("mini", mini_split().cases[:30])


def answered(sample: Sample, person: str, no: Callable[[str], str] = lambda item: "") -> list[dict[str, Any]]:
    """A filled sheet: yes to all, but no to the criterion that ``no`` names for an item."""
    rows = []
    for row in sheet(sample, MINI.cases, person):
        against = no(row["item"])
        form_values = {c.name: "no" if c.name == against else "yes" for c in CRITERIA}
        rows.append({**row, **form_values, **({f"{against}_reason": "it is odd"} if against else {})})
    return rows


def blank(rows: list[dict[str, Any]]) -> None:
    rows[1].update({c.name: "" for c in CRITERIA})
