from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.splits.split_file import make_split
from curation.store.store import Store
from schemas.answers import Answer, TargetScore
from schemas.cases import Case
from schemas.core.errors import StoreError, UserError
from schemas.facts import Fact, Object
from schemas.lineage import Lineage
from schemas.runs import CaseResult, RunManifest
from schemas.verdicts import Verdict, verdict_key
from tests.support.facts import peru_fact


def verdict(item: str, label: str = "keep", by: str = "leak_in_question@1", reason: str = "because") -> Verdict:
    return Verdict(key=verdict_key(item_id=item, by=by), item_id=item, by=by, label=label, reason=reason)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.duckdb"


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_put_get_and_versions(path: Path) -> None:
    first = peru_fact()
    second = peru_fact(old=Object(text="Lima", aliases=("City of Kings",)))
    with Store.open(path, create=True) as store:
        assert store.put([first]) == (1, 1, 0)
        assert store.put([first]) == (1, 0, 0)
        assert store.put([second]) == (1, 1, 1)
        assert store.get("f/peru") == second
        assert store.get(first.id) == first, "the earlier version is kept"
        assert store.put([first]) == (1, 0, 1), "and can come back"
        assert list(store.all(Fact)) == [first]
        assert store.stats()["records"]["fact"] == {"current": 1, "versions": 2}
    with Store.open(path) as db:
        assert db.get(first.id[:8]) == first


def test_verdicts_and_lineage(path: Path) -> None:
    item = peru_fact()
    line = Lineage(item_id=item.id, stage="load", made_at="2026-01-01T00:00:00", model="m", request="r", tokens_in=3)
    with Store.open(path, create=True) as store:
        store.put([item, verdict(item.id), verdict("other", "drop")], [line])
        store.put([item, verdict(item.id, "drop")], [line])
        assert [v.label for v in store.verdicts([item.id])] == ["drop"], "judging again replaces"
        assert len(list(store.verdicts())) == 2
        assert store.lineage(item.id) == [line], "the same act told twice is one"
        assert list(store.lineages(stage="load")) == [line]


def test_splits_by_name_and_version(path: Path) -> None:
    one = make_split("s", [Case(key="case/a", fact=peru_fact("a"))], version="1.9.0")
    two = make_split("s", [Case(key="case/b", fact=peru_fact("b"))], version="1.10.0")
    with Store.open(path, create=True) as store:
        store.put_split(one)
        store.put_split(one)
        store.put_split(two)
        assert store.split("s").digest == two.digest
        assert store.split("s@1.9.0").cases == one.cases
        with pytest.raises(UserError, match="no split 't'.*s@1.10.0, s@1.9.0"):
            store.split("t")
        split = make_split("s", [Case(key="case/a", fact=peru_fact("c"))], version="1.9.0")
        with pytest.raises(StoreError, match="another split is called 's@1.9.0'.*another version"):
            store.put_split(split)


def test_results(path: Path) -> None:
    manifest = RunManifest(
        key="run1", editor="none", editor_version=1, params={}, model="m", model_revision="r", dtype="float32",
        split="s", split_digest="d", regime="single", components={},
    )  # fmt: skip
    answer = Answer(probe="p", targets=(TargetScore(text="a", logprob=-1.5, tokens=2),))
    row = CaseResult(run="run1", case="c", answers=(answer,))
    with Store.open(path, create=True) as store:
        store.put_results(manifest, [row])
        store.put_results(manifest, [row])
        assert list(store.results("run1")) == [row]
        assert store.get("run1") == manifest


def test_reading_store_does_not_write(path: Path) -> None:
    Store.open(path, create=True).close()
    with Store.open(path) as store, pytest.raises(StoreError, match="reading only"):
        store.put([peru_fact()])


def test_reading_through_a_closed_store_is_refused_in_a_sentence(path: Path) -> None:
    with Store.open(path, create=True) as store:
        store.put([peru_fact()])
        cases = store.put_split(make_split("s", [Case(key="case/f/peru", fact=peru_fact())])) and store.open_split("s")
    for reading in (
        lambda: store.get("f/peru"),
        lambda: list(store.all(Fact)),
        store.stats,
        lambda: list(cases.cases),
        lambda: store.put([peru_fact()]),
    ):
        with pytest.raises(StoreError, match="s.duckdb: the store is closed"):
            reading()
    store.close()


@pytest.mark.parametrize("error", [UserError, KeyboardInterrupt])
def test_what_fails_leaves_what_was_put_before_and_nothing_else(path: Path, error: type[BaseException]) -> None:
    def records() -> Iterator[Fact]:
        yield peru_fact()
        raise error("bad")

    with pytest.raises(error), Store.open(path, create=True) as store:
        store.put([peru_fact("f/before")])
        store.put(records())
    with Store.open(path) as store:
        assert [fact.key for fact in store.all(Fact)] == ["f/before"]
