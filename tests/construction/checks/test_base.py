from __future__ import annotations

from typing import get_args

import pytest

from benchmarks.checks.leak_benchmark import leak_prompts, study
from construction.checks import CHECKS, CheckInputs, Stage, judge
from construction.checks.base import _LOOKUPS
from construction.pipeline.adopt import adopt
from construction.scripts.script_step import Draft, script_of
from construction.scripts.truncation import cut_script
from schemas.facts import Entity, Fact
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.verdicts import verdict_key
from tests.support.facts import make_fact
from tests.support.small import SMALL, small_split

US = make_fact("Texas", "United States", "Peru", aliases=("US", "America"), new_aliases=("Republic of Peru",))

PORSCHE = make_fact("Porsche Panamera", "Porsche", "Ford")

MOVIE = Fact(**{**make_fact("x", "France", "Peru").model_dump(), "subject": Entity(text="Deep Impact")})

QUESTIONS = {
    "clean": ("How to visit Texas?", US, {}),
    "old object": ("How to visit Texas in the United States?", US, {"leak_in_question": "drop"}),
    "alias of the old": ("How to visit Texas from America?", US, {"leak_in_question": "drop"}),
    "pronoun us": ("How to help us visit Texas?", US, {}),
    "possessive": ("How to visit Texas with America's bus?", US, {"leak_in_question": "drop"}),
    "new object": ("How to visit Texas from Peru?", US, {"leak_in_question": "drop"}),
    "alias of the new": ("How to visit Texas (Republic of Peru)?", US, {"leak_in_question": "drop"}),
    "derived from the new": ("How to visit Texas like a Peruvian?", US, {"leak_in_question": "drop"}),
    "another word": ("How to visit Texas and its perusers?", US, {}),
    "no subject": ("How to visit a state?", US, {"subject_in_question": "drop"}),
    "object in the subject": ("How to wash a Porsche Panamera?", PORSCHE, {"leak_in_question": "unsure"}),
    "object beside the subject": (
        "How to ask Porsche about a Porsche Panamera?",
        PORSCHE,
        {"leak_in_question": "drop"},
    ),
    "not how": ("Where is Texas?", US, {"question_form": "drop"}),
    "how many": ("How many people live in Texas?", US, {"question_form": "drop"}),
    "no question mark": ("How to visit Texas", US, {"question_form": "drop"}),
    "impact": ("How does moving to Texas impact a budget?", US, {"question_form": "drop"}),
    "affect": ("How does Texas affect travellers?", US, {"question_form": "drop"}),
    "effectively is fine": ("How to study Texas effectively?", US, {}),
    "impact in the subject": ("How to watch Deep Impact?", MOVIE, {}),
    "two questions": ("How to visit Texas? How to leave?", US, {"question_form": "drop"}),
    "babble": ("How to visit a visit to a visit to a visit to a visit to Texas?", US, {"question_form": "drop"}),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_question_checks(name):
    text, fact, expected = QUESTIONS[name]
    question = ScriptQuestion(key=f"{fact.key}/q-1", fact=fact.key, text=text)
    verdicts = judge("question", CheckInputs(fact=fact, question=question))
    assert {v.check for v in verdicts} == {"question_form", "subject_in_question", "leak_in_question"}
    assert {v.check: v.label for v in verdicts if v.label != "keep"} == expected
    for verdict in verdicts:
        assert verdict.item_id == question.id
        assert verdict.key == verdict_key(item_id=question.id, by=verdict.by)
        for span in verdict.spans:
            assert text[span.start : span.end] == span.text


SCRIPTS = {
    "clean": (("Pack", "Fly to the United States"), US, {}),
    "cut in step 1": (("Fly to America", "Land"), US, {"early_cut": "unsure"}),
    "nothing to cut": (("Pack", "Go"), US, {"no_mention": "drop"}),
    "new object before": (("Leave Peru", "Fly to America"), US, {"leak_in_prompt": "drop"}),
    "new object after the cut": (("Pack", "Fly to America", "Go to Peru"), US, {}),
    "alias of the new before": (("Leave the Republic of Peru", "Fly to America"), US, {"leak_in_prompt": "drop"}),
    "object within the subject": (("Wash the Porsche Panamera", "Call Porsche"), PORSCHE, {"leak_in_prompt": "unsure"}),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_and_prompt_checks(name):
    steps, fact, expected = SCRIPTS[name]
    question = ScriptQuestion(key=f"{fact.key}/q-1", fact=fact.key, text="How to do it?")
    script = script_of(question, Draft(steps))
    prompt = cut_script(fact, question, script)
    material = CheckInputs(fact=fact, question=question, draft=steps, script=script, prompt=prompt)
    verdicts = judge("draft", material) + judge("script", material) + (judge("prompt", material) if prompt else [])
    assert {v.check: v.label for v in verdicts if v.label != "keep"} == expected
    assert all(v.reason for v in verdicts if v.label != "keep")
    if prompt:
        for verdict in verdicts:
            if verdict.item_id == prompt.id:
                assert all(prompt.text[s.start : s.end] == s.text for s in verdict.spans)


def test_every_registered_check_has_name_version_and_stage():
    for name in CHECKS.names():
        check = CHECKS.get(name)()
        assert (check.name, check.version >= 1) == (name, True)
        assert check.on in get_args(Stage)


LEAKS = leak_prompts()


def test_the_rule_checks_find_nothing_in_the_labelled_prompts_and_cut_them_where_they_are_cut():
    """They look for names, and no labelled prompt names an object: related knowledge is for the other checks."""
    for p in LEAKS:
        question = p.script_question
        script = script_of(question, Draft(p.steps))
        prompt = cut_script(p.fact, question, script)
        assert prompt is not None and (prompt.text, prompt.separator, prompt.step) == (
            p.prompt,
            p.separator,
            len(p.steps),
        )
        material = CheckInputs(fact=p.fact, question=question, draft=p.steps, script=script, prompt=prompt)
        verdicts = [v for stage in ("question", "draft", "script", "prompt") for v in judge(stage, material)]
        assert {(v.check, v.label) for v in verdicts if v.label != "keep"} == set(), p.key


def test_the_rule_checks_recall_no_related_knowledge():
    """As benchmarks/results/tables/leaks.md has it: nothing flagged, so no precision and a recall of 0."""
    flagged = {}
    for p in LEAKS:
        material = CheckInputs(fact=p.fact, question=p.script_question, prompt=p.script_prompt)
        verdicts = [*judge("question", material), *judge("prompt", material)]
        flagged[p.key] = float(any(v.label == "drop" for v in verdicts))
    score = study("rules", flagged, threshold=0.5).test
    assert (score.hits, score.false_alarms, score.precision.value) == (0, 0, None)
    assert score.recall.value == 0.0 and score.recall.high == pytest.approx(0.0974, abs=5e-4)  # 1 - 0.025 ** (1 / 36)


def test_the_cuts_of_mini_are_those_of_its_frozen_split():
    """Whatever changes in what a mention is: the digest stays, and cutting the scripts again gives the same prompts."""
    split = small_split()
    assert split.digest.startswith("c2b3824c635c")
    adoption = adopt(SMALL.parent / "source.jsonl", source=split.cases[0].fact.source)
    records = {r.key: r for r in adoption.records if isinstance(r, ScriptPrompt)}
    frozen = [p for c in split.cases for p in (*c.prompts, *(p for n in c.neighbours for p in n.prompts))]
    assert len(frozen) == 232 + 174
    assert all(records[p.key] == p for p in frozen)


def test_no_reply_is_unscored_never_dropped(fact):
    (verdict,) = judge("reply", CheckInputs(fact=fact, failure="refused: no"))
    assert (verdict.label, verdict.item_id, verdict.reason) == ("unscored", fact.id, "refused: no")


def test_a_stage_that_has_stored_items_has_a_lookup_and_no_other():
    assert set(_LOOKUPS) == set(get_args(Stage)) - {"reply", "draft"}
