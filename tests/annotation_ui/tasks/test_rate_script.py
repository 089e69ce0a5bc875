"""Coherence, Consistency, Completeness: one new fact a case, and the object that counts for each script."""

from __future__ import annotations

import json

import pytest

from annotation_ui.tasks.generated_scripts import RateScript
from curation.shipped import mini_split
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.generated_scripts import GeneratedScript

TASK = RateScript()


def test_the_scripts_of_a_case_stand_beside_the_same_fact_and_differ_in_what_counts(store: Store) -> None:
    generated = {g.id: g for g in store.all(GeneratedScript)}
    facts = {c.fact.key: c.fact for c in mini_split().cases}
    views: dict[str, set[str]] = {}
    for item in TASK.items(store):
        script = generated[item.id]
        fact = facts[script.fact]
        assert fact.new is not None
        assert item.shown["counts"] == (fact.new.text if script.edited else fact.old.text)
        assert item.case == script.case
        same = {k: v for k, v in item.shown.items() if k in ("fact", "new", "old", "question")}
        views.setdefault(item.case, set()).add(json.dumps(same))
    assert len(views) == 6 and all(len(texts) == 1 for texts in views.values())


def test_a_rating_of_one_aspect_alone_is_refused(store: Store) -> None:
    item = next(iter(TASK.items(store)))
    with pytest.raises(DataError) as error:
        TASK.records(item, {"coherence": 5}, person="ann")
    assert error.value.what == "'consistency' has no answer (and 1 more faults)"
