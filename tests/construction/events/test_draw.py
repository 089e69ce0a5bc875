from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from construction.events.draw import draw_events
from construction.events.templates import FactTable, TemplateFile, as_object
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
