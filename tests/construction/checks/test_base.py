from __future__ import annotations

from typing import get_args

import pytest

from construction.checks import CHECKS, CheckInputs, Stage, judge
from construction.neighbours.same_object import link
from construction.pipeline.adopt import adopt
from construction.scripts.script_step import Draft, script_of
from construction.scripts.truncation import cut_script
from curation.checks.leak_benchmark import leak_prompts, study
from curation.shipped import mini_path, mini_split
from curation.similarity.rouge import rouge1_f
from schemas.facts import Entity, Fact
from schemas.scripts import ScriptPrompt, ScriptQuestion
from schemas.verdicts import verdict_key
from tests.support.facts import make_fact

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
    "another word": ("How to visit Texas like a Peruvian?", US, {}),
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


def test_an_earlier_mention_of_the_old_object_in_the_question_is_a_leak_of_the_prompt(fact):
    question = ScriptQuestion(key="q", fact=fact.key, text="How to leave Lima in Peru?")
    prompt = cut_script(fact, question, script_of(question, Draft(["Pack", "See Lima"])))
    (leak,) = [
        v for v in judge("prompt", CheckInputs(fact=fact, question=question, prompt=prompt)) if v.label == "drop"
    ]
    assert leak.check == "leak_in_prompt" and [s.text for s in leak.spans] == ["Lima"]


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (("a",) * 10, "10 steps"),
        (("one two three four five six seven eight",), "step 1 has 8 words"),
        ((), "no step"),
    ],
)
def test_broken_format_stands_on_the_question(fact, steps, reason):
    question = ScriptQuestion(key="q", fact=fact.key, text="How to visit Peru?")
    (verdict,) = judge("draft", CheckInputs(fact=fact, question=question, draft=steps))
    assert (verdict.label, verdict.item_id) == ("drop", question.id)
    assert reason in verdict.reason


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("How to visit Chile?\nStep 1: Fly to", "keep"),
        ("How to visit Chile?\nStep 1: Leave Peru", "drop"),
        ("How to visit Chile?\nStep 1: Leave Oslo's airport", "drop"),
    ],
)
def test_edit_in_a_neighbour_prompt(fact, text, label):
    other = make_fact("Chile")
    prompt = ScriptPrompt(key="p", fact=other.key, text=text, offset=len(text) + 1, targets=("Lima",))
    record = link(fact, other)
    (verdict,) = judge("neighbour", CheckInputs(fact=other, prompt=prompt, edit=fact, link=record))
    assert (verdict.label, verdict.item_id, verdict.related) == (label, record.id, (prompt.id,))


def test_no_reply_is_unscored_never_dropped(fact):
    (verdict,) = judge("reply", CheckInputs(fact=fact, failure="refused: no"))
    assert (verdict.label, verdict.item_id, verdict.reason) == ("unscored", fact.id, "refused: no")


def test_every_registered_check_has_name_version_and_stage():
    for name in CHECKS.names():
        check = CHECKS.get(name)()
        assert (check.name, check.version >= 1) == (name, True)
        assert check.on in get_args(Stage)


def test_how_like_a_question_is_to_the_earlier_ones(fact):
    texts = ["How to visit Peru?", "How can one cook like in Peru?", "How to visit Peru soon?"]
    asked = [ScriptQuestion(key=f"q{n}", fact=fact.key, text=text) for n, text in enumerate(texts)]
    found = []
    for n, question in enumerate(asked):
        (verdict,) = [
            v
            for v in judge("question", CheckInputs(fact=fact, question=question, questions=tuple(asked[:n])))
            if v.check == "similar_question"
        ]
        found.append((verdict.label, verdict.value, verdict.unit, verdict.related))
        assert verdict.value == pytest.approx(
            max((rouge1_f(question.text, o.text) for o in asked[:n]), default=0.0), abs=1e-6
        )
    assert [f[0] for f in found] == ["keep"] * 3 and {f[2] for f in found} == {"rouge1_f"}
    assert found[0][3] == () and found[2][3] == (asked[0].id,)
    assert found[2][1] == pytest.approx(2 * 4 / 9, abs=1e-6)


@pytest.mark.parametrize(("step", "label", "value"), [(1, "unsure", 1.0), (4, "keep", 4.0), (None, "unscored", None)])
def test_the_step_of_the_cut_is_measured(fact, step, label, value):
    prompt = ScriptPrompt(key="p", fact=fact.key, text="How?\nStep 1: Go", offset=16, step=step, targets=("Lima",))
    (verdict,) = [v for v in judge("prompt", CheckInputs(fact=fact, prompt=prompt)) if v.check == "early_cut"]
    assert (verdict.label, verdict.value) == (label, value)


@pytest.mark.parametrize(
    ("name", "first", "other", "label"),
    [
        ("the same chain", ("A", "B", "2020"), ("B", "C", "2021"), "keep"),
        ("ended first", ("A", "B", "2021-06"), ("B", "C", "2021-05"), "unsure"),
        ("may be in order", ("A", "B", "2021-06"), ("B", "C", "2021"), "keep"),
        ("brought too late", ("B", "C", "2020"), ("A", "B", "2021"), "unsure"),
        ("undone at once", ("A", "B", "2021"), ("B", "A", "2021"), "unsure"),
        ("undone later", ("A", "B", "2021"), ("B", "A", "2022"), "keep"),
        ("nothing to do with it", ("A", "B", "2021"), ("C", "D", "2019"), "keep"),
    ],
)
def test_two_changes_of_one_subject_come_in_order(name, first, other, label):
    made = [
        Fact(
            **{
                **make_fact("Peru", old, new, key=f"f/{n}").model_dump(),
                "change": "temporal",
                "changed_on": on,
            }
        )
        for n, (old, new, on) in enumerate((first, other))
    ]
    (verdict,) = judge("fact", CheckInputs(fact=made[0], facts=(made[1],)))
    assert verdict.label == label, verdict.reason
    assert verdict.related == ((made[1].id,) if label == "unsure" else ())


def test_an_object_in_the_longer_name_of_the_other_one_is_that_one():
    york = make_fact("Acme", "York", "New York")
    question = ScriptQuestion(key="q", fact=york.key, text="How to reach Acme?")
    prompt = cut_script(york, question, script_of(question, Draft(["Leave New York", "Fly to York"])))
    assert prompt is not None and prompt.step == 2
    (leak,) = [
        v
        for v in judge("prompt", CheckInputs(fact=york, question=question, prompt=prompt))
        if v.check == "leak_in_prompt"
    ]
    assert (leak.label, [(s.text, s.what) for s in leak.spans]) == ("drop", [("New York", "new object")])


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
    """The score that docs/leakage.md gives for them: nothing flagged, so no precision and a recall of 0."""
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
    split = mini_split()
    assert split.digest.startswith("c2b3824c635c")
    adopted = adopt(mini_path().parent / "source.jsonl", source=split.cases[0].fact.source)
    again = {r.key: r for r in adopted.records if isinstance(r, ScriptPrompt)}
    frozen = [p for c in split.cases for p in (*c.prompts, *(p for n in c.neighbours for p in n.prompts))]
    assert len(frozen) == 232 + 174
    assert all(again[p.key] == p for p in frozen)
