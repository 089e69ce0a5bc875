from __future__ import annotations

from typing import Any

import pytest

from construction.events.draw import FilledTemplate
from construction.events.questions import AskedFacts, ask_facts
from schemas.cases import EventCase
from schemas.facts import Entity, Source
from tests.support.construction.event_templates import TRANSFER, table, templates


def asked(*more: tuple[str, str, str], untouched: int = 5, without: Any = None, **changes: Any) -> AskedFacts:
    """The questions of "Ana Roe has left Alba and plays for Brenta"."""
    lists = templates(**changes)
    roles = {"A": Entity(text="Ana Roe"), "B": Entity(text="Brenta"), "C": Entity(text="Alba")}
    return ask_facts(
        FilledTemplate(lists.template[0], roles), lists, table(*more, without=without), untouched=untouched
    )


def test_answers_come_from_roles_paths_and_the_unknown() -> None:
    facts = asked()
    fields = {(q.relation.id, q.scope): (q.answer.text, q.background, q.path) for q in facts.questions}
    assert fields == {
        ("P54", "in"): ("Brenta", False, ()),
        ("P118", "in"): ("Second League", True, ("P118",)),
        ("P1618", "in"): ("unknown", False, ()),
        ("P27", "out"): ("Peru", False, ()),
        ("P118", "out"): ("Second League", False, ()),
    }
    assert facts.missing == {"does not change for certain": 1}
    texts = {q.text for q in facts.questions}
    assert "Which league does Ana Roe play in?" in texts and "Which league does Brenta play in?" in texts


def worded(lists: Any, **background: str) -> Any:
    """The relations with wordings for background questions."""
    relation = [r.model_copy(update={"background": (background[r.id],)}) if r.id in background else r
                for r in lists.relation]  # fmt: skip
    return lists.model_copy(update={"relation": tuple(relation)})


def test_a_path_whose_relations_are_worded_gives_background_questions() -> None:
    lists = worded(templates(), P118="Which league is {subject} a club of?")
    roles = {"A": Entity(text="Ana Roe"), "B": Entity(text="Brenta"), "C": Entity(text="Alba")}
    filled = FilledTemplate(lists.template[0], roles)
    plain = ask_facts(filled, templates(), table())
    facts = ask_facts(filled, lists, table())
    (league,) = [q for q in facts.questions if q.background]
    (asked,) = league.background_questions
    assert (asked.text, asked.answer.text) == ("Which league is Brenta a club of?", "Second League")
    assert [q.key for q in plain.questions] == [q.key for q in facts.questions], "keys and draws are as without"
    assert [q for q in facts.questions if not q.background] == [q for q in plain.questions if not q.background]
    assert ask_facts(filled, worded(templates(), P27="Where is {subject}?"), table()) == plain


def test_every_step_of_a_path_is_asked_for_or_none() -> None:
    impacted = [{"role": "A", "relation": "P27", "object": "B.P118.P27"}]
    lists = templates(impacted=impacted, untouched=[])
    roles = {"A": Entity(text="Ana Roe"), "B": Entity(text="Brenta"), "C": Entity(text="Alba")}
    known = table(("Second League", "P27", "Chile"))
    one_step = ask_facts(FilledTemplate(lists.template[0], roles), worded(lists, P27="Where is {subject}?"), known)
    assert [q.background_questions for q in one_step.questions] == [()]
    both = worded(lists, P27="Where is {subject}?", P118="Which league is {subject} a club of?")
    (question,) = ask_facts(FilledTemplate(lists.template[0], roles), both, known).questions
    asked = [(b.text, b.answer.text) for b in question.background_questions]
    assert asked == [("Which league is Brenta a club of?", "Second League"), ("Where is Second League?", "Chile")]


def test_a_background_question_that_asks_the_question_itself_is_left_out() -> None:
    lists = templates(impacted=[{"role": "B", "relation": "P118", "object": "B.P118"}], untouched=[])
    wording = lists.wording("P118").questions[0]  # type: ignore[union-attr]
    roles = {"A": Entity(text="Ana Roe"), "B": Entity(text="Brenta"), "C": Entity(text="Alba")}
    filled = FilledTemplate(lists.template[0], roles)
    same = worded(lists, P118=wording)
    for question in ask_facts(filled, same, table()).questions:
        assert question.background_questions == ()


def test_a_path_without_a_fact_gives_no_question_and_is_counted() -> None:
    facts = asked(without=("Brenta", "P118"))
    assert facts.missing == {
        "does not change for certain": 1,
        "path without a fact": 1,
        "untouched, with no fact": 1,
    }
    assert {q.relation.id for q in facts.questions} == {"P54", "P1618", "P27"}


def test_what_holds_already_and_what_has_several_objects_gives_no_question() -> None:
    facts = asked(("Ana Roe", "P118", "Second League"), ("Ana Roe", "P27", "Chile"))
    assert facts.missing["already so before the event"] == 1
    assert facts.missing["untouched, with several objects"] == 1
    assert ("P118", "in") not in {(q.relation.id, q.scope) for q in facts.questions}


def test_untouched_relations_are_drawn_up_to_the_number() -> None:
    assert sum(q.scope == "out" for q in asked(untouched=1).questions) == 1
    assert not [q for q in asked(untouched=0).questions if q.scope == "out"]
    assert asked(untouched=1) == asked(untouched=1)


@pytest.mark.parametrize(
    ("id", "worded_like", "lost", "left"),
    [("P118", "P1618", ("P1618", "in"), ("P118", "in")), ("P118", "P27", ("P118", "out"), ("P27", "out"))],
)
def test_of_two_questions_that_are_worded_alike_one_is_asked(
    id: str, worded_like: str, lost: tuple[str, str], left: tuple[str, str]
) -> None:
    """They had one key, so that one took the other's place in the store and both were counted."""
    untouched = [{"role": "A", "relation": "P27"}, {"role": "A", "relation": "P118"}]
    changes = {"untouched": untouched, "impacted": [TRANSFER["impacted"][2]]} if lost[1] == "out" else {}
    lists, known = templates(**changes), table(("Ana Roe", "P118", "First League"))
    wording = {r.id: r.questions for r in lists.relation}
    relation = [r.model_copy(update={"questions": wording[worded_like]}) if r.id == id else r for r in lists.relation]
    same = lists.model_copy(update={"relation": tuple(relation)})
    roles = {"A": Entity(text="Ana Roe"), "B": Entity(text="Brenta"), "C": Entity(text="Alba")}
    facts = ask_facts(FilledTemplate(same.template[0], roles), same, known)
    assert facts.missing["worded as another question"] == 1
    assert len({q.key for q in facts.questions}) == len(facts.questions)
    asked = {(q.relation.id, q.scope) for q in facts.questions}
    assert len(asked & {lost, left}) == 1


def test_no_question_is_in_and_out_of_scope() -> None:
    """Two relations that are worded alike: the one in scope stays."""
    lists = templates()
    relation = [r if r.id != "P27" else r.model_copy(update={"questions": ("Which number does {subject} wear?",)})
                for r in lists.relation]  # fmt: skip
    same = lists.model_copy(update={"relation": tuple(relation)})
    roles = {"A": Entity(text="Ana Roe"), "B": Entity(text="Brenta"), "C": Entity(text="Alba")}
    template = FilledTemplate(same.template[0], roles)
    facts = ask_facts(template, same, table())
    assert facts.missing["asked in scope, too"] == 1
    event = template.event(Source(name="t", licence="CC0-1.0"))
    assert EventCase(key="case/x", event=event, facts=facts.questions).facts
