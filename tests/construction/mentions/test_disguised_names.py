"""Look-alike letters, cases of Cyrillic names, "the States"."""

from __future__ import annotations

import pytest

from construction.checks import CheckInputs, judge
from construction.mentions.disguised_names import cases, plain_letters
from construction.mentions.object_mentions import find_object
from schemas.facts import Object
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from tests.support.facts import make_fact

PARIS = "P\u0430ris"  # with a Cyrillic letter


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("Paris", f"Fly to {PARIS}", PARIS),
        ("Москва", "Поехать в Москве", "Москве"),
        ("Россия", "Узнать о России", "России"),
        ("Лондон", "Лететь из Лондона", "Лондона"),
        ("Нижний Новгород", "Жить в Нижнем Новгороде", "Нижнем Новгороде"),
        ("Достоевский", "Читать Достоевского", "Достоевского"),
        ("Олонец", "Ехать до Олонца", "Олонца"),
    ],
)
def test_a_name_in_another_dress_leaks_and_is_no_sure_place_to_cut(name: str, text: str, place: str) -> None:
    (one,) = find_object(text, Object(text=name))
    assert (one.mention.text, one.label, bool(one.why)) == (place, "name", True)
    fact = make_fact("Subject", name, "Quito")
    question = ScriptQuestion(key="q", fact=fact.key, text="How to see the Subject?")
    script = Script(key="s", question="q", steps=("Pack", text))
    inputs = CheckInputs(fact=fact, question=question, script=script)
    assert [v.label for v in judge("script", inputs) if v.check == "no_mention"] == ["unsure"]
    before = f"{question.text}\nStep 1: {text}\nStep 2: Go to"
    prompt = ScriptPrompt(
        key="p",
        fact=fact.key,
        question="q",
        script="s",
        text=before,
        offset=len(before) + 1,
        step=2,
        separator=" ",
        targets=(name, "Quito"),
    )
    inputs = CheckInputs(fact=fact, question=question, script=script, prompt=prompt)
    assert "drop" in [v.label for v in judge("prompt", inputs)]


def test_the_name_of_a_fact_may_have_the_look_alike_letter() -> None:
    assert [m.mention.text for m in find_object("Fly to Paris", Object(text=PARIS))] == ["Paris"]


@pytest.mark.parametrize("text", ["Рим и Милан", "Ωmega", "Fly to Paris", "", "Xорошо"])
def test_what_is_of_one_alphabet_stays_as_it_is(text: str) -> None:
    assert plain_letters(text) == text and len(plain_letters(text + PARIS)) == len(text) + 5


@pytest.mark.parametrize("name", ["Moskva", "Бо", "Сан-Франциско и Лос-Анджелес в Калифорнии", ""])
def test_other_names_have_no_cases(name: str) -> None:
    assert cases(name) == []


def test_words_that_only_begin_alike_are_no_case_of_a_name() -> None:
    assert find_object("Купить москвич", Object(text="Москва")) == ()


@pytest.mark.parametrize(
    ("text", "label"), [("Fly to the States", "name"), ("Fly to the states", "word"), ("Fly to States", None)]
)
def test_the_states_are_the_united_states(text: str, label: str | None) -> None:
    states = Object(text="United States of America")
    assert [one.label for one in find_object(text, states)] == ([label] if label else [])
