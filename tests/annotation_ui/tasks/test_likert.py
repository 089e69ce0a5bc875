"""What the two rating tasks share: who sees what, and one rating an aspect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.generated_scripts import RateExecutability, RateScript
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.generated_scripts import GeneratedScript
from schemas.ratings import Rating
from tests.annotation_ui.conftest import TASK
from tests.support.small import small_split


def test_ratings_show_neither_method_nor_model_nor_tag(store: Store) -> None:
    for item in make_task(TASK).items(store):
        text = json.dumps(dict(item.shown))
        assert not any(word in text for word in ("tiny", "rome", "none", '"pre', '"post'))
        assert item.shown["counts"] in item.shown["script"]  # as the fixture writes them
        new, old = item.shown["new"], item.shown["old"]
        assert item.shown["fact"].endswith(new), "Coherence asks for the new fact, whoever wrote the script"
        assert item.shown["counts"] in (new, old) and (old in item.shown["script"]) != (new in item.shown["script"])


@pytest.mark.parametrize("change", [{"refused": True}, {"text": " \n", "steps": ()}])
@pytest.mark.parametrize("task", [RateExecutability, RateScript])
def test_refusals_and_empty_scripts_are_not_rated(store: Store, change: dict[str, Any], task: type[RatingTask]) -> None:
    script = next(iter(store.all(GeneratedScript)))
    before = [i.id for i in task().items(store)]
    odd = script.model_copy(update={"key": "generated/odd", **change})
    store.put([odd])
    assert [i.id for i in task().items(store)] == before
    assert odd.id not in before


def test_raters_see_what_the_model_wrote_and_earlier_forms_its_parsed_steps(store: Store) -> None:
    script = next(iter(store.all(GeneratedScript)))
    text = "Note: it is in Paris\x1b[2J\n1. Go\n2.\n3. Stay"
    steps = script.model_copy(update={"key": "generated/a", "text": text, "steps": ("Go", "Stay")})
    long = script.model_copy(update={"key": "generated/b", "text": "go " * 9_000, "steps": ()})
    store.put([steps, long])
    views = {i.id: dict(i.shown) for i in make_task("rate_executability").items(store)}
    assert views[steps.id] == {"script": "Note: it is in Paris\\u001b[2J\n1. Go\n2.\n3. Stay"}
    assert views[long.id]["script"].endswith("[the text goes on: 6,000 of 27,000 characters are shown]")


def test_a_script_of_a_fact_that_is_not_edited_or_of_no_question_is_refused_by_name(store: Store) -> None:
    script = next(iter(store.all(GeneratedScript)))
    variant = script.model_copy(update={"key": "generated/crossed", "question": script.fact})
    store.put([variant])
    with pytest.raises(UserError, match="generated/crossed' belongs to no question"):
        list(RateScript().items(store))
    assert variant.id in {i.id for i in RateExecutability().items(store)}, "Executability needs neither"
    store.put([variant.model_copy(update={"question": script.question})])
    fact = next(c.fact for c in small_split().cases if c.fact.key == script.fact)
    store.put([fact.model_copy(update={"new": None, "change": "none"})])
    with pytest.raises(UserError, match="is of a fact that is not edited") as error:
        list(RateScript().items(store))
    assert error.value.where == script.fact


def test_one_rating_an_aspect_each_with_the_comment() -> None:
    item = TaskItem(id="a" * 20, case="c", shown={})
    answers = {"coherence": 1, "consistency": 7, "completeness": 4, "comment": "vague"}
    records = [r for r in RateScript().records(item, answers, person="synthetic-x") if isinstance(r, Rating)]
    assert [(r.aspect, r.value, r.reason) for r in records] == [
        ("coherence", 1, "vague"), ("consistency", 7, "vague"), ("completeness", 4, "vague"),
    ]  # fmt: skip
    assert records[0].key == f"rating/rate_script@4/person:synthetic-x/coherence/{item.id}"
    assert all(r.rated_by.is_program and r.item_id == item.id for r in records)


def test_executability_sees_the_script_and_nothing_else(store: Store) -> None:
    assert {tuple(i.shown) for i in make_task("rate_executability").items(store)} == {("script",)}


def test_it_needs_no_fact_and_no_question_in_the_store(tmp_path_factory: pytest.TempPathFactory, store: Store) -> None:
    with Store.open(tmp_path_factory.mktemp("x") / "s.duckdb", create=True) as other:
        other.put(list(store.all(GeneratedScript)))
        assert len(list(RateExecutability().items(other))) == 12


RATE_SCRIPT = RateScript()


def test_the_scripts_of_a_case_stand_beside_the_same_fact_and_differ_in_what_counts(store: Store) -> None:
    generated = {g.id: g for g in store.all(GeneratedScript)}
    facts = {c.fact.key: c.fact for c in small_split().cases}
    views: dict[str, set[str]] = {}
    for item in RATE_SCRIPT.items(store):
        script = generated[item.id]
        fact = facts[script.fact]
        assert fact.new is not None
        assert item.shown["counts"] == (fact.new.text if script.edited else fact.old.text)
        assert item.case == script.case
        same = {k: v for k, v in item.shown.items() if k in ("fact", "new", "old", "question")}
        views.setdefault(item.case, set()).add(json.dumps(same))
    assert len(views) == 6 and all(len(texts) == 1 for texts in views.values())
