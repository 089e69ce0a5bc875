"""Every requirement of the paper's Figures 6 and 7, and what holds it in each profile of prompts.

A capable model is told (the wording is looked for). The embedded model cannot follow ten rules: there a requirement is
held by what it is shown, by the shape of its reply, or by a check that drops what breaks it.
"""

from __future__ import annotations

import asyncio
import hashlib
import json

import pytest

from construction.authoring.outcome import overall_label
from construction.checks import CheckInputs, judge
from construction.llm.endpoint import Access
from construction.pipeline.job import ConstructionJob
from construction.pipeline.pipeline import Construction, author_of
from construction.pipeline.plan import plan_work
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from construction.scripts.script_step import Draft, ObjectLast
from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.store.store import Store
from schemas.scripts import MAX_STEPS, MAX_WORDS, ScriptQuestion
from tests.support.construction.scripted_client import client_of
from tests.support.facts import make_fact
from tests.support.scripted_server import field

FACT = make_fact("Peru", "Lima", "Oslo", aliases=("City of Kings",), new_aliases=("Christiania",))

# requirement -> words of our own that say it to a capable model
FIGURE_6 = {
    "a script is a step-by-step guide": "step-by-step guide that answers a question",
    "of brief events from step 1 on": "brief events from Step 1 on",
    "with nine steps at most": "nine steps at most",
    "several questions": "Number of questions: {count}",
    "most likely to be influenced": "most likely to",
    "with clearly different scripts": "clearly different",
    "without the old object, the new one, or an alias": "neither the object before the change, nor the object after it",
    "How to forms": '"How to ..."',
    "How does a forms": '"How does a ..."',
    "no impact questions": 'never "How does ... impact ..."',
    "thought over first": "First think",
    "JSON": "JSON only",
    "the fact": "Fact: {statement}",
    "the old object": "Object before the change: {old}",
    "the new object": "Object after the change: {new}",
}
FIGURE_7 = {
    "an ordered guide": "a list of brief events in order",
    "nine steps at most": "nine at most",
    "single concise actions": "one short action",
    "on one line": "on one line",
    "under 8 words": "fewer than 8 words",
    "no explanations, details, notes": "no explanations, details, notes",
    "no further instructions": "further advice",
    "steps only": "Steps only",
    "the old object in it": "stands word for word in at least one step",
    "the questions": "{questions}",
    "the object": "Object: {object}",
    "JSON": "JSON only",
}


def words_of(prompt):
    return " ".join(f"{prompt.system} {prompt.user}".split())


@pytest.mark.parametrize("requirement", FIGURE_6)
def test_a_capable_question_writer_is_told(requirement):
    assert FIGURE_6[requirement] in words_of(FILES.load("questions", "paper"))


@pytest.mark.parametrize("requirement", FIGURE_7)
def test_a_capable_script_writer_is_told(requirement):
    assert FIGURE_7[requirement] in words_of(FILES.load("scripts", "paper"))


def test_the_embedded_question_writer_cannot_give_away_what_it_does_not_see():
    step = QuestionStep(FILES.load("questions", "embedded"))
    for call in step.calls(FACT, count=4, edited=True):
        content = step.prompt(call)[-1].content
        assert not any(name in content for name in (*FACT.old.names, *FACT.new.names))


BROKEN = {
    "names the old object": "How to reach Lima in Peru?",
    "names an alias of the old object": "How to reach the City of Kings in Peru?",
    "names the new object": "How to fly from Peru to Oslo?",
    "names an alias of the new object": "How to fly from Peru to Christiania?",
    "asks about impact": "How does the capital of Peru impact trade?",
    "asks about influence": "How does Peru influence its neighbours?",
    "is no How question": "What is the capital of Peru?",
    "is no question": "How to visit Peru",
    "leaves the subject out": "How to visit a country?",
}


@pytest.mark.parametrize("wrong", BROKEN)
def test_whoever_wrote_it_a_question_that_breaks_a_rule_is_dropped(wrong):
    question = ScriptQuestion(key="q", fact=FACT.key, text=BROKEN[wrong])
    assert overall_label(judge("question", CheckInputs(fact=FACT, question=question))) == "drop"


@pytest.mark.parametrize(
    "steps", [["Go"] * (MAX_STEPS + 1), [" ".join(["word"] * (MAX_WORDS + 1))]], ids=["ten steps", "eight words"]
)
def test_whoever_wrote_it_a_script_that_breaks_the_format_is_dropped(steps):
    question = ScriptQuestion(key="q", fact=FACT.key, text="How to visit Peru?")
    assert overall_label(judge("draft", CheckInputs(fact=FACT, question=question, draft=Draft(steps)))) == "drop"


def test_the_embedded_reply_cannot_hold_ten_steps():
    schema = ObjectLast.model_json_schema()["properties"]
    assert schema["before"]["maxItems"] + 1 + schema["after"]["maxItems"] <= MAX_STEPS


# How many prompts a case has with the default numbers, where the author makes mistakes as often as real ones do.
PAPER = 4.01
FACTS = [make_fact(f"Land {n}", "Lima", "Oslo") for n in range(20)]
TASKS = ("visit", "map", "phone", "tax", "school", "guide", "post", "hotel", "court", "museum")


def chance(*texts):
    """A number from 0 to 1 that depends on texts alone."""
    return int(hashlib.sha256("|".join(texts).encode()).hexdigest()[:8], 16) / 2**32


def author(leaks, fails, early):
    """Questions that leak, scripts with nothing to cut, scripts cut in step 1, each as often as is said."""

    def answer(request):
        turns = [m.content for m in request.messages if m.role == "user"]
        user = next(t for t in reversed(turns) if field(t, "Question") or field(t, "Subject"))
        if not field(user, "Question"):
            subject = field(user, "Subject")
            themes = TASKS[: int(field(user, "Number of questions"))]
            questions = [
                f"How to {theme} {'Lima' if chance(subject, theme) < leaks else 'a town'} of {subject}?"
                for theme in themes
            ]
            return json.dumps({"why": "as told", "questions": questions})
        fate = chance(user, turns[-1])  # another one where the reason is told
        steps = ["Pack a bag", "Fly to Lima"] if fate > fails + early else ["Pack a bag", "Rest"]
        return json.dumps({"why": "as told", "steps": ["Fly to Lima", "Rest"] if fate < early else steps})

    return answer


def prompts_a_case(path, rates, **numbers):
    """Prompts a case of the split that the default rule makes of what is constructed; cases."""
    job = ConstructionJob(facts="f", store=path, access=Access(model="m"), neighbours=0, **numbers)
    client = client_of(author(*rates))
    with Store.open(path, create=True) as store:
        construction = Construction(store, author_of(job.plan, client), job.plan, origin="here")
        asyncio.run(construction(plan_work(FACTS, FACTS, job.plan)))
        counts = [len(case.prompts) for case in freeze(store, "s", SplitRule()).cases]
    return sum(counts) / len(counts), len(counts)


@pytest.mark.parametrize("rates", [(0.0823, 0.0823, 0.0675), (0.25, 0.25, 0.15)], ids=["as in the paper", "thrice"])
def test_by_default_a_case_has_as_many_prompts_as_the_paper_s(tmp_path, rates):
    mean, cases = prompts_a_case(tmp_path / "s", rates)
    assert cases == len(FACTS) and PAPER <= mean <= 5, mean


def test_with_four_questions_a_fact_it_cannot(tmp_path):
    """Whatever the author writes, so that the test above tests something."""
    assert prompts_a_case(tmp_path / "s", (0.0, 0.0, 0.0), questions=4) == (4.0, len(FACTS))
