"""Rating one generated script, and comparing two: blind, and one record an aspect."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.base import RatingTask, TaskItem
from annotation_ui.tasks.generated_scripts import RateExecutability, RateScript, method_of
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from schemas.generated_scripts import GeneratedScript
from schemas.ratings import Rating
from schemas.verdicts import Verdict
from tests.annotation_ui.conftest import TASK, begin, scripts
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


SAID = {"coherence": "first", "consistency": "tie", "completeness": "cannot_judge"}


@pytest.fixture
def three(store: Store) -> Store:
    """A third method beside the two of the store."""
    more = [s for s in scripts(6) if s.editor == "rome"]
    store.put(
        [s.model_copy(update={"key": f"{s.key}/memit", "editor": "memit", "text": f"{s.text} twice"}) for s in more]
    )
    return store


def test_every_two_methods_of_a_question_make_a_pair_with_a_drawn_order(three: Store) -> None:
    items = list(make_task("compare_scripts").items(three))
    assert len(items) == 6 * 3 and len({i.id for i in items}) == 18
    of = Counter(i.stratum for i in items)
    assert of == {"tiny memit | tiny none": 6, "tiny memit | tiny rome": 6, "tiny none | tiny rome": 6}
    by_id = {s.id: s for s in three.all(GeneratedScript)}
    first = [i.stratum.partition(" | ")[0] == method_of(by_id[i.related[0]]) for i in items]
    assert 0 < sum(first) < 18, "either may be A"
    for item in items:
        a, b = (by_id[r] for r in item.related)
        assert (item.shown["first"], item.shown["second"]) == (a.text, b.text)
        assert a.question == b.question and a.case == b.case == item.case
    repeat = [i.related for i in make_task("compare_scripts").items(three)]
    assert repeat == [i.related for i in items], "the same order again"


def test_nothing_shown_tells_the_method_or_the_edit(three: Store) -> None:
    for name, text in (
        ("compare_scripts", {"question", "fact", "new", "old", "first", "second"}),
        ("compare_executability", {"first", "second"}),
    ):
        task = make_task(name)
        for item in task.items(three):
            assert set(item.shown) == text == {s.name for s in task.form.shows}
            assert not any(w in json.dumps(dict(item.shown)) for w in ("memit", "tiny", '"none"'))


def test_refusals_empty_texts_and_other_samples_are_not_compared(store: Store) -> None:
    (one,) = [s for s in scripts(1) if s.editor == "rome"]
    changes: list[dict[str, Any]] = [
        {"editor": "a", "refused": True},
        {"editor": "b", "text": "  "},
        {"editor": "c", "sample": 1},
        {"text": "the same method again"},
    ]
    store.put([one.model_copy(update={"key": f"generated/{n}", **c}) for n, c in enumerate(changes)])
    pairs = [i.stratum for i in make_task("compare_scripts").items(store) if i.case == one.case]
    assert pairs == ["tiny none | tiny rome"] * 2


def test_an_answer_is_kept_whichever_script_stood_first(store: Store) -> None:
    task = make_task("compare_scripts")
    (item, *_) = task.items(store)
    variant = item.model_copy(update={"related": item.related[::-1]})
    one = task.records(item, SAID, person="ann")
    other = task.records(variant, {**SAID, "coherence": "second"}, person="ann")
    assert [r.id for r in one] == [r.id for r in other], "the same preference is the same record"
    first, second, third = one
    assert isinstance(first, Verdict) and isinstance(second, Verdict) and isinstance(third, Verdict)
    assert first.by == "person:ann/compare_scripts_coherence@2" and first.unit == "preference"
    assert first.value == (1.0 if first.item_id == item.related[0] else 0.0)
    assert {first.item_id, *first.related} == set(item.related)
    assert second.value == 0.5
    assert (third.label, third.value) == ("unscored", None)


@pytest.mark.parametrize("value", ["left", "", None, 1, ["first"], {"first": 1}, True, "x" * 10**5])
def test_what_is_no_choice_is_refused(store: Store, value: Any) -> None:
    task = make_task("compare_scripts")
    (item, *_) = task.items(store)
    with pytest.raises(DataError, match="coherence"):
        task.records(item, {**SAID, "coherence": value}, person="ann")


def compared(db: RatingsDB, store: Store, **options: Any) -> None:
    begin(db, store, "pairs", "compare_scripts", "ann", **options)
    for a in db.assignments("pairs", "ann"):
        db.save("pairs", "ann", a.item, SAID, form="compare_scripts@2", seconds=4)


def test_a_round_reaches_the_store_with_the_order_that_was_shown(db: RatingsDB, store: Store) -> None:
    compared(db, store, spans=True)
    import_result = import_campaign(db, store, "pairs")
    assert (import_result.answers, import_result.new, import_result.rejected) == (6, 24, ())
    assert import_campaign(db, store, "pairs").new == 0
    relations = {frozenset(i.related): i.related for i in make_task("compare_scripts").items(store)}
    for verdict in store.all(Verdict):
        if verdict.judged_by is not None:
            (line,) = store.lineage(verdict.id)
            pair = relations[frozenset((verdict.item_id, *verdict.related))]
            assert line.parents == pair, "lineage holds A and B"
            if verdict.check == "compare_scripts_coherence":
                assert verdict.value == (1.0 if verdict.item_id == pair[0] else 0.0)


def test_executability_is_asked_first_where_both_are_of_one_group() -> None:
    assert "compare_executability" in make_task("compare_scripts").after
