"""Neighbourhood prompts as neighbours: the right subject, never the edit's own, never one that has the new object."""

from __future__ import annotations

import time

import pytest

from construction.neighbours.own_prompts import PromptTemplates, own_neighbours
from construction.pipeline.plan import ConstructionPlan, plan_work
from curation.loaders import load
from tests.support.facts import make_fact


def speaks(subject, old="French", new=None, *, prompt="The mother tongue of {} is", near=(), relation="P103"):
    return make_fact(subject, old, new, prompt=prompt, relation=relation, neighbour_prompts=near)


TABLE = [
    speaks("Ann Ames", "English"),
    speaks("Bob Bain", "Dutch", prompt="The native language of {} is"),
    speaks("Col Case", "Dutch", prompt="{} speaks the language"),
    speaks("Dora", "Dutch", prompt="The native language of the poet {} is"),
    make_fact("Dan", "Paris", None, prompt="{} is", relation="P19"),
]

SENTENCES = {
    "another template of the relation": ("The native language of Montesquieu is", "Montesquieu"),
    "the gap in front": ("Léon Blum speaks the language", "Léon Blum"),
    "the longer template first": ("The native language of the poet Racine is", "Racine"),
    "a subject with a regular expression in it": ("The mother tongue of A. (B+) [c] is", "A. (B+) [c]"),
    "no template of anybody": ("Montesquieu was fluent in", None),
    "a template that is too short to mean anything": ("Everything is", None),
    "no subject": ("The mother tongue of  is", None),
    "far too long for a name": (f"The mother tongue of {'x ' * 13}is", None),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_subject_of_a_sentence(name):
    text, subject = SENTENCES[name]
    result = PromptTemplates(TABLE).subject_of(text, "P103")
    assert (result[1] if result else None) == subject
    assert result is None or result[0].replace("{}", subject) == text.strip()


def test_relations_that_are_named_by_their_template_look_through_all():
    flat = [
        speaks("Ann", relation="the-mother-tongue-of"),
        speaks("Bob", prompt="The native language of {} is", relation="x"),
    ]
    subject = PromptTemplates(flat).subject_of("The native language of Blum is", "the-mother-tongue-of")
    assert subject == ("The native language of {} is", "Blum")


NEAR = tuple(f"The native language of {name} is" for name in ("Blum", "Racine", "BLUM", "Ed Eve", "Montesquieu"))
EDIT = speaks("Ed Eve", "French", "Dutch", near=NEAR)


def test_each_subject_once_the_edit_s_own_and_those_with_the_new_object_left_out():
    table = [*TABLE, EDIT, speaks("Racine", "Dutch")]
    fact = own_neighbours([EDIT], table, k={EDIT.key: 9})[EDIT.key]
    assert sorted(f.subject.text for f in fact) == ["Blum", "Montesquieu"]
    assert {(f.old.text, f.new, f.change, f.relation.id) for f in fact} == {("French", None, "none", "P103")}
    assert all(f.fact_prompt in NEAR for f in fact)


def test_the_draw_hangs_on_the_edit_alone_and_one_fact_serves_two_edits():
    other = speaks("Flo", "French", "Thai", near=NEAR)
    one = own_neighbours([EDIT], TABLE, k={EDIT.key: 2})[EDIT.key]
    both = own_neighbours([other, EDIT], [*reversed(TABLE), other], k={EDIT.key: 2, other.key: 3})
    assert both[EDIT.key] == one and len(one) == 2
    keys = {f.key: f for f in (*one, *both[other.key])}
    assert len({f.subject.text for f in keys.values()}) == len(keys)


def test_they_fill_up_what_the_table_lacks_and_change_no_draw_that_was_full():
    twin = speaks("Gil", "French")
    plan = ConstructionPlan(neighbours=2)
    lacking = plan_work([EDIT], [EDIT, *TABLE, twin], plan)
    keys = [d.fact.key for d in lacking.drawn[EDIT.key]]
    assert keys[0] == twin.key and len(keys) == 2 and keys[1].startswith("near/")
    assert {d.how for d in lacking.drawn[EDIT.key]} == {"same_object"}
    full = plan_work([EDIT], [EDIT, *TABLE, twin, speaks("Hal", "French")], plan)
    assert not any(d.fact.key.startswith("near/") for d in full.drawn[EDIT.key])
    assert [f.key for f in lacking.others] == sorted(keys)


def test_a_subject_that_the_table_drew_already_is_not_drawn_twice():
    plan = ConstructionPlan(neighbours=3)
    work = plan_work([EDIT], [EDIT, *TABLE, speaks("Blum", "French")], plan)
    subjects = [d.fact.subject.text for d in work.drawn[EDIT.key]]
    assert len(subjects) == len(set(subjects)) == 3 and subjects.count("Blum") == 1


def test_a_temporal_edit_takes_nearest_subjects():
    temporal = EDIT.model_copy(update={"change": "temporal"})
    near = plan_work([temporal], [temporal, *TABLE], ConstructionPlan(neighbours=9)).drawn[EDIT.key]
    assert near and not any(d.fact.key.startswith("near/") for d in near)


def test_most_edits_of_counterfact_have_neighbours(grouped):
    """401 of 564 edits found nobody else in the table with their object."""
    start = time.process_time()
    facts = load(str(grouped)).facts
    edits = [f for f in facts if f.new is not None][:564]
    plain = [f.model_copy(update={"neighbour_prompts": ()}) for f in edits]
    before = plan_work(plain, plain, ConstructionPlan())
    after = plan_work(edits, edits, ConstructionPlan())
    lonely = [sum(not value for value in work.drawn.values()) for work in (before, after)]
    assert lonely[1] < lonely[0] / 2, lonely
    for key, value in before.drawn.items():
        assert [d.fact.key for d in after.drawn[key]][: len(value)] == [d.fact.key for d in value]
    assert time.process_time() - start < 60
