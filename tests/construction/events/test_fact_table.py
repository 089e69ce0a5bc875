from __future__ import annotations

from construction.events.fact_table import FactTable, as_object
from schemas.facts import Entity, Object
from tests.support.construction.event_templates import table
from tests.support.facts import make_fact


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
