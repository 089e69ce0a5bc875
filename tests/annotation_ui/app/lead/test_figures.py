"""The quick figures: those of the plain computation, computed once for every state of the answers."""

from __future__ import annotations

import pytest

from annotation_ui.app.lead.progress import quick_figures, slow_figures
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.conftest import work


def test_a_change_of_the_answers_is_seen_at_once(db: RatingsDB, store: Store) -> None:
    pilot(db, store, "ann", "bob")
    work(db, "pilot", "ann", 3)
    assert quick_figures(db, "pilot") == quick_figures(db, "pilot")
    work(db, "pilot", "bob", 3)
    assert sum(s.done for s in quick_figures(db, "pilot").progress) == 6


def test_files_of_one_name_are_told_apart(
    db: RatingsDB, store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pilot(db, store, "ann")
    work(db, "pilot", "ann", 2)
    assert len(quick_figures(db, "pilot").answers) == 2
    with RatingsDB(tmp_path_factory.mktemp("other") / db.path.name, create=True) as other:
        pilot(other, store, "ann")
        assert quick_figures(other, "pilot").answers == []


def test_the_slow_figures_are_computed_once_for_a_state_of_the_answers(
    db: RatingsDB, store: Store, figures: list[str]
) -> None:
    pilot(db, store, "ann", "bob")
    for person in ("ann", "bob"):
        work(db, "pilot", person)
    first = [slow_figures(db, "pilot", None) for _ in range(3)]
    assert figures == ["pilot"] and first[0] == first[2]
    (answer, *_) = db.current_answers("pilot")
    db.save("pilot", answer.person, answer.item, {**(answer.answers or {}), "coherence": 7}, form=answer.form)
    slow_figures(db, "pilot", None)
    assert figures == ["pilot", "pilot"]
