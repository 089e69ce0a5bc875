"""The quick figures: those of the plain computation, computed once for every state of the answers."""

from __future__ import annotations

import pytest

from annotation_ui.agreement.overview import answers_digest
from annotation_ui.agreement.overview_cache import OverviewCache
from annotation_ui.app.lead import figures as lead_figures
from annotation_ui.app.lead.figures import compute_quick_figures, held_overview, quick_figures
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.conftest import work


def test_a_second_look_computes_nothing_and_a_change_computes_anew(
    db: RatingsDB, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilot(db, store, "ann", "bob")
    work(db, "pilot", "ann", 3)
    runs = []
    plain = compute_quick_figures
    monkeypatch.setattr(lead_figures, "compute_quick_figures", lambda *a: runs.append(a) or plain(*a))
    first = quick_figures(db, "pilot")
    assert quick_figures(db, "pilot") is first and len(runs) == 1
    work(db, "pilot", "bob", 3)
    second = quick_figures(db, "pilot")
    assert second == plain(db, "pilot", answers_digest(db, "pilot")) and len(runs) == 2


def test_files_of_one_name_are_told_apart(
    db: RatingsDB, store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pilot(db, store, "ann")
    work(db, "pilot", "ann", 2)
    assert len(quick_figures(db, "pilot").answers) == 2
    with RatingsDB(tmp_path_factory.mktemp("other") / db.path.name, create=True) as other:
        pilot(other, store, "ann")
        assert quick_figures(other, "pilot").answers == []


def test_the_slow_figures_come_from_the_shared_cache(db: RatingsDB, store: Store, figures: OverviewCache) -> None:
    pilot(db, store, "ann", "bob")
    for person in ("ann", "bob"):
        work(db, "pilot", person)
    overviews = [held_overview(db, "pilot", None) for _ in range(3)]
    assert all(h.current and h.overview is overviews[0].overview for h in overviews) and figures.computed == 1
