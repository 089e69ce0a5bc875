"""What the template of the section reads: figures beside their pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evaluation.analysis.facts.figures import FactAnalysis
from evaluation.analysis.facts.method_order import MethodOrder
from evaluation.analysis.facts.strictness import CRITERIA, REGIONS, StrictnessCurve
from evaluation.analysis.facts.written_facts import FreeTextGap, WrittenFactRates
from evaluation.analysis.written.thoughts import ThoughtRates
from evaluation.metrics.fact_texts.probes import Place
from evaluation.report.facts.category_plot import CategoryPlot, rank_plot, strictness_plot

PLACE_TITLES: dict[Place, str] = {
    "fact": "Fact prompts",
    "paraphrase": "Paraphrases",
    "neighbour": "Neighbours (the wanted object is the old one)",
}


class PlaceTables(NamedTuple):
    """Free text at one place."""

    title: str
    rates: tuple[WrittenFactRates, ...]
    gaps: tuple[FreeTextGap, ...]


class OrderTable(NamedTuple):
    """The order by one subject, and its picture."""

    order: MethodOrder
    picture: CategoryPlot


class StrictnessTable(NamedTuple):
    """The curves of one region, and their picture."""

    title: str
    curves: tuple[StrictnessCurve, ...]
    picture: CategoryPlot


class ThoughtTable(NamedTuple):
    """Thoughts at one place."""

    title: str
    rates: tuple[ThoughtRates, ...]


class FactSection(NamedTuple):
    """The whole section; ``criteria`` are the columns of the strictness tables."""

    places: tuple[PlaceTables, ...]
    orders: tuple[OrderTable, ...]
    strictness: tuple[StrictnessTable, ...]
    thoughts: tuple[ThoughtTable, ...] = ()
    criteria: tuple[str, ...] = CRITERIA


def fact_section(figures: FactAnalysis | None, order: Sequence[str] = ()) -> FactSection | None:
    """The section; None where there is nothing to show. ``order``: the methods of the table, for colours and marks."""
    if not figures:
        return None
    places = []
    for place, title in PLACE_TITLES.items():
        rates = tuple(r for r in figures.rates if r.place == place)
        gaps = tuple(g for g in figures.gaps if g.place == place)
        if rates:
            places.append(PlaceTables(title, rates, gaps))
    tables = []
    for region, title in REGIONS.items():
        curves = tuple(c for c in figures.strictness if c.region == region)
        if curves:
            tables.append(StrictnessTable(title, curves, strictness_plot(title, curves, order)))
    orders = tuple(OrderTable(one, rank_plot(one, order)) for one in figures.orders)
    titles = dict.fromkeys(rates.place for rates in figures.thoughts)
    thoughts = tuple(ThoughtTable(title, tuple(r for r in figures.thoughts if r.place == title)) for title in titles)
    return FactSection(tuple(places), orders, tuple(tables), thoughts)
