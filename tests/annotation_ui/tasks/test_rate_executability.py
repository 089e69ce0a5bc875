"""Executability is rated from the script and nothing else."""

from __future__ import annotations

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks.generated_scripts import RateExecutability
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.generated_scripts import GeneratedScript
from schemas.ratings import Rating


def test_executability_sees_the_script_and_nothing_else(store: Store) -> None:
    assert {tuple(i.shown) for i in make_task("rate_executability").items(store)} == {("script",)}


def test_it_needs_no_fact_and_no_question_in_the_store(tmp_path_factory: pytest.TempPathFactory, store: Store) -> None:
    with Store.open(tmp_path_factory.mktemp("x") / "s.duckdb", create=True) as other:
        other.put(list(store.all(GeneratedScript)))
        assert len(list(RateExecutability().items(other))) == 12


def test_an_answer_is_one_rating_and_another_aspect_is_refused(store: Store) -> None:
    task = RateExecutability()
    item = next(iter(task.items(store)))
    (rating,) = task.records(item, {"executability": 2, "comment": " one word "}, person="ann")
    assert isinstance(rating, Rating)
    assert (rating.aspect, rating.value, rating.reason) == ("executability", 2, "one word")
    assert (rating.form, rating.rater, rating.item_id) == ("rate_executability@3", "person:ann", item.id)
    with pytest.raises(DataError, match="unknown field 'coherence'"):
        task.records(item, {"executability": 2, "coherence": 2}, person="ann")
