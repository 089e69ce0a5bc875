"""Figures are computed once a change, shown at once afterwards, and a failure is said and not repeated."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from annotation_ui.agreement import overview_cache
from annotation_ui.agreement.overview import Overview, answers_digest, campaign_overview
from annotation_ui.agreement.overview_cache import CampaignKey, OverviewCache, compute_apart
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.conftest import work
from tests.support.stats.nearly import nearly

KEY = CampaignKey(Path("r.sqlite"), "pilot")


def figures(digest: str) -> Overview:
    return Overview(digest=digest, made_at="", seconds=0, alphas={}, notes={}, severity={}, stop=(), body=digest)


class Computing:
    """A computing that a test lets go; ``state`` is what it finds when it ends."""

    def __init__(self) -> None:
        self.go, self.state, self.runs = threading.Event(), "one", 0

    def __call__(self, key: CampaignKey) -> Overview:
        self.runs += 1
        assert self.go.wait(30)
        return figures(self.state)


@pytest.fixture(autouse=True)
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview_cache, "REST", 0.0)


def test_visits_of_one_state_share_one_computing() -> None:
    computing = Computing()
    cache = OverviewCache(computing)
    first = cache.held(KEY, "one", patience=0)
    assert first == (None, False, "") and cache.held(KEY, "one", patience=0) == first
    computing.go.set()
    for _ in range(5):
        lock = cache.held(KEY, "one", patience=30)
        assert lock.current and lock.overview == figures("one")
    assert computing.runs == 1


def test_after_a_change_the_earlier_figures_are_shown_at_once_and_the_new_ones_follow() -> None:
    computing = Computing()
    computing.go.set()
    cache = OverviewCache(computing)
    cache.held(KEY, "one", patience=30)
    computing.go.clear()
    computing.state = "two"
    start = time.monotonic()
    lock = cache.held(KEY, "two", patience=30)
    assert time.monotonic() - start < 5, "nobody waits where there is something to show"
    assert lock.overview == figures("one") and not lock.current
    computing.go.set()
    end = time.monotonic() + 30
    while not (lock := cache.held(KEY, "two")).current and time.monotonic() < end:
        time.sleep(0.01)
    assert lock.overview == figures("two") and computing.runs == 2


def test_answers_that_come_in_during_a_computing_are_computed_next() -> None:
    computing = Computing()
    computing.go.set()
    cache = OverviewCache(computing)
    computing.state = "two"
    lock = cache.held(KEY, "one", patience=30)
    end = time.monotonic() + 30
    while not (lock := cache.held(KEY, "two")).current and time.monotonic() < end:
        time.sleep(0.01)
    assert lock.current and lock.overview == figures("two")


def test_between_two_computings_there_is_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview_cache, "REST", 1e9)
    computing = Computing()
    computing.go.set()
    cache = OverviewCache(computing)
    cache.held(KEY, "one", patience=30)
    for n in range(3):
        assert not cache.held(KEY, f"later {n}").current
    time.sleep(0.05)
    assert computing.runs == 1


@pytest.mark.parametrize("error", [UserError("no campaign 'pilot'"), RuntimeError("out of memory")])
def test_a_failure_is_said_and_not_tried_again_before_a_change(error: Exception) -> None:
    runs = []

    def fail(key: CampaignKey) -> Overview:
        runs.append(key)
        if len(runs) == 1:
            raise error
        return figures("two")

    cache = OverviewCache(fail)
    for _ in range(3):
        lock = cache.held(KEY, "one", patience=30)
        assert str(error) in lock.fault and lock.overview is None
    assert len(runs) == 1
    assert cache.held(KEY, "two", patience=30).current


def test_campaigns_have_their_own() -> None:
    cache = OverviewCache(lambda key: figures(key.campaign))
    for name in ("pilot", "second", "pilot"):
        assert cache.held(KEY._replace(campaign=name), name, patience=30).overview == figures(name)


def test_the_process_of_its_own_finds_the_same_figures(db: RatingsDB, store: Store) -> None:
    pilot(db, store, "ann", "bob")
    for person in ("ann", "bob"):
        work(db, "pilot", person)
    overview = compute_apart(CampaignKey(db.path, "pilot"))
    plain = campaign_overview(db, "pilot")
    fields = {"made_at", "seconds"}
    assert overview.model_dump(exclude=fields) == nearly(plain.model_dump(exclude=fields), 1e-12)
    assert overview.digest == answers_digest(db, "pilot")


def test_a_process_that_fails_says_with_what(db: RatingsDB) -> None:
    with pytest.raises(UserError, match="could not be computed.*no campaign 'nowhere'"):
        compute_apart(CampaignKey(db.path, "nowhere"))
