"""Everything of this folder for one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evaluation.analysis.comparison import Scores
from evaluation.analysis.facts.method_order import MethodOrder, method_orders
from evaluation.analysis.facts.strictness import StrictnessCurve, strictness_curves
from evaluation.analysis.facts.written_facts import FreeTextGap, WrittenFactRates, free_text_gaps, written_fact_rates
from evaluation.analysis.written.thoughts import ThoughtRates, thought_rates
from evaluation.metrics.base import Metric, Normalisation
from evaluation.runs.results import Run


class FactAnalysis(NamedTuple):
    """What a run on facts shows beside its metrics; false where there is nothing to show."""

    rates: tuple[WrittenFactRates, ...] = ()
    gaps: tuple[FreeTextGap, ...] = ()
    orders: tuple[MethodOrder, ...] = ()
    strictness: tuple[StrictnessCurve, ...] = ()
    thoughts: tuple[ThoughtRates, ...] = ()

    def __bool__(self) -> bool:
        return any((self.rates, self.gaps, self.orders, self.strictness, self.thoughts))


def fact_analysis(run: Run, scores: Scores, metrics: Sequence[Metric], normalisation: Normalisation) -> FactAnalysis:
    """The figures; those whose metrics the run did not ask for are empty."""
    return FactAnalysis(
        tuple(written_fact_rates(run, normalisation)),
        tuple(free_text_gaps(run, normalisation)),
        tuple(method_orders(run, scores, metrics)),
        tuple(strictness_curves(run, normalisation)),
        tuple(thought_rates(run)),
    )
