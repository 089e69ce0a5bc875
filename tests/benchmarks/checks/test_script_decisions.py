"""Labelled scripts go through the same cut and checks as a model's replies, alone and with a store check on top."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from benchmarks.checks.script_benchmark import (
    LabelledScript,
    fresh_scripts,
    labelled_scripts,
    right,
    tuning_scripts,
)
from benchmarks.checks.script_decisions import decisions_by_rules, decisions_with
from curation.checks.store_checks import CheckContext, StoreCheck
from schemas.core.records import Record
from schemas.scripts import ScriptPrompt
from schemas.verdicts import Verdict

SCRIPTS = labelled_scripts()
GOOD = next(s for s in SCRIPTS if s.kind == "good" and not s.hard)


def _like(script: LabelledScript, **change: object) -> LabelledScript:
    """A script with other words, whose right verdict no longer matters."""
    data = {**script.model_dump(), "verdict": "drop", "cut": None, "clean_steps": None, "words": (), **change}
    return LabelledScript.model_validate(data)


def test_plain_good_items_pass_and_plain_leaks_fall() -> None:
    """Whatever the rules become, they must not lose the plainest items of each side."""
    plain = [s for s in SCRIPTS if (s.kind == "good" and not s.hard) or s.kind == "old_in_question"]
    decisions = decisions_by_rules(plain)
    wrong = [s.key for s in plain if not right(s, decisions[s.key])]
    assert len(wrong) <= 0.05 * len(plain), wrong


def test_further_scripts_come_out_as_the_documentation_says() -> None:
    """No wrong cut kept, and no good one lost that looks like it: the rules were written with these at hand."""
    scripts = tuning_scripts()
    decisions = decisions_by_rules(scripts)
    assert [s.key for s in scripts if not right(s, decisions[s.key])] == []


def test_of_the_fresh_tuning_scripts_is_kept_what_is_to_be_kept() -> None:
    scripts = fresh_scripts("tuning")
    now = decisions_by_rules(scripts)
    assert [s.key for s in scripts if not right(s, now[s.key])] == []


def test_a_leak_in_the_question_is_dropped_with_its_reason() -> None:
    script = _like(GOOD, question=f"How to reach {GOOD.old.text} for {GOOD.subject.text}?")
    decision = decisions_by_rules([script])[script.key]
    assert decision.label == "drop" and any(r.startswith("leak_in_question: ") for r in decision.reasons)
    assert decision.reasons[0].startswith("leak_in_question: "), "the sternest reason comes first"


def test_steps_out_of_the_format_never_become_a_prompt() -> None:
    long = _like(GOOD, steps=("Go", f"Walk on and on and on and on to {GOOD.old.text}"))
    decision = decisions_by_rules([long])[long.key]
    assert (decision.label, decision.prompt) == ("drop", None)
    assert any(r.startswith("script_format: ") for r in decision.reasons)


def test_a_script_without_the_object_is_dropped_without_a_prompt() -> None:
    bare = _like(GOOD, steps=("Pack", "Wait", "Rest"))
    decision = decisions_by_rules([bare])[bare.key]
    assert (decision.label, decision.prompt) == ("drop", None)
    assert any(r.startswith("no_mention: ") for r in decision.reasons)


def test_labels_of_steps_do_not_stand_in_the_prompt() -> None:
    labelled = _like(GOOD, steps=("Step 1: Pack", f"Step 2: Fly to {GOOD.old.text}"))
    assert decisions_by_rules([labelled])[labelled.key].prompt == f"{GOOD.question}\nStep 1: Pack\nStep 2: Fly to"


class _Strict(StoreCheck):
    """Drops prompts of one relation, measures the length of all."""

    name: ClassVar[str] = "strict"
    version: ClassVar[int] = 1
    on: ClassVar[str] = "prompt"
    about: ClassVar[str] = "a check of this test"
    seen: ClassVar[list[str]] = []

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        for item in items:
            assert isinstance(item, ScriptPrompt)
            self.seen.append(item.fact)
            value = float(len(item.text))
            bad = "currency" in item.fact
            yield self.verdict(item, "drop" if bad else "keep", "too dear" if bad else "", value=value, unit="letters")


def test_a_check_on_top_makes_verdicts_sterner_and_never_milder(tmp_path: Path) -> None:
    scripts = [s for s in SCRIPTS if s.kind in ("good", "old_in_question")]
    check, rules = _Strict(), decisions_by_rules(scripts)
    _Strict.seen.clear()
    both = decisions_with(scripts, check, tmp_path)
    keys = {s.key for s in scripts if rules[s.key].label == "drop"}
    assert not keys & set(_Strict.seen), "what the rules drop is not paid for"
    assert all(both[key] == rules[key] for key in keys)
    assert {s.key for s in scripts} - keys == set(_Strict.seen)
    threshold = sorted(float(len(d.prompt or "")) for k, d in rules.items() if k not in keys)[-3]
    decisions = decisions_with(scripts, check, tmp_path, threshold=threshold)
    longer = {k for k, d in rules.items() if k not in keys and len(d.prompt or "") >= threshold}
    assert longer and {k for k in decisions if decisions[k].label == "drop"} == longer | keys
    shorter = {k for k, d in rules.items() if k not in keys and len(d.prompt or "") < threshold}
    below = decisions_with(scripts, check, tmp_path, below=threshold)
    assert {k for k in below if below[k].label == "drop"} == shorter | keys and not shorter & longer
    assert len(_Strict.seen) == len(set(_Strict.seen)), "a second call asks nothing again"


def test_a_check_reads_only_the_drawn_scripts_beside_all_facts(tmp_path: Path) -> None:
    scripts = [s for s in SCRIPTS if s.kind == "good"][:6]
    judged = {s.key for s in scripts[:2]}
    check, rules = _Facts(), decisions_by_rules(scripts)
    _Facts.seen.clear()
    both = decisions_with(scripts, check, tmp_path, judged=judged)
    assert {fact for fact, _ in _Facts.seen} == judged
    assert all(len(facts) == len(scripts) for _, facts in _Facts.seen), "the rivals are those of the whole"
    assert {k for k in both if both[k].label == "drop" != rules[k].label} == judged


class _Facts(StoreCheck):
    """Drops every prompt, and notes which facts stand around it."""

    name: ClassVar[str] = "facts_around"
    version: ClassVar[int] = 1
    on: ClassVar[str] = "prompt"
    about: ClassVar[str] = "a check of this test"
    seen: ClassVar[list[tuple[str, frozenset[str]]]] = []

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        for item in items:
            assert isinstance(item, ScriptPrompt)
            self.seen.append((item.fact, frozenset(around.facts)))
            yield self.verdict(item, "drop", "all")
