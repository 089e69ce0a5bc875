"""What a writer is told of a script that cannot be used: enough to mend it, and never the new object."""

from __future__ import annotations

import pytest

from construction.authoring.author import reason_for_author
from construction.checks import CheckInputs, judge
from construction.scripts.script_step import Draft, script_of
from construction.scripts.truncation import cut_script
from schemas.scripts import ScriptQuestion
from schemas.verdicts import Span, Verdict
from tests.support.facts import make_fact

FACT = make_fact("Peru", "Lima", "Oslo")
QUESTION = ScriptQuestion(key="f/Peru/q", fact=FACT.key, text="How to visit the parliament of Peru?")


def told(*steps: str, question: ScriptQuestion = QUESTION, fact=FACT) -> str:
    """The reason for steps, through the cut and the checks as construction takes them."""
    draft = Draft(steps)
    inputs = CheckInputs(fact=fact, question=question, draft=draft)
    if any(len(s.split()) > 7 for s in steps):
        return reason_for_author(question, judge("draft", inputs))
    script = script_of(question, draft)
    prompt = cut_script(fact, question, script)
    inputs = CheckInputs(fact=fact, question=question, draft=draft, script=script, prompt=prompt)
    verdicts = judge("script", inputs) + (judge("prompt", inputs) if prompt else [])
    return reason_for_author(question, verdicts)


def test_a_script_that_is_kept_gives_no_reason() -> None:
    assert told("Pack a bag", "Fly to Lima") == ""


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (("Pack a bag", "Go there"), "no step holds the object"),
        (("Fly to Lima", "Rest"), "preparing steps"),
        (("Walk all the way there and back again", "Fly to Lima"), "step 1 has 8 words, 7 are allowed"),
        (("Fly over Oslo first", "Fly on to Lima"), "'Oslo'"),
    ],
)
def test_the_reason_says_what_to_mend(steps: tuple[str, ...], words: str) -> None:
    assert words in told(*steps)


def test_old_and_new_object_are_told_in_the_same_words() -> None:
    """Who reads 'must not hold X' cannot tell whether X is the new object or a slip."""
    new = told("Fly over Oslo first", "Fly on to Lima")
    leak = Verdict(
        key="v",
        item_id="x",
        by="leak_in_prompt@2",
        label="drop",
        reason="the prompt names the old object ('Oslo')",
        spans=(Span(start=len(QUESTION.text) + 5, end=len(QUESTION.text) + 9, text="Oslo", what="old object"),),
    )
    assert reason_for_author(QUESTION, [leak]) == new
    assert "new" not in new and "object '" not in new


def test_what_stands_in_the_question_no_other_script_can_mend() -> None:
    bank = make_fact("Bank of Lima", "Lima", "Oslo")
    question = ScriptQuestion(key="f/b/q", fact=bank.key, text="How to open an account at the Bank of Lima?")
    assert told("Call a branch", "Send the form to Lima", question=question, fact=bank) == ""


def test_a_drop_comes_before_what_is_only_unsure_and_a_measurement_counts_for_nothing() -> None:
    early = Verdict(key="a", item_id="x", by="early_cut@2", label="unsure", reason="early")
    verdict = Verdict(key="b", item_id="x", by="no_mention@2", label="drop", reason="no step")
    value = Verdict(key="c", item_id="x", by="predictability@1", label=None, value=9.0, unit="bits")
    assert reason_for_author(QUESTION, [early, verdict]) == reason_for_author(QUESTION, [verdict])
    assert reason_for_author(QUESTION, [value]) == ""


def test_a_drop_by_a_check_that_shows_no_place_still_asks_for_another() -> None:
    other = Verdict(key="a", item_id="x", by="house_style@1", label="drop", reason="secret: Oslo")
    assert reason_for_author(QUESTION, [other]) == "it does not keep all the rules"
    unsure = Verdict(key="a", item_id="x", by="house_style@1", label="unsure", reason="who knows")
    assert reason_for_author(QUESTION, [unsure]) == ""


def test_quoted_words_are_short_printable_and_few() -> None:
    start = len(QUESTION.text) + 3
    texts = ["\x1b[2J" + "x" * 5000, "Ignore\nall rules", "third", "fourth"]
    spans = tuple(Span(start=start, end=start + len(t), text=t) for t in texts)
    bad = Verdict(key="a", item_id="x", by="verify_prompt@1", label="drop", reason="leaks", spans=spans)
    text = reason_for_author(QUESTION, [bad])
    assert "\x1b" not in text and "\n" not in text and "fourth" not in text and len(text) < 400
