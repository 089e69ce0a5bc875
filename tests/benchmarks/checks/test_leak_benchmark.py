"""The labelled leaks are what the documentation says, and the scores computed on them are right."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from benchmarks.checks.leak_benchmark import (
    LeakPrompt,
    best_threshold,
    leak_prompts,
    score_half,
    scores_of_check,
    study,
)
from curation.checks.store_checks import CheckContext, StoreCheck
from curation.similarity.texts import rouge1_f
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.scripts import MAX_STEPS, words
from schemas.text.mentions import find
from schemas.verdicts import Verdict

PROMPTS = leak_prompts()
HALVES = {half: leak_prompts(half) for half in ("dev", "test")}  # type: ignore[arg-type]


def test_as_many_as_said_and_half_of_them_leak() -> None:
    assert len(PROMPTS) == 144 and len({p.key for p in PROMPTS}) == 144
    assert len({p.relation.id for p in PROMPTS}) >= 20
    for prompts in HALVES.values():
        assert Counter(p.label for p in prompts) == {"leak": 36, "none": 36}
        grades = Counter(p.grade for p in prompts if p.label == "leak")
        assert min(grades[g] for g in ("strong", "medium", "weak")) >= 5
        for relation in {p.relation.id for p in prompts}:
            assert {p.label for p in prompts if p.relation.id == relation} == {"leak", "none"}


def test_every_fact_has_one_of_each() -> None:
    pairs = Counter((p.fact.id, p.label) for p in PROMPTS)
    assert len(pairs) == 144 and set(pairs.values()) == {1}


def test_nothing_of_one_half_is_in_the_other() -> None:
    dev, test = HALVES["dev"], HALVES["test"]
    assert not {n.casefold() for p in dev for n in p.subject.names} & {
        n.casefold() for p in test for n in p.subject.names
    }
    assert not {(p.relation.id, p.old.text) for p in dev} & {(p.relation.id, p.old.text) for p in test}
    assert {p.relation.id for p in dev} == {p.relation.id for p in test}, "thresholds are set on the same relations"
    leaking = {p.words.text.casefold() for p in dev if p.words}
    assert not leaking & {p.words.text.casefold() for p in test if p.words}


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda p: p.key)
def test_a_prompt_keeps_the_format_and_names_no_object(prompt: LeakPrompt) -> None:
    assert 3 <= len(prompt.steps) <= MAX_STEPS
    assert all(words(s) < 8 for s in prompt.steps)
    text = prompt.prompt.replace("Step ", "")
    assert not find(text, prompt.old) and not find(text, prompt.new)
    assert find(prompt.question, prompt.subject)
    if prompt.words:
        assert prompt.prompt[prompt.words.start : prompt.words.end] == prompt.words.text
        assert prompt.prompt.count(prompt.words.text) == 1
        assert not find(prompt.words.text, prompt.subject)


def test_no_text_is_a_template_of_another() -> None:
    steps = Counter(s for p in PROMPTS for s in p.steps[:-1])
    assert sum(n - 1 for n in steps.values()) <= 12, "a few generic steps recur, on purpose"
    bare = [p.question.replace(p.subject.text, "X") for p in PROMPTS]
    assert max(rouge1_f(a, b) for a, b in combinations(bare, 2)) < 0.85


def test_the_length_does_not_tell_a_leak() -> None:
    mean = {
        label: sum(len(p.steps) for p in PROMPTS if p.label == label) / (len(PROMPTS) / 2) for label in ("leak", "none")
    }
    assert abs(mean["leak"] - mean["none"]) < 0.25
    assert study("steps", {p.key: float(len(p.steps)) for p in PROMPTS}).test.recall.value < 0.5  # type: ignore[operator]


def test_records_of_a_prompt() -> None:
    prompt = PROMPTS[0]
    assert prompt.script_prompt.fact == prompt.script_question.fact == prompt.fact.key
    assert prompt.script_prompt.text.startswith(prompt.question + "\n")
    assert PROMPTS[1].fact.id == prompt.fact.id


@pytest.mark.parametrize(
    "change", [{"label": "none"}, {"words": None}, {"grade": None}, {"prompt": "How to go?\nStep 1: Walk to"}]
)
def test_a_broken_line_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        LeakPrompt.model_validate({**PROMPTS[0].model_dump(), **change})


def test_a_study_of_known_counts() -> None:
    """Dev: values 1 .. 72, leaks on top. Test: 30 of 36 leaks and 6 clean prompts above the threshold, 2 unscored."""
    values: dict[str, float | None] = {}
    for prompts in HALVES.values():
        leaks = [p for p in prompts if p.label == "leak"]
        clean = [p for p in prompts if p.label == "none"]
        wrong = 6 if prompts is HALVES["test"] else 0
        values |= {p.key: 0.0 if n < wrong else 2.0 for n, p in enumerate(leaks)}
        values |= {p.key: 2.0 if n < wrong else 0.0 for n, p in enumerate(clean)}
    test = HALVES["test"]
    values[next(p for p in test if p.label == "leak").key] = None
    values[[p for p in test if p.label == "none"][-1].key] = None
    score = study("made up", values)
    assert score.threshold == 1.0 and score.dev.precision.value == score.dev.recall.value == 1.0
    p_value = score.test
    assert (p_value.hits, p_value.false_alarms, p_value.unscored) == (30, 6, 2)
    assert p_value.precision.text() == "0.833 [0.672, 0.936]"  # R: binom.test(30, 36)
    assert p_value.recall.text() == "0.833 [0.672, 0.936]"
    assert sum(n for n, _ in p_value.by_grade.values()) == 30 and sum(n for _, n in p_value.by_grade.values()) == 36
    assert p_value.auc == pytest.approx((30 * 29 + 0.5 * (30 * 6 + 5 * 29)) / (35 * 35))


def test_a_check_that_says_nothing_flags_nothing() -> None:
    score = study("silent", {p.key: None for p in PROMPTS})
    assert score.threshold == math.inf and score.test.unscored == 72
    assert score.test.precision.value is None and score.test.recall.value == 0.0 and score.test.auc is None


def test_a_check_that_says_yes_or_no_has_no_threshold_to_set() -> None:
    """Wrong as often as right on the dev half: its answers count all the same."""
    values = {p.key: float((p.half == "test" and p.label == "leak") or p.key in ODD) for p in PROMPTS}
    score = study("yes or no", values)
    assert score.threshold == 0.5 and score.test.recall.value == 1.0 and score.dev.precision.value == 0.5


ODD = {next(p.key for p in HALVES["dev"] if p.label == label) for label in ("leak", "none")}


def test_a_missing_prompt_is_an_error() -> None:
    with pytest.raises(UserError, match=r"says nothing of 1 labelled prompt,.*leaks/"):
        study("partial", {p.key: 0.0 for p in PROMPTS[1:]})


ROWS = st.lists(st.tuples(st.none() | st.integers(0, 6).map(float), st.booleans()), max_size=20)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine draws slowly
@given(ROWS)
def test_the_best_threshold_equals_trying_all(rows: list[tuple[float | None, bool]]) -> None:
    def right(threshold: float) -> int:
        return sum((v is not None and v >= threshold) == leak for v, leak in rows)

    tried = [math.inf, *sorted({v for v, _ in rows if v is not None}, reverse=True)]
    best = max(right(t) for t in tried)
    assert right(best_threshold(rows)) == best
    highest = next(t for t in tried if right(t) == best)
    assert best_threshold(rows) <= highest, "not above the value that it must flag"
    assert [v for v, _ in rows if v is not None and v >= best_threshold(rows)] == [
        v for v, _ in rows if v is not None and v >= highest
    ]


def test_score_half_of_nothing() -> None:
    half = score_half([], {}, 0.5)
    assert half.precision.value is None and half.recall.value is None and half.leaks == 0


class ByLabel(StoreCheck):
    """Knows the labels; says drop, keep, unscored or a value as it is told."""

    name: ClassVar[str] = "by_label"
    version: ClassVar[int] = 1
    on: ClassVar[str] = "prompt"
    about: ClassVar[str] = "for a test"
    seen = 0

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterable[Verdict]:
        labels = {p.script_prompt.id: p for p in PROMPTS}
        for item in items:
            self.seen += 1
            p = labels[item.id]
            assert around.facts[p.fact.key] == p.fact
            if p.relation.id == "P17":
                yield self.verdict(item, "unscored", "will not say")
            elif p.relation.id == "P36":
                yield self.verdict(item, "keep", value=7.0 if p.label == "leak" else -7.0, unit="bits")
            else:
                spans = [p.words] if p.words else []
                yield self.verdict(item, "drop" if p.label == "leak" else "keep", "known", spans=spans)


def test_a_store_check_meets_the_labelled_prompts_as_any_others(tmp_path: Path) -> None:
    check = ByLabel()
    values = scores_of_check(check, tmp_path / "study")
    for p in PROMPTS:
        sure = 1.0 if p.label == "leak" else 0.0
        expected = {"P17": None, "P36": 7.0 if sure else -7.0}.get(p.relation.id, sure)
        assert values[p.key] == expected
    score = study("by_label", values).test
    assert score.precision.value == 1.0 and score.unscored == sum(p.relation.id == "P17" for p in HALVES["test"])
    assert scores_of_check(check, tmp_path / "study") == values and check.seen == 144, "nothing is judged twice"
