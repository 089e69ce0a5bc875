from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from construction.events.draw import FilledTemplate, draw_events
from construction.events.questions import AskedFacts, ask_facts
from construction.events.templates import FactTable, TemplateFile, as_object
from schemas.cases import EventCase
from schemas.core.errors import UserError
from schemas.facts import Entity, Object, Source
from tests.support.construction.event_templates import TRANSFER, data, read, table, templates
from tests.support.facts import make_fact

ANY = {"feasible": [], "derived": {}, "text": "{A} plays for {B}.", "impacted": [
    {"role": "A", "relation": "P54", "object": "B"}]}  # fmt: skip


def test_every_event_that_can_happen_is_drawn_once() -> None:
    lists = templates()
    draw = draw_events(lists.template[0], lists, table(), count=100)
    assert sorted(e.text for e in draw.events) == sorted(
        f"{a} has left {c} and plays for {b} from now on."
        for a, c in (("Ana Roe", "Alba"), ("Ben Sy", "Brenta"), ("Cleo Tam", "Corvo"))
        for b in ("Alba", "Brenta", "Corvo")
        if b != c
    )
    assert draw.infeasible.keys() == {"B and C are the same"}  # which the rule 'differ' would say, too
    assert draw.drawn == 3000


def test_the_draw_hangs_on_names_and_number_only() -> None:
    lists = templates()
    few = [e.key for e in draw_events(lists.template[0], lists, table(), count=3).events]
    template_file = TemplateFile.model_validate({**data(), "entity": data()["entity"][::-1]})
    assert few == [e.key for e in draw_events(template_file.template[0], template_file, table(), count=3).events]
    assert few == [e.key for e in draw_events(lists.template[0], lists, table(), count=6).events][:3]
    others = {tuple(e.key for e in draw_events(lists.template[0], lists, table(), count=3, number=str(n)).events)
              for n in range(8)}  # fmt: skip
    assert len(others) > 1


@pytest.mark.parametrize(("cap", "share"), [(10_000.0, 900 / 920), (10.0, 1 / 3)])
def test_entities_are_drawn_by_frequency_up_to_the_cap(cap: float, share: float) -> None:
    """The first draw of 400 numbers: 900 of 920, or a third where the cap makes all equal."""
    lists = templates(**ANY)
    first = Counter(
        draw_events(lists.template[0], lists, table(), count=1, cap=cap, number=str(n)).events[0].roles["A"].text
        for n in range(400)
    )
    assert abs(first["Ana Roe"] / 400 - share) < 4 * (share * (1 - share) / 400) ** 0.5


@pytest.mark.parametrize(
    ("more", "omission", "reason"),
    [
        ((("Ana Roe", "P570", "1990"),), None, "A has a 'P570'"),
        ((), ("Ana Roe", "P54"), "no single fact says what C (A.P54) is"),
        ((("Ana Roe", "P54", "Brenta"),), None, "no single fact says what C (A.P54) is"),
        ((), ("Ana Roe", "P641"), "A and B have no 'P641' in common"),
    ],
)
def test_what_cannot_happen_is_left_out_with_its_reason(
    more: tuple[Any, ...], omission: tuple[str, str] | None, reason: str
) -> None:
    lists = templates()
    draw = draw_events(lists.template[0], lists, table(*more, without=omission), count=100)
    assert reason in draw.infeasible
    assert draw.events and not any(e.roles["A"].text == "Ana Roe" for e in draw.events)


def test_the_same_entity_or_what_is_already_so_is_no_event() -> None:
    lists = templates(derived={}, text="{A} joined {B}.", places={"A": "club", "B": "club"}, untouched=[],
                      impacted=[{"role": "A", "relation": "P54", "object": "B"}],
                      feasible=[{"rule": "differ", "role": "A", "relation": "P118", "other": "B"}])  # fmt: skip
    draw = draw_events(lists.template[0], lists, table(("Alba", "P118", "Brenta")), count=100)
    assert draw.infeasible.keys() == {"A and B are the same", "the 'P118' of A is B already"}
    assert {(e.roles["A"].text, e.roles["B"].text) for e in draw.events}.isdisjoint({("Alba", "Brenta")})


def test_the_event_names_its_roles_and_its_template() -> None:
    lists = templates()
    filling = draw_events(lists.template[0], lists, table(), count=1).events[0]
    event = filling.event(Source(name="tests", licence="CC0-1.0"))
    assert [r.role for r in event.roles] == ["Player", "B", "C"] and event.template == "transfer"
    assert event.key.startswith("events/transfer-player/") and event.origin == "template"


def test_a_path_ends_where_the_facts_lead() -> None:
    facts = table(("First League", "P17", "Peru"))
    assert facts.follow(Entity(text="Ana Roe"), ["P54", "P118", "P17"]) == Object(text="Peru")
    assert facts.follow(Entity(text="ANA ROE"), ["P54"]) == Object(text="Alba")
    assert facts.follow(Entity(text="Ana Roe"), []) == Object(text="Ana Roe")


def test_a_step_without_a_fact_or_with_several_leads_nowhere() -> None:
    facts = table(("Ana Roe", "P27", "Chile"))
    assert facts.follow(Entity(text="Ana Roe"), ["P27"]) is None  # two citizenships: no single answer
    assert facts.follow(Entity(text="Nobody"), ["P54"]) is None
    assert facts.follow(Entity(text="Ana Roe"), ["P54", "P999"]) is None
    assert [o.text for o in facts.objects(Entity(text="Ana Roe"), "P27")] == ["Peru", "Chile"]


def test_entities_are_known_by_aliases_and_ids_and_one_object_counts_once() -> None:
    one = make_fact(Entity(text="Alba", aliases=("AFC",), wikidata="Q1"), "First League", None, key="f/1")
    fact = make_fact(Entity(text="AFC"), Object(text="1st", aliases=("first league",)), None, key="f/2")
    facts = FactTable([one, fact])
    assert facts.follow(Entity(text="other words", wikidata="Q1"), ["P36"]) == Object(text="First League")
    assert len(facts.objects(Entity(text="Alba", aliases=("AFC",)), "P36")) == 1


def test_an_edited_fact_counts_with_what_held_before() -> None:
    assert FactTable([make_fact("Peru", "Lima", "Oslo")]).follow(Entity(text="Peru"), ["P36"]) == Object(text="Lima")
    assert as_object(Entity(text="Peru", wikidata="Q419")).wikidata == "Q419"


def test_a_file_is_read(tmp_path: Path) -> None:
    contents = read(tmp_path / "t.toml", data())
    assert [t.name for t in contents.template] == ["transfer"]
    assert [e.name for e in contents.of_type("club")] == ["Alba", "Brenta", "Corvo"]
    assert contents.wording("P54").relation.id == "P54" and contents.wording("P1") is None


def change(part: str, *items: Any) -> dict[str, Any]:
    contents = data()
    return {**contents, part: [*contents[part], *items]}


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (data(text="{A} met {Z}"), r"t.toml: template.0: the place \{Z\} of the template 'transfer' has no type"),
        (data(text=""), "t.toml: template.0.text: must not be empty"),
        (data(places={"A": "player", "B": "castle"}), "there is no entity of the type 'castle'"),
        (data(untouched=[{"role": "A", "relation": "P19"}]), "no question is worded for the relation 'P19'"),
        (change("template", TRANSFER), "the template 'transfer' stands twice"),
        (change("relation", {"id": "P54", "questions": ["Who is {subject}?"]}), "the relation 'P54' stands twice"),
        (change("entity", {"type": "club", "name": "Alba"}), r"the entity 'Alba \(club\)' stands twice"),
        (change("relation", {"id": "P1", "questions": ["Who is it?"]}), "has the place {subject} and no other"),
        (change("relation", {"id": "P1", "questions": ["{subject} or {B}?"]}), "has the place {subject} and no other"),
        (change("relation", {"id": "P1", "questions": []}), "at least 1 item"),
        (
            change("relation", {"id": "P1", "questions": ["Who is {subject}?"], "background": ["Who is {B}?"]}),
            "has the place {subject} and no other",
        ),
        (change("entity", {"type": "club", "name": "Dora", "frequency": 0}), "greater than 0"),
        ({**data(), "template": []}, "at least 1 item"),
        ({**data(), "sauce": 1}, "unknown field"),
    ],
)
def test_a_faulty_file_is_refused_in_one_sentence(tmp_path: Path, contents: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        read(tmp_path / "t.toml", contents)
    assert "\n" not in str(error.value)


def test_a_path_of_which_no_fact_is_known_is_refused(tmp_path: Path) -> None:
    contents = data(impacted=[{"role": "A", "relation": "P118", "object": "B.P118.P17"}])
    with pytest.raises(UserError) as error:
        read(tmp_path / "t.toml", contents)
    assert str(error.value).startswith(f"{tmp_path}/t.toml, template 'transfer': the path 'B.P118.P17' has no fact: ")
    assert "allowed: P118, P27, P54, P641; name a file with such facts: --facts-from FILE" in str(error.value)
    assert read(tmp_path / "t.toml", contents, ("First League", "P17", "Peru")).template


def filled_from(lists: Any) -> FilledTemplate:
    """Ana Roe has left Alba and plays for Brenta."""
    roles = {"A": Entity(text="Ana Roe"), "B": Entity(text="Brenta"), "C": Entity(text="Alba")}
    return FilledTemplate(lists.template[0], roles)


def asked(*more: tuple[str, str, str], untouched: int = 5, without: Any = None, **changes: Any) -> AskedFacts:
    """The questions of "Ana Roe has left Alba and plays for Brenta"."""
    lists = templates(**changes)
    return ask_facts(filled_from(lists), lists, table(*more, without=without), untouched=untouched)


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
    filled = filled_from(lists)
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
    known = table(("Second League", "P27", "Chile"))
    one_step = ask_facts(filled_from(lists), worded(lists, P27="Where is {subject}?"), known)
    assert [q.background_questions for q in one_step.questions] == [()]
    both = worded(lists, P27="Where is {subject}?", P118="Which league is {subject} a club of?")
    (question,) = ask_facts(filled_from(lists), both, known).questions
    asked = [(b.text, b.answer.text) for b in question.background_questions]
    assert asked == [("Which league is Brenta a club of?", "Second League"), ("Where is Second League?", "Chile")]


def test_a_background_question_that_asks_the_question_itself_is_left_out() -> None:
    lists = templates(impacted=[{"role": "B", "relation": "P118", "object": "B.P118"}], untouched=[])
    wording = lists.wording("P118").questions[0]  # type: ignore[union-attr]
    filled = filled_from(lists)
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
    facts = ask_facts(filled_from(same), same, known)
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
    template = filled_from(same)
    facts = ask_facts(template, same, table())
    assert facts.missing["asked in scope, too"] == 1
    event = template.event(Source(name="t", licence="CC0-1.0"))
    assert EventCase(key="case/x", event=event, facts=facts.questions).facts
