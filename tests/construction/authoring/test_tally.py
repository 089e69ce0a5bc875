"""The funnel: every question asked for is counted once, and every one that is not kept has a reason."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from construction.authoring.outcome import AuthorAttempts, FactOutcome, QuestionOutcome, ScriptOutcome, Slot
from construction.authoring.tally import (
    ConstructionCounts,
    ConstructionTally,
    CountedLoss,
    Tally,
    closing_lines,
    percent_of,
)
from construction.scripts.truncation import cut_script
from schemas.scripts import Script, ScriptQuestion
from schemas.verdicts import Verdict, verdict_key
from tests.support.facts import make_fact

FACT = make_fact()


def said(item, check, label, reason="because"):
    by = f"{check}@1"
    return Verdict(key=verdict_key(item_id=item.id, by=by), item_id=item.id, by=by, label=label, reason=reason)


def question_with(number, *scripts, verdicts=(), author="m"):
    """A question, and scripts of given steps with (check, label) of each."""
    question = ScriptQuestion(key=f"f/Peru/q-{number}", fact=FACT.key, text=f"How to see Peru {number}?")
    items = []
    for n, (steps, check, label) in enumerate(scripts):
        script = Script(key=f"{question.key}/s-{n}", question=question.key, steps=steps)
        prompt = cut_script(FACT, question, script)
        items.append(ScriptOutcome(script, prompt, (said(prompt or script, check, label),)))
    attempts = (AuthorAttempts(author, tuple(items)),) if items else ()
    return QuestionOutcome(question, tuple(said(question, c, label) for c, label in verdicts), attempts)


LATER, FIRST, NOWHERE = ("Pack a bag", "Fly to Lima"), ("Fly to Lima",), ("Pack a bag",)
LEFT_OUT = "the reply holds fewer questions than asked for"
KEPT = question_with(1, (LATER, "leak_in_prompt", "keep"))
EARLY = question_with(2, (FIRST, "early_cut", "unsure"))
UNCUT = question_with(3, (NOWHERE, "no_mention", "drop"))
LEAKS = question_with(4, verdicts=[("leak_in_question", "drop")])


def counts(*slots, edited=True, **more):
    tally = ConstructionTally()
    tally.add(FactOutcome(FACT, tuple(slots), **more), edited=edited)
    return tally.counts(calls=7, quality=None)


def test_of_nothing_all_is_zero_and_nothing_is_divided_by_it():
    result = ConstructionTally().counts(calls=0, quality=None)
    assert (result.facts, result.asked, result.early_percent, result.reasons, result.authors) == (0, 0, 0.0, (), ())


def test_every_question_asked_for_has_one_fate_and_a_reason_where_it_is_not_kept():
    tally = counts(Slot((KEPT,)), Slot((EARLY,)), Slot((UNCUT,)), Slot((LEAKS,)), Slot(failure="refused: No."))
    assert (tally.asked, tally.kept, tally.unsure, tally.rejected) == (5, 1, 1, 3)
    reasons = {(r.stage, r.check, r.label): (r.count, r.reason) for r in tally.reasons}
    assert reasons == {
        ("prompt", "early_cut", "unsure"): (1, "because"),
        ("script", "no_mention", "drop"): (1, "because"),
        ("question", "leak_in_question", "drop"): (1, "because"),
        ("question", "refused", "unscored"): (1, "No."),
    }
    assert (tally.questions, tally.scripts, tally.prompts, tally.early, tally.early_percent) == (4, 3, 2, 1, 50.0)
    assert (tally.facts, tally.facts_kept, tally.edits, tally.calls) == (1, 1, 1, 7)


def test_examples_show_the_text_and_the_most_frequent_reason_comes_first():
    tally = counts(Slot((UNCUT,)), Slot((LEAKS,)), Slot((LEAKS,)))
    assert [(r.check, r.count) for r in tally.reasons] == [("leak_in_question", 2), ("no_mention", 1)]
    assert tally.reasons[0].example == "How to see Peru 4?"
    assert tally.reasons[1].example == "How to see Peru 3? Pack a bag"


@pytest.mark.parametrize("verdicts", [(), [("leak_in_question", "unsure")]])
def test_a_question_without_a_script_says_so(verdicts):
    (reason,) = counts(Slot((question_with(1, verdicts=verdicts),))).reasons
    assert (reason.stage, reason.check, reason.label, reason.count) == ("question", "no script", "drop", 1)
    assert reason.reason == "nothing that the model wrote for it is a script" and reason.example == "How to see Peru 1?"


@pytest.mark.parametrize(
    ("failure", "check", "reason"),
    [
        (LEFT_OUT, "no question", LEFT_OUT),
        ("duplicate: the same question again", "repeated question", "the same question again"),
    ],
)
def test_a_question_that_the_model_left_out_or_repeated_is_no_missing_reply(failure, check, reason):
    """--retry-failed would ask for neither again, so the table must not advise it."""
    (line,) = counts(Slot((KEPT,)), Slot(failure=failure)).reasons
    assert (line.check, line.label, line.reason) == (check, "drop", reason)


def test_surplus_questions_are_neither_kept_nor_lost():
    tally = counts(Slot((KEPT,)), Slot((LEAKS,), surplus=True))
    assert (tally.asked, tally.kept, tally.surplus, tally.rejected, tally.reasons) == (2, 1, 1, 0, ())


def test_an_attempt_that_succeeds_makes_up_for_those_before_it():
    tally = counts(Slot((LEAKS, KEPT)))
    assert (tally.asked, tally.kept, tally.questions, tally.reasons) == (1, 1, 2, ())


def test_an_unfinished_fact_counts_as_nothing_else():
    tally = counts(Slot((KEPT,)), unfinished="busy")
    assert (tally.facts, tally.unfinished, tally.asked, tally.kept, tally.prompts) == (1, 1, 0, 0, 0)


@pytest.mark.parametrize("is_edit", [True, False])
def test_what_is_said_of_facts_is_counted_for_edits_only(is_edit):
    verdicts = (said(FACT, "fact_dates", "unsure", "no date"), said(FACT, "reply_usable", "unscored"))
    tally = ConstructionTally()
    for _ in range(2):
        tally.add(FactOutcome(FACT, (Slot((KEPT,)),), verdicts), edited=is_edit)
    holding = tally.counts(calls=0, quality=None).held
    assert [(h.check, h.label, h.count, h.reason, h.example) for h in holding] == (
        [("fact_dates", "unsure", 2, "no date", FACT.key)] if is_edit else []
    )


def test_authors_are_counted_by_scripts_asked_for_and_named_in_order():
    bob = question_with(1, (NOWHERE, "no_mention", "drop"), (LATER, "leak_in_prompt", "keep"), author="bob")
    ann = question_with(2, (FIRST, "early_cut", "unsure"), author="ann")
    tally = counts(Slot((bob,)), Slot((ann,)))
    assert [(a.author, a.asked, a.kept, a.unsure, a.rejected, a.scripts) for a in tally.authors] == [
        ("ann", 1, 0, 1, 0, 1),
        ("bob", 1, 1, 0, 0, 2),
    ]


def test_links_are_counted_with_those_that_fit():
    tally = ConstructionTally()
    for flag in (True, False, True):
        tally.link(passes=flag)
    result = tally.counts(calls=0, quality="plumbing")
    assert (result.links, result.links_kept, result.quality) == (3, 2, "plumbing")


def test_counts_survive_the_way_through_json_and_refuse_what_is_missing():
    tally = counts(Slot((KEPT,)), Slot((EARLY,)))
    assert ConstructionCounts.model_validate_json(tally.model_dump_json()) == tally
    with pytest.raises(ValidationError):
        ConstructionCounts.model_validate({"facts": 1})


class Stages(Tally):
    stages = ("draw", "checks")


def test_losses_are_listed_by_stage_then_by_number_then_by_reason() -> None:
    tally = Stages()
    for reason, count in (("b", 2), ("a", 2), ("c", 3)):
        tally.lose("checks", reason, count)
    tally.lose("draw", "z")
    tally.lose("draw", "z")
    tally.lose("draw", "never", 0)
    listed = [(loss.stage, loss.reason, loss.count) for loss in tally.losses()]
    assert listed == [("draw", "z", 2), ("checks", "c", 3), ("checks", "a", 2), ("checks", "b", 2)]


def test_an_unknown_stage_is_refused() -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        Stages().lose("drew", "x", 0)


def test_closing_lines_with_and_without_losses() -> None:
    assert closing_lines((), 1, stored=False) == ["", "1 call made."]
    lines = closing_lines([CountedLoss(stage="checks", reason="drop by options", count=1200)], 0, stored=True)
    assert lines == ["", "Lost, by reason:", "   1,200  checks      drop by options", "", "0 calls on record."]


def test_a_share_of_nothing_is_nothing() -> None:
    assert (percent_of(0, 0), percent_of(0, 4), percent_of(4, 4)) == ("", "0.0 %", "100.0 %")
