from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from curation.splits.split_file import make_split
from curation.store.store import Store
from schemas.answers import Answer, TargetScore
from schemas.cases import Case
from schemas.core.errors import StoreError, UserError
from schemas.facts import Fact, Object
from schemas.lineage import Lineage
from schemas.runs import CaseResult, RunManifest
from schemas.scripts import ScriptQuestion
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
    with Store.open(path) as again:
        assert again.get(first.id[:8]) == first


def test_within_one_batch_the_last_of_a_key_holds(path: Path) -> None:
    second = peru_fact(old=Object(text="Lima", aliases=("x",)))
    with Store.open(path, create=True) as store:
        store.put([peru_fact(), second])
        assert store.get("f/peru") == second


def test_many_records_and_kinds(path: Path) -> None:
    facts = [peru_fact(f"f/{n:05d}") for n in range(5000)]
    with Store.open(path, create=True) as store:
        store.put(facts + [ScriptQuestion(key=f"{f.key}/q", fact=f.key, text="How?") for f in facts])
        assert [f.key for f in store.all(Fact)] == [f.key for f in facts]
        assert [q.key for q in store.all(ScriptQuestion, parent="f/00007")] == ["f/00007/q"]
        assert store.keys("question", like="f/0001", limit=3)[0][0] == "f/00010/q"


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


def test_nothing_of_a_failed_transaction_counts(path: Path) -> None:
    def stream() -> object:
        for n in range(3000):
            yield peru_fact(f"f/{n}")
        raise RuntimeError("the source broke off")

    with Store.open(path, create=True) as store:
        with pytest.raises(RuntimeError):
            store.put(stream())  # type: ignore[arg-type]
        assert list(store.all(Fact)) == []
        store.put([peru_fact()])
        assert len(list(store.all(Fact))) == 1


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
        changed = make_split("s", [Case(key="case/a", fact=peru_fact("c"))], version="1.9.0")
        with pytest.raises(StoreError, match="another split is called 's@1.9.0'.*another version"):
            store.put_split(changed)


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


def test_absent_store_says_how_to_make_one(path: Path) -> None:
    with pytest.raises(StoreError, match="no such store; make one with: scedit data import"):
        Store.open(path)
    assert not path.exists()


def test_reading_store_does_not_write(path: Path) -> None:
    Store.open(path, create=True).close()
    with Store.open(path) as store, pytest.raises(StoreError, match="reading only"):
        store.put([peru_fact()])


def test_a_locked_store_says_who_holds_it(path: Path) -> None:
    Store.open(path, create=True).close()
    code = (
        "import sys; from curation.store.store import Store; from schemas.core.errors import StoreError\n"
        f"try: Store.open({str(path)!r})\nexcept StoreError as e: print(e)"
    )
    with Store.open(path, write=True):
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    import os

    assert f"in use by process {os.getpid()}" in said and "wait until it ends" in said


def damaged(path: Path) -> None:
    Store.open(path, create=True).close()
    data = bytearray(path.read_bytes())
    data[4096:12000] = b"\0" * (12000 - 4096)
    path.write_bytes(data)


def truncated(path: Path) -> None:
    Store.open(path, create=True).close()
    path.write_bytes(path.read_bytes()[:5000])


def foreign(path: Path) -> None:
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE cats (name VARCHAR)")


def newer(path: Path) -> None:
    Store.open(path, create=True).close()
    with duckdb.connect(str(path)) as db:
        db.execute("INSERT INTO migrations VALUES ('m999_future', now())")


def text(path: Path) -> None:
    path.write_text("case_id,subject\n" * 50)


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (damaged, "damaged and was left untouched"),
        (truncated, "damaged and was left untouched"),
        (foreign, "something else, not a store"),
        (newer, "newer version.*m999_future.*upgrade"),
        (text, "not a DuckDB file"),
        (empty, "not a DuckDB file"),
    ],
)
def test_unsound_files_are_refused_and_untouched(path: Path, make: object, message: str) -> None:
    make(path)  # type: ignore[operator]
    before = sha(path)
    for options in ({}, {"write": True}, {"create": True}):
        with pytest.raises(StoreError, match=message):
            Store.open(path, **options)
    assert sha(path) == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_an_older_store_is_migrated(path: Path) -> None:
    from curation.store import migrations

    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE migrations (name VARCHAR PRIMARY KEY, applied_at TIMESTAMP)")
        db.execute("CREATE TABLE meta (name VARCHAR PRIMARY KEY, value VARCHAR)")
        db.execute("INSERT INTO meta VALUES ('application', ?)", [migrations.APPLICATION])
        migrations.m001_initial(db)
        db.execute("INSERT INTO migrations VALUES ('m001_initial', now())")
    with Store.open(path, write=True) as store:
        store.put([peru_fact()])
    with duckdb.connect(str(path)) as db:
        assert db.execute("SELECT subject, old, new FROM facts").fetchall() == [("Peru", "Lima", "Oslo")]


def test_unknown_items_suggest_the_nearest(path: Path) -> None:
    with Store.open(path, create=True) as store:
        store.put([peru_fact("facts/cf/P36/peru")])
        with pytest.raises(UserError, match="no item 'facts/cf/P36/per'.*did you mean 'facts/cf/P36/peru'"):
            store.get("facts/cf/P36/per")


def test_the_highest_version_is_the_last_one(path: Path) -> None:
    with Store.open(path, create=True) as store:
        for n, version in enumerate(["1.0.0-rc.2", "1.0.0", "1.0.0-rc.10", "0.9.0"]):
            store.put_split(make_split("s", [Case(key=f"case/{n}", fact=peru_fact(f"f/{n}"))], version=version))
        assert store.split("s").version == "1.0.0"
        store.put_split(make_split("s", [Case(key="case/x", fact=peru_fact("f/x"))], version="1.1.0-rc.2"))
        store.put_split(make_split("s", [Case(key="case/y", fact=peru_fact("f/y"))], version="1.1.0-rc.10"))
        assert store.split("s").version == "1.1.0-rc.10"
