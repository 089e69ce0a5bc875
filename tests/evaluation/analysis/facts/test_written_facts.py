"""Rates and steps by hand: every step's difference is what lies between its two sides, prompt by prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.analysis.facts.prompt_readings import PromptReading
from evaluation.analysis.facts.written_facts import _gap, _rates, free_text_gaps, written_fact_rates
from evaluation.metrics.fact_texts.answer_line import read_answer
from evaluation.metrics.fact_texts.probes import FactPrompt
from schemas.answers import GeneratedText
from schemas.facts import Object
from tests.support.report.texts_run import finished


def reading(case: str, text: str, *, preferred: bool = True, tokens: int = 1, matched: int = 1) -> PromptReading:
    answer = read_answer(GeneratedText(text=text, tokens=3, ended="length"), Object(text="Oslo"), Object(text="Lima"))
    return PromptReading(case, FactPrompt("p", case), preferred, tokens, matched, answer)


FOUR = [
    reading("a", " Oslo\nOslo"),
    reading("b", " Oslo, a city in", tokens=2, matched=2),
    reading("c", " the city of Oslo", tokens=4, matched=3),
    reading("d", " Lima or Oslo", tokens=2, matched=0),
]


def test_every_step_by_hand() -> None:
    gap = _gap("m", "fact", FOUR)
    means = [v.mean for v in (gap.preferred, gap.matched, gap.whole, gap.begins, gap.exact, gap.first)]
    assert means == pytest.approx([1.0, 0.6875, 0.5, 0.5, 0.25, 0.75])
    steps = [v.mean for v in (gap.choice, gap.forcing, gap.names, gap.stop, gap.rule, gap.total)]
    assert steps == pytest.approx([0.3125, 0.1875, 0.0, 0.25, 0.5, 0.25])
    assert sum(steps[:4]) == pytest.approx(1.0 - 0.25), "the steps from preferred to exact leave nothing over"
    lengths = [(n.tokens, n.prompts, n.matched.mean, n.whole.mean, n.first.mean) for n in gap.lengths]
    assert lengths == [(1, 1, 1.0, 1.0, 1.0), (2, 2, 0.5, 0.5, 0.5), (3, 1, 0.75, 0.0, 1.0)]


def test_a_case_with_many_prompts_counts_once() -> None:
    gap = _gap("m", "paraphrase", [*FOUR, *[reading("d", " Lima", tokens=2, matched=0)] * 9])
    assert gap.prompts == 13 and gap.first.mean == 0.75 and gap.first.n == 4


def test_rates_by_hand() -> None:
    rates = _rates("m", "fact", [*FOUR, reading("e", "")], 2)
    values = [rates.first, rates.other, rates.neither, rates.mixed, rates.exact, rates.degenerate, rates.natural]
    assert [v.mean for v in values] == pytest.approx([0.6, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2])
    assert (rates.texts, rates.missing) == (5, 2)


def test_only_what_was_asked_in_every_way_is_taken_apart(tmp_path: Path) -> None:
    run = finished(tmp_path, ["es", "es_gen", "ps_gen"])
    assert {(r.label, r.place) for r in written_fact_rates(run)} == {
        (label, place) for label in ("none", "push") for place in ("fact", "paraphrase")
    }
    assert free_text_gaps(run) == []
    assert written_fact_rates(finished(tmp_path / "no", ["es"])) == []
