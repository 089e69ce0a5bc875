"""How outcomes add up: the best attempt counts for a script, the worst verdict for a question."""

from __future__ import annotations

import itertools

import pytest

from construction.authoring.outcome import (
    FactOutcome,
    QuestionOutcome,
    ScriptOutcome,
    Slot,
    asked_as_edit,
    overall_label,
)
from construction.scripts.truncation import cut_script
from schemas.scripts import Script, ScriptQuestion
from schemas.verdicts import Verdict, verdict_key
from tests.support.facts import make_fact

FACT = make_fact()


def said(item, label, check="x"):
    return Verdict(
        key=verdict_key(item_id=item.id, by=f"{check}@1"),
        item_id=item.id,
        by=f"{check}@1",
        label=label,
        reason="because",
    )


def question_of(number=1):
    return ScriptQuestion(key=f"f/Peru/q-{number}", fact=FACT.key, text=f"How to see Peru {number}?")


def script_of(label, *, words="Fly to Lima", question=None):
    question = question or question_of()
    script = Script(key=f"{question.key}/s-{words.replace(' ', '-')}", question=question.key, steps=("Pack", words))
    return ScriptOutcome(script, cut_script(FACT, question, script), [said(script, label)])


def outcome(label, *scripts, number=1):
    question = question_of(number)
    return QuestionOutcome(question, [said(question, label)], list(scripts))


STANDINGS = {
    "kept and kept": ("keep", ("keep",), "keep"),
    "one bad script beside a good one": ("keep", ("drop", "keep"), "keep"),
    "unsure scripts only": ("keep", ("unsure", "drop"), "unsure"),
    "an unsure question with a good script": ("unsure", ("keep",), "unsure"),
    "a question nobody can score": ("unscored", ("keep",), "unsure"),
    "a dropped question with a good script": ("drop", ("keep",), "drop"),
    "a good question without a script": ("keep", (), "drop"),
}


@pytest.mark.parametrize("name", STANDINGS)
def test_a_question_stands_as_its_worst_and_its_best_script(name):
    position, scripts, expected = STANDINGS[name]
    texts = [script_of(label, words=f"Fly to Lima {n}") for n, label in enumerate(scripts)]
    assert outcome(position, *texts).standing == expected


def test_a_slot_passes_by_its_last_question_and_stands_by_its_best():
    good, bad = outcome("keep", script_of("keep")), outcome("drop", number=2)
    assert Slot([bad, good]).passes and not Slot([good, bad]).passes
    assert Slot([good, bad]).standing == Slot([bad, good]).standing == "keep"
    assert not Slot(failure="refused: no").passes and Slot(failure="refused: no").standing == "drop"


def test_records_hold_rejected_attempts_and_prompts_only_what_may_stay():
    passing, rejection = outcome("keep", script_of("keep")), outcome("drop", number=2)
    failure = outcome("keep", script_of("drop", words="Drive to Lima"), number=3)
    fact_outcome = FactOutcome(FACT, (Slot([passing]), Slot([rejection]), Slot([failure])), (said(FACT, "keep"),))
    kinds = [record.kind for record in fact_outcome.records()]
    assert kinds.count("question") == 3 and kinds.count("script") == 2 and kinds.count("prompt") == 2
    assert [p.text.split("\n")[0] for p in fact_outcome.prompts()] == ["How to see Peru 1?"]


def said_standing(*labels):
    return [
        Verdict(
            key=verdict_key(item_id=FACT.id, by=f"c{n}@1"), item_id=FACT.id, by=f"c{n}@1", label=label, reason="because"
        )
        for n, label in enumerate(labels)
    ]


CASES = {
    (): "keep",
    ("keep",): "keep",
    ("keep", "unsure"): "unsure",
    ("unscored",): "unsure",
    ("unscored", "keep", "drop"): "drop",
    ("drop", "unsure"): "drop",
}


@pytest.mark.parametrize("labels", CASES, ids=str)
def test_the_worst_counts_whatever_the_order(labels):
    for order in itertools.permutations(labels):
        assert overall_label(said_standing(*order)) == CASES[labels]


def test_a_measurement_without_a_label_drops_nothing():
    verdict = Verdict(
        key=verdict_key(item_id=FACT.id, by="s@1"), item_id=FACT.id, by="s@1", label=None, value=0.99, unit="u"
    )
    assert overall_label([verdict]) == "keep"


def test_a_fact_that_only_serves_makes_no_case_until_it_is_edited():
    """One verdict a fact: that of the later run takes the place of the earlier one, by its key."""
    serves, verdict = asked_as_edit(FACT, edited=False), asked_as_edit(FACT, edited=True)
    assert serves.key == verdict.key and (serves.label, verdict.label) == ("drop", "keep")
    assert "only serves as a neighbour" in serves.reason and verdict.reason == ""
