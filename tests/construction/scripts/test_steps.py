"""The step that asks for questions."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from construction.checks.prompts import complaint
from construction.llm.prompt_text import tidy
from construction.llm.request_formats import RequestFormat, body_of
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import LIMITED, QuestionStep, ReasonedQuestions, question_key
from construction.scripts.script_step import (
    LEADING,
    Draft,
    NumberedSteps,
    RejectedScript,
    ScriptAsk,
    ScriptList,
    ScriptStep,
    clean_steps,
    object_last,
)
from schemas.facts import Object
from schemas.scripts import words
from tests.support.construction.prompt_questions import QUESTION
from tests.support.facts import make_fact


def test_neighbour_facts_are_asked_about_without_a_new_object():
    step = QuestionStep(FILES.load("questions", "paper"))
    (call,) = step.calls(make_fact(), count=1, edited=False)
    assert "Oslo" not in step.prompt(call)[-1].content


def test_embedded_questions_come_one_a_call_in_different_situations():
    step = QuestionStep(FILES.load("questions", "embedded"))
    calls = step.calls(make_fact(), count=4, edited=True)
    texts = [step.prompt(c)[-1].content for c in calls]
    assert len(set(texts)) == 4 and not any("Lima" in t or "Oslo" in t for t in texts)
    seeds = {step.sample(c, "k", str(c.index), attempt=a).parameters["seed"] for c in calls for a in (0, 1)}
    assert len(seeds) == 8


def test_questions_are_tidied_and_each_kept_once():
    step = QuestionStep(FILES.load("questions", "paper"))
    (call,) = step.calls(make_fact(), count=3, edited=True)
    reply = ReasonedQuestions(
        why="", questions=["How to\n go\x00?", "how to  GO?", "", "How to run?", "How to sit?", "How to sleep?"]
    )
    items = step.parse(call, reply)
    assert [q.text for q in items] == ["How to go?", "How to run?", "How to sit?"]
    assert items[0].key == question_key(make_fact(), "how to go?")
    assert items[0].key.startswith("f/Peru/q-") and len(items[0].key.split("q-")[1]) == 8


def test_the_relation_is_shown():
    step, fact = QuestionStep(FILES.load("questions", "paper")), make_fact()
    text = step.prompt(step.calls(fact, count=4, edited=True)[0])[-1].content
    assert f"Relation: {fact.relation.label or fact.relation.id}" in text
    bare = make_fact().model_copy(update={"relation": make_fact().relation.model_copy(update={"label": "{} is by"})})
    assert "Relation: ... is by\n" in step.prompt(step.calls(bare, count=1, edited=True)[0])[-1].content


def test_a_strict_schema_has_the_thought_first_and_no_default():
    step = QuestionStep(FILES.load("questions", "paper"))
    request = step.sample(step.calls(make_fact(), count=4, edited=True)[0], "k", "0", attempt=0)
    json_schema = body_of("m", request, RequestFormat())["response_format"]["json_schema"]
    assert (
        json_schema["strict"]
        and list(json_schema["schema"]["properties"]) == ["why", "questions"] == json_schema["schema"]["required"]
    )
    assert "default" not in json.dumps(json_schema) and json_schema["schema"]["additionalProperties"] is False


def test_a_thought_may_be_missing_and_is_never_kept():
    step = QuestionStep(FILES.load("questions", "paper"))
    (call,) = step.calls(make_fact(), count=2, edited=True)
    bare = ReasonedQuestions.model_validate_json('{"questions": ["How to go?"]}')
    loud = ReasonedQuestions(why="Oslo " * 500, questions=["How to go?"])
    assert step.parse(call, bare) == step.parse(call, loud)


@pytest.mark.parametrize(
    "bad", ['{"why": "x"}', '{"why": 3, "questions": ["How?"]}', '{"why": "x", "questions": []}', "[]"]
)
def test_a_thought_without_questions_is_refused_for_repair(bad):
    with pytest.raises(ValidationError):
        ReasonedQuestions.model_validate_json(bad)


@pytest.mark.parametrize(("count", "times"), [(1, 1), (8, 1), (LIMITED, 1), (LIMITED + 1, 2), (60, 6)])
def test_the_limit_on_a_reply_grows_with_the_questions(count, times):
    step = QuestionStep(FILES.load("questions", "paper"))
    (call,) = step.calls(make_fact(), count=count, edited=True)
    assert step.sample(call, "k", attempt=0).parameters["max_tokens"] == 400 * times
    free = QuestionStep(FILES.load("questions", "paper").model_copy(update={"parameters": {}}))
    assert "max_tokens" not in free.sample(call, "k", attempt=0).parameters


# The step that asks for a script.
def test_steps_lose_their_labels():
    reply = ScriptList.model_validate(
        {"scripts": [{"n": 1, "steps": ["Step 1: Pack", "step 2 Go\nnow", "", "3 wise men"]}]}
    )
    (draft,) = ScriptStep(FILES.load("scripts", "paper")).parse(
        ScriptAsk(questions=(QUESTION,), old=make_fact().old), reply
    )
    assert draft == Draft(["Pack", "Go now", "3 wise men"])


@pytest.mark.parametrize("bad", [{"steps": []}, {"steps": ["Step 1:"]}, {"steps": ["a"] * 99}, {"steps": ["a" * 999]}])
def test_hopeless_steps_are_refused_for_repair(bad):
    with pytest.raises(ValueError):
        NumberedSteps.model_validate({"n": 1, **bad})


def test_a_second_script_is_asked_for_with_the_first_one_and_the_reason():
    step = ScriptStep(FILES.load("scripts", "paper"))
    ask = ScriptAsk(questions=(QUESTION,), old=make_fact().old, relation="capital")
    first = step.prompt(ask)
    messages = step.prompt(replace(ask, rejected=(RejectedScript(("Go", "{object}"), "it is {question}"),)))
    assert messages[: len(first)] == first and [m.role for m in messages[len(first) :]] == ["assistant", "user"]
    assert json.loads(messages[-2].content) == {"scripts": [{"n": 1, "steps": ["Go", "{object}"]}]}
    assert "it is {question}" in messages[-1].content, "a reason is data"
    assert "Relation: capital" in first[-1].content


def test_a_wording_without_words_for_it_asks_anew():
    step = ScriptStep(FILES.load("scripts", "paper").model_copy(update={"again": None}))
    ask = ScriptAsk(questions=(QUESTION,), old=make_fact().old)
    assert step.prompt(replace(ask, rejected=(RejectedScript(("Go",), "x"),))) == step.prompt(ask)


def test_scripts_of_several_questions_go_to_their_questions():
    """In any order; a question that the reply leaves out, or answers twice, has none."""
    step = ScriptStep(FILES.load("scripts", "paper"))
    ask = ScriptAsk(questions=(QUESTION,) * 4, old=make_fact().old)
    assert [step.prompt(ask)[-1].content.count(f"Question {n}: ") for n in (1, 4, 5)] == [1, 1, 0]
    written = [{"n": n, "steps": ["Step 1: Pack", f"Fly to Lima {n}"]} for n in (2, 1, 4, 4, 9)]
    reply = step.reply.model_validate({"scripts": written})
    assert step.parse(ask, reply) == [Draft(["Pack", "Fly to Lima 1"]), Draft(["Pack", "Fly to Lima 2"]), None, None]


ONE = {
    "1. Pack": "Pack",
    "1) Pack": "Pack",
    "(1) Pack": "Pack",
    "1: Pack": "Pack",
    "- Pack": "Pack",
    "* Pack": "Pack",
    "• Pack": "Pack",
    "– Pack": "Pack",
    "- 1. Pack": "Pack",
    "Step 1: Pack": "Pack",
    "Step 1 - Pack": "Pack",
    "Step 1 – Pack": "Pack",
    "**Step 1:** Pack": "Pack",
    "**Step 1**: Pack": "Pack",
    "### Step 1: Pack": "Pack",
    "1. **Pack**": "Pack",
    "**1.** Pack": "Pack",
    "Fly to **Rome**": "Fly to Rome",
    "Fly to *Rome* now": "Fly to Rome now",
    "Fly to _Rome_": "Fly to Rome",
    "Fly to ***Rome***": "Fly to Rome",
    "Use `PHP`": "Use PHP",
    "Fly to [Rome](https://example.org/a_b)": "Fly to Rome",
    "1.Pack": "Pack",
    "[1] Pack": "Pack",
    "Step 1/4: Pack": "Pack",
    "Step 1 of 4: Pack": "Pack",
    "(Step 1) Pack": "Pack",
    "→ Pack": "Pack",
    "- [ ] Pack": "Pack",
    "<b>Step 1</b>: Pack": "Pack",
    "<li>Pack</li>": "Pack",
    "Fly to <b>Rome</b> now": "Fly to Rome now",
    # these are no labels and no marks
    "I want 1 - 2 boxes": "I want 1 - 2 boxes",
    "5 - 7 boxes are enough": "5 - 7 boxes are enough",
    "First, pack": "First, pack",
    "Next to Rome": "Next to Rome",
    "Step over 1 log": "Step over 1 log",
    "Step one foot forward": "Step one foot forward",
    "Write a < b > c": "Write a < b > c",
    "Ask AT&T; wait": "Ask AT&T; wait",
    "Buy eggs [or two] (big)": "Buy eggs [or two] (big)",
    "1/2 cup of milk": "1/2 cup of milk",
    "A taxi will do": "A taxi will do",
    "I.B.M. will do": "I.B.M. will do",
    "4 boxes are enough": "4 boxes are enough",
    "1984 is a book": "1984 is a book",
    "2.5 litres of milk": "2.5 litres of milk",
    "Watch M*A*S*H": "Watch M*A*S*H",
    "Call snake_case_name": "Call snake_case_name",
    "Compute 2 * 3 * 4": "Compute 2 * 3 * 4",
    "Take a well-known road - alone": "Take a well-known road - alone",
    "Write [sic] there": "Write [sic] there",
}


@pytest.mark.parametrize("step", ONE)
def test_one_step(step):
    assert clean_steps([step]) == (ONE[step],)


def test_numbers_are_labels_where_they_count_or_where_several_steps_have_one():
    assert clean_steps(["3) Pack", "4) Go"]) == ("Pack", "Go")
    assert clean_steps(["Pack", "2. Go"]) == ("Pack", "Go")
    assert clean_steps(["Pack", "1. FC Köln plays", "Go"]) == ("Pack", "1. FC Köln plays", "Go")


def test_a_name_that_begins_like_a_label_stays_whole():
    assert clean_steps(["1. FC Köln plays", "2. Go"], names=("1. FC Köln",)) == ("1. FC Köln plays", "Go")


@given(st.lists(st.text("WY1.)-*_ `#[(", min_size=1, max_size=14).map(tidy).filter(bool), min_size=1, max_size=4))
def test_cleaning_only_takes_away(steps):
    for before, after in zip(steps, clean_steps(steps), strict=True):
        rest = iter(before)
        assert all(c in rest for c in after)
        assert [c for c in after if c.isalpha()] == [c for c in before if c.isalpha()]


@pytest.mark.parametrize(
    ("step", "clean"),
    [
        ("Set a<b and c>d there", "Set a<b and c>d there"),
        ("Pick a day </s> that suits", "Pick a day that suits"),
        ("Type <b>Lima</b> in the box", "Type Lima in the box"),
        ('Open <a href="https://example.org">it</a> now', "Open it now"),
        ("Press <Enter> on the keyboard", "Press <Enter> on the keyboard"),
    ],
)
def test_only_tags_are_tags(step: str, clean: str) -> None:
    assert clean_steps([step]) == (clean,)


# The fixed form: whatever a model fills in, the step ends with the object, in the format of a script.
AROUND = {"before": ["Pack a bag", "Lock the door"], "after": ["Rest there"]}


TO = ("to", "in")


def fits(step: str, old: str, leading: tuple[str, ...] = TO) -> bool:
    try:
        object_last(old, leading).model_validate({**AROUND, "key_step": step})
    except ValidationError:
        return False
    return True


@pytest.mark.parametrize(
    "step", ["Take the train to Oslo", "Write a letter in Oslo", "Look around in Oslo", "Go slowly to Oslo"]
)
def test_a_step_that_leads_to_the_object_fits(step: str) -> None:
    assert fits(step, "Oslo")


@pytest.mark.parametrize(
    "step",
    [
        "Take the train",
        "Oslo",
        "Fly to Oslo today",
        "Visit beautiful Oslo",
        "fly over to Oslo",
        "Fly over to oslo",
        "Fly over to Oslos",
        "1. Fly over to Oslo",
        "**Fly over to Oslo",
        "Walk to Oslo",
        "Fly over to\nOslo",
    ],
)
def test_any_other_step_does_not(step: str) -> None:
    assert not fits(step, "Oslo")


@pytest.mark.parametrize(
    "beginning", ["Send the letter by", "Wait at the", "Send by", "Send the letter o", "Go on on on over"]
)
def test_after_every_word_a_space_may_follow_so_that_none_runs_on(beginning: str) -> None:
    """The form once wanted a longer word before "to": a model that had written "by" could only go on with "bymail"."""
    assert fits(f"{beginning} to Oslo", "Oslo")
    assert fits(f"{beginning} Oslo", "Oslo", ())


@pytest.mark.parametrize("old", ["Oslo", "Petro Poroshenko", "Saint Petersburg in Russia"])
def test_a_word_of_twelve_letters_is_not_cut_in_two(old: str) -> None:
    assert fits(f"Visit headquarters in {old}", old) and not fits(f"Visit {'a' * 17} in {old}", old)


def test_preparing_steps_are_limited_in_words_and_never_end_within_one() -> None:
    """A limit in characters ended them in the middle of a word."""

    def passes(step: str) -> bool:
        try:
            steps = {"before": [step, "Pack a bag"], "after": [step], "key_step": "Fly over to Oslo"}
            object_last("Oslo", TO).model_validate(steps)
        except ValidationError:
            return False
        return True

    for step in ("Write down the names of all pupils", "Ask for 20 of the T-shirts now"):
        parts = step.split()
        assert (
            all(passes(" ".join(parts[:n])) for n in range(2, 8))
            and passes(f"{step} too")
            and not passes(f"{step} today and")
        )
    assert not passes("1. Go") and not passes("Go **now**") and not passes("Go\nnow") and not passes("")


def test_without_a_preposition_any_word_may_lead() -> None:
    assert fits("Watch a famous violinist", "violinist", ())
    assert not fits("Watch a famous violinist", "violinist")


@given(st.text(alphabet="ab.C+*?()[]{}|^$\\/- é'ʻ", min_size=1, max_size=14).map(str.strip).filter(bool))
def test_signs_in_an_object_are_letters_of_it_and_no_pattern(old: str) -> None:
    assert fits(f"Take lessons in {old}", old)
    assert not fits(f"Take lessons in {old}x", old) and not fits("Take lessons in zz", old)


@pytest.mark.parametrize(
    ("old", "leading", "shortest"),
    [
        ("Oslo", TO, "Go over to"),
        ("New York City", TO, "Go over to"),
        ("violin", ("on the", "for the"), "Go over on the"),
        ("Saint Petersburg in Russia", TO, "Go over to"),
        ("Luiz Inácio Lula da Silva", TO, "Write to"),
        ("Luiz Inácio Lula da Silva", ("on the", "for the"), "Write on"),
        ("a b c d e f", TO, "Visit"),
    ],
)
def test_a_step_can_keep_the_format_however_long_the_name(old: str, leading: tuple[str, ...], shortest: str) -> None:
    assert fits(f"{shortest} {old}", old, leading) and words(f"{shortest} {old}") <= 7


@pytest.mark.parametrize("old", ["Oslo", "Blizzard Entertainment", "Saint Petersburg in Russia"])
@pytest.mark.parametrize("leading", [TO, ("on the", "for the"), ()])
def test_words_can_only_run_on_in_a_step_that_the_format_refuses(old: str, leading: tuple[str, ...]) -> None:
    """With seven words at most, a model that had no room for "form" wrote "Fill in the orderform to ..."."""
    end = f"{leading[0]} {old}" if leading else old
    longest = max(n for n in range(12) if fits(f"Go{' on' * n} {end}", old, leading))
    assert complaint((f"Go{' on' * longest} {end}",)) is not None, "no room is left: words may have run on"
    numbers = [n for n in range(longest) if complaint((f"Go{' on' * n} {end}",)) is None]
    assert numbers and all(fits(f"Go{' on' * (n + 1)} {end}", old, leading) for n in numbers)


def test_the_preparing_steps_come_first_and_the_schema_goes_out_with_the_object() -> None:
    step = ScriptStep(FILES.load("scripts", "local"))
    ask = ScriptAsk(questions=(QUESTION,), old=Object(text="C++"), relation_id="P277")
    request = step.sample(ask, "q", attempt=0)
    schema = body_of("m", request, RequestFormat())["response_format"]["json_schema"]["schema"]
    assert list(schema["properties"]) == ["before", "key_step", "after"] == schema["required"]
    assert schema["properties"]["key_step"]["pattern"].endswith(r"){1,6} C\+\+$")
    led = step.sample(ScriptAsk(questions=(QUESTION,), old=Object(text="Lima"), relation_id="P36"), "q", attempt=0)
    assert "(to|in) Lima$" in json.dumps(led.reply.model_json_schema()) and "P277" not in LEADING
    (draft,) = step.parse(ask, request.reply.model_validate({**AROUND, "key_step": "Learn some basic C++"}))
    assert draft == ("Pack a bag", "Lock the door", "Learn some basic C++", "Rest there")


def test_one_object_has_one_reply_type_so_that_journal_keys_hold() -> None:
    assert object_last("Oslo", TO) is object_last("Oslo", TO) is not object_last("Oslo")
