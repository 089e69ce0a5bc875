"""Verdicts that say which generation counts: over a store, for outcomes that are whole, empty or unfinished."""

from __future__ import annotations

import pytest

from construction.authoring.outcome import FactOutcome, QuestionOutcome, ScriptOutcome, Slot
from construction.authoring.replacement import generation_verdicts, is_replaced
from curation.store.store import Store
from schemas.lineage import Lineage
from schemas.scripts import Script, ScriptQuestion
from tests.support.facts import make_fact

FACT, OTHER = make_fact(), make_fact("Japan", "Tokyo", "Rome")


def written(name, fact=FACT):
    """A question and its script."""
    question = ScriptQuestion(key=f"{fact.key}/q-{name}", fact=fact.key, text=f"How to see {fact.subject.text} {name}?")
    script = Script(key=f"{question.key}/s", question=question.key, steps=("Pack", f"Fly to {fact.old.text}"))
    return question, script


def outcome(name, fact=FACT, **more):
    question, script = written(name, fact)
    return FactOutcome(fact, (Slot([QuestionOutcome(question, scripts=[ScriptOutcome(script, None)])]),), **more)


@pytest.fixture
def store(tmp_path):
    """Two facts with an earlier generation each, and a question by hand."""
    with Store.open(tmp_path / "s.duckdb", create=True) as db:
        lines = []
        items = [FACT, OTHER]
        for fact in (FACT, OTHER):
            for item in written("old", fact):
                items.append(item)
                lines.append(
                    Lineage(item_id=item.id, stage="x", made_at="2026-11-21T00:00:00+00:00", model="m", request="llm/1")
                )
        db.put([*items, written("hand")[0]], lines)
        yield db


def told(store, made, choice):
    names = {}
    for fact in (FACT, OTHER):
        for name in ("old", "new", "hand"):
            question, script = written(name, fact)
            names |= {question.id: (fact.key, name, "question"), script.id: (fact.key, name, "script")}
    return {names[v.item_id]: v.label for v in generation_verdicts(store, made, choice)}


def test_a_new_generation_replaces_questions_and_scripts_of_its_fact_alone(store):
    summary = told(store, [outcome("new")], "replace")
    assert summary == {("f/Peru", "old", "question"): "drop", ("f/Peru", "old", "script"): "drop"}
    assert told(store, [outcome("new")], "add") == {}


@pytest.mark.parametrize(
    "made",
    [outcome("new", unfinished="busy"), FactOutcome(FACT, (Slot(failure="refused: no"),)), FactOutcome(FACT)],
    ids=["unfinished", "nothing usable", "nothing at all"],
)
def test_what_came_to_nothing_replaces_nothing(store, made):
    assert told(store, [made], "replace") == {}


def test_the_same_again_replaces_nothing_of_itself(store):
    assert told(store, [outcome("old")], "replace") == {}


@pytest.mark.parametrize("choice", ["add", "replace"])
def test_what_was_replaced_and_is_made_again_counts_again(store, choice):
    store.put([outcome("new").slots[0].questions[0].question])
    store.put(list(generation_verdicts(store, [outcome("new")], "replace")))
    assert sum(is_replaced(v) for v in store.verdicts()) == 2
    store.put(list(generation_verdicts(store, [outcome("old")], choice)))
    assert not any(is_replaced(v) for v in store.verdicts())


def test_of_no_facts_there_is_nothing_to_say(store):
    assert told(store, [], "replace") == {}
