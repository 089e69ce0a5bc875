"""The store as a file, what is refused of it, and reading it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from curation.loaders.importer import import_split
from curation.splits.split_file import make_split
from curation.store import connection, writer
from curation.store.backup import dump, query, rebuild, snapshot
from curation.store.connection import connect, examine, limits
from curation.store.import_sources import ImportSource
from curation.store.store import Store
from schemas.answers import Answer, TargetScore
from schemas.cases import Case
from schemas.core.errors import DataError, StoreError, UserError
from schemas.extras import Extra
from schemas.facts import Fact, Object, Relation
from schemas.lineage import Lineage
from schemas.runs import CaseResult, RunManifest
from tests.support import ROOT
from tests.support.curation.mini_store import forget_origins
from tests.support.curation.rule_records import CHAINS, EDIT, OTHER, P0, said
from tests.support.facts import make_fact, peru_fact
from tests.support.small import small_split


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_absent_store_says_how_to_make_one(path: Path) -> None:
    with pytest.raises(StoreError, match="no such store; make one with: scedit data import"):
        Store.open(path)
    assert not path.exists()


def test_a_locked_store_says_who_holds_it(path: Path) -> None:
    Store.open(path, create=True).close()
    code = (
        "import sys; from curation.store.store import Store; from schemas.core.errors import StoreError\n"
        f"try: Store.open({str(path)!r})\nexcept StoreError as e: print(e)"
    )
    with Store.open(path, write=True):
        process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert f"in use by process {os.getpid()}" in process and "wait until it ends" in process


NO_STORE = "something else, not a store"
SPOILT: list[tuple[bool, str | Callable[[bytes], bytes], str]] = [
    (True, lambda data: data[:4096] + bytes(7904) + data[12000:], "the store cannot be read or written: .*a backup"),
    (True, lambda data: data[:5000], "the store cannot be read or written: .*restore a backup"),
    (False, "CREATE TABLE cats (name VARCHAR)", NO_STORE),
    (False, "CREATE TABLE meta (name VARCHAR, value VARCHAR); CREATE TABLE migrations (name VARCHAR)", NO_STORE),
    (True, "INSERT INTO migrations VALUES ('m999_future', now())", "newer version.*m999_future.*upgrade"),
    (True, lambda _: b"case_id,subject\n" * 50, "not a DuckDB file"),
    (True, lambda _: b"", "not a DuckDB file"),
]
"""Whether there was a store, what was done to the file (to its tables or its bytes), and what is said of it."""


@pytest.mark.parametrize("name", ["facts.csv", "facts.json", "facts.parquet"])
def test_a_file_that_duckdb_reads_beside_a_database_is_no_store_and_a_folder_neither(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("subject,old\nPeru,Lima\n")
    for write in (False, True):
        with pytest.raises(StoreError, match="not a DuckDB file"):
            Store.open(tmp_path / name, write=write)
        with pytest.raises(StoreError, match="this is a folder; name the store's file"):
            Store.open(tmp_path, write=write)
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("sound", "spoil", "message"), SPOILT)
def test_unsound_files_are_refused_and_untouched(
    path: Path, sound: bool, spoil: str | Callable[[bytes], bytes], message: str
) -> None:
    if sound:
        Store.open(path, create=True).close()
    if isinstance(spoil, str):
        with duckdb.connect(str(path)) as db:
            db.execute(spoil)
    else:
        path.write_bytes(spoil(path.read_bytes()))
    before = sha(path)
    for options in ({}, {"write": True}, {"create": True}):
        with pytest.raises(StoreError, match=message):
            Store.open(path, **options)
    assert sha(path) == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def of_0_2_0(path: Path) -> None:
    """A store as version 0.2.0 wrote it: without origins, and with the names of three migrations."""
    with Store.open(path, create=True) as store:
        store.put([peru_fact()])
    forget_origins(path)
    with duckdb.connect(str(path)) as db:
        db.execute("INSERT INTO migrations VALUES ('m001_initial', now()), ('m002_views', now())")


def test_reading_a_store_of_0_2_0_leaves_it_as_it_is_and_its_first_writer_makes_a_backup(path: Path) -> None:
    of_0_2_0(path)
    before = sha(path)
    with Store.open(path) as store:
        assert store.get("f/peru") == peru_fact() and store.stats()["records"]["fact"]["current"] == 1
    assert sha(path) == before and [p.name for p in path.parent.iterdir()] == [path.name]
    with Store.open(path, write=True) as store:
        store.put([peru_fact("f/2")])
    copy = path.with_name("s.before-m004_origins.duckdb")
    assert sha(copy) == before and "m004_origins" in examine(path)
    with Store.open(copy) as store:
        assert store.get("f/peru") == peru_fact()


def test_a_store_of_an_older_version_is_refused(path: Path) -> None:
    of_0_2_0(path)
    with duckdb.connect(str(path)) as db:
        db.execute("DELETE FROM migrations WHERE name = 'm003_plain_tables'")
    for write in (False, True):
        with pytest.raises(StoreError, match="before 0.2.0"):
            Store.open(path, write=write)


def test_a_migration_that_fails_leaves_nothing_of_itself(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def m999_broken(db: connection.Connection) -> None:
        db.execute("CREATE TABLE half (n INTEGER)")
        raise KeyboardInterrupt

    of_0_2_0(path)
    monkeypatch.setattr(connection, "MIGRATIONS", [connection.MIGRATIONS[0], m999_broken])
    with pytest.raises(KeyboardInterrupt):
        Store.open(path, write=True)
    assert "m999_broken" not in examine(path)
    with Store.open(path) as store, pytest.raises(duckdb.CatalogException):
        store._db.execute("SELECT * FROM half")


def test_a_store_killed_before_its_first_table_is_made_anew(path: Path) -> None:
    """A DuckDB file without any table is what such a kill leaves; it is no foreign file."""
    duckdb.connect(str(path)).close()
    for read in (Store.open, examine, lambda path: query(path, "SELECT 1")):
        with pytest.raises(StoreError, match="the store is empty: the command that was making it was stopped"):
            read(path)
    assert examine(path, empty=True) == set()
    with Store.open(path, write=True) as store:
        store.put([peru_fact()])
    assert examine(path) == {m.__name__ for m in connection.MIGRATIONS}


def test_folders_are_made_for_a_new_store_where_they_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="the folder cannot be made") as error:
        Store.open(tmp_path / "file" / "s.duckdb", create=True)
    assert error.value.where == str(tmp_path / "file")
    Store.open(tmp_path / "a" / "b" / "s.duckdb", create=True).close()
    with pytest.raises(StoreError) as error:
        connect(tmp_path / "a" / "b", write=False)
    assert error.value.where == str(tmp_path / "a" / "b"), "a folder is no store"


def test_what_killed_processes_left_is_cleared_by_the_next_writer_only(path: Path) -> None:
    Store.open(path, create=True).close()
    leftover, partial_path = path.with_name("s.duckdb.tmp-1"), path.with_name(f"s.duckdb.tmp-{os.getpid()}")
    other = path.with_name("t.duckdb.tmp-1")
    for folder in (leftover, partial_path, other):
        folder.mkdir()
        (folder / "block").write_text("x")
    Store.open(path).close()
    assert leftover.exists(), "a reader may be one of several"
    Store.open(path, write=True).close()
    assert (leftover.exists(), partial_path.exists(), other.exists()) == (False, True, True)


def test_memory_is_what_the_environment_says(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_STORE_MEMORY", "123MB")
    assert limits(path)["memory_limit"] == "123MB"
    monkeypatch.setenv("SCEDIT_STORE_MEMORY", "")
    assert limits(path)["memory_limit"] == "384MB"
    with connect(path, write=True) as db:
        assert db.execute("SELECT current_setting('memory_limit')") == [("366.2 MiB",)]


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


def test_verdicts_and_lineage(store: Store) -> None:
    item = peru_fact()
    line = Lineage(item_id=item.id, stage="load", made_at="2026-01-01T00:00:00", model="m", request="r", tokens_in=3)
    store.put([item, said(item.id, "leak@1", "keep"), said("other", "leak@1", "drop")], [line])
    store.put([item, said(item.id, "leak@1", "drop")], [line])
    assert [v.label for v in store.verdicts([item.id])] == ["drop"], "judging again replaces"
    assert len(list(store.verdicts())) == 2
    assert store.lineage(item.id) == [line], "the same act told twice is one"
    assert list(store.lineages(stage="load")) == [line]


def test_splits_by_name_and_version(store: Store) -> None:
    one = make_split("s", [Case(key="case/a", fact=peru_fact("a"))], version="1.9.0")
    two = make_split("s", [Case(key="case/b", fact=peru_fact("b"))], version="1.10.0")
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


def test_reading_through_a_closed_store_is_refused_in_a_sentence(store: Store) -> None:
    store.put([peru_fact()])
    cases = store.put_split(make_split("s", [Case(key="case/f/peru", fact=peru_fact())])) and store.open_split("s")
    store.close()
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


def test_reading_what_this_process_writes_is_refused_in_a_sentence(store: Store) -> None:
    with pytest.raises(StoreError, match="s.duckdb: this process has the store open already; leave its 'with'"):
        Store.open(store.path)
    store.close()
    Store.open(store.path).close()


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


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A store with a split, two versions of a fact, a verdict and a result."""
    filled = tmp_path / "s.duckdb"
    import_split(small_split(), filled, origin="mini")
    item = peru_fact(old=Object(text="Lima", aliases=("x",)))
    manifest = RunManifest(
        key="run1", editor="none", editor_version=1, params={}, model="m", model_revision="r", dtype="float32",
        split="s", split_digest="d", regime="single", components={},
    )  # fmt: skip
    answer = Answer(probe="p", targets=(TargetScore(text="a", logprob=-1.5, tokens=2),))
    with Store.open(filled, write=True) as store:
        store.put([item])
        store.put([peru_fact()])
        store.put([said(item.id, "leak@1", "keep")])
        store.put_results(manifest, [CaseResult(run="run1", case="c", answers=(answer,))])
    return filled


def content(filled: Path) -> list[str]:
    with Store.open(filled) as store:
        return sorted(json.dumps(x, sort_keys=True) for x in store.everything())


def test_a_rebuilt_store_is_the_same(filled: Path, tmp_path: Path) -> None:
    with Store.open(filled) as store:
        sizes = dump(store, tmp_path / "d.jsonl")
    assert rebuild(tmp_path / "d.jsonl", tmp_path / "again.duckdb") == sizes
    assert content(tmp_path / "again.duckdb") == content(filled)
    with Store.open(tmp_path / "again.duckdb") as db:
        assert db.get("f/peru") == peru_fact(), "the current version is the current one"
        assert db.split("mini").digest == small_split().digest


def test_a_snapshot_is_made_while_the_writer_works(filled: Path, tmp_path: Path) -> None:
    before = content(filled)
    copy = tmp_path / "live" / "copy.duckdb"
    with Store.open(filled, write=True) as store:
        snapshot(store, copy)
        store.put([peru_fact("f/later")])
        assert content(copy) == before
        locked = subprocess.run(
            [sys.executable, "-c", f"from curation.store.store import Store; Store.open({str(filled)!r})"],
            capture_output=True,
        )
        assert locked.returncode != 0, "copying must not give the writer's lock away"
        snapshot(store, copy)
    assert content(copy) == content(filled) != before


FACT = '"kind":"fact"'


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda lines: [*lines[:-2], lines[-2][:20]], "not JSON"),
        (lambda lines: [*lines[:3], *lines[4:]], "cut off"),
        (lambda lines: [*lines[:3], '{"cat": 1}', *lines[3:]], "line 4: a dump has no 'cat'"),
        (lambda lines: [lines[0], lines[1].replace('"kind":"fact"', '"kind":"fiction"'), *lines[2:]], "line 2: not a"),
        (lambda lines: [line.replace("f/peru", "f/chad") if FACT in line else line for line in lines], "fit its id"),
        (lambda lines: lines[1:], "not a dump"),
        (lambda lines: lines[:-1], "cut off"),
    ],
)
def test_a_spoilt_dump_leaves_no_store(
    filled: Path, tmp_path: Path, spoil: Callable[[list[str]], list[str]], message: str
) -> None:
    with Store.open(filled) as store:
        dump(store, tmp_path / "d.jsonl")
    lines = (tmp_path / "d.jsonl").read_text().splitlines()
    (tmp_path / "d.jsonl").write_text("\n".join(spoil(lines)))
    with pytest.raises(DataError, match=message):
        rebuild(tmp_path / "d.jsonl", tmp_path / "again.duckdb")
    assert sorted(p.name for p in tmp_path.glob("again*")) == []


def test_sql_reads_and_does_not_write(filled: Path, tmp_path: Path) -> None:
    query_result = query(filled, "SELECT subject, old, new FROM facts WHERE key = 'f/peru'")
    assert query_result == (["subject", "old", "new"], [("Peru", "Lima", "Oslo")])
    assert len(query(filled, "SELECT * FROM prompts", limit=3).rows) == 3
    for statement in (
        "DELETE FROM records",
        f"COPY facts TO '{tmp_path}/out.csv'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT nonsense FROM facts",
        "SET enable_external_access = true",
    ):
        with pytest.raises(UserError, match="the query fails"):
            query(filled, statement)
    assert not (tmp_path / "out.csv").exists()


def test_the_page_names_all_columns_of_tables_and_views(filled: Path) -> None:
    page = (ROOT / "docs" / "store-sql.md").read_text(encoding="utf-8")
    fields = {m[1]: m[2].strip().split(", ") for m in re.finditer(r"^\| `(\w+)` \| ([\w, ]+) \|$", page, re.MULTILINE)}
    query_result = query(
        filled, "SELECT table_name, column_name FROM information_schema.columns ORDER BY ordinal_position"
    )
    results: dict[str, list[str]] = {}
    for table, column in query_result.rows:
        results.setdefault(table, []).append(column)
    assert fields == results


DAMAGE = [(12288 + 9000, 64, 3000), (12288 + 200_000, 64, 3000), (-5000, 64, 3000)]
FLIPS = [(place + 9, 1, 1) for place in range(0, 12288, 1024)]  # DuckDB keeps two headers with checksums


@pytest.mark.parametrize(("place", "length", "facts"), DAMAGE + FLIPS)
def test_damage_is_one_sentence_or_none_and_the_file_stays(path: Path, place: int, length: int, facts: int) -> None:
    with Store.open(path, create=True) as store:
        store.put(peru_fact(f"f/{n}") for n in range(facts))
    data = bytearray(path.read_bytes())
    for n in range(length):
        data[place + n] ^= 0xFF
    path.write_bytes(data)
    try:
        with Store.open(path) as store:
            assert len(list(store.all(Fact))) == facts
    except StoreError as error:
        assert str(path) in str(error) and "\n" not in str(error)
    assert path.read_bytes() == bytes(data)


def test_unknown_items_suggest_the_nearest(store: Store) -> None:
    store.put([peru_fact("facts/cf/P36/peru")])
    with pytest.raises(UserError, match="no item 'facts/cf/P36/per'.*did you mean 'facts/cf/P36/peru'"):
        store.get("facts/cf/P36/per")


def test_an_item_by_key_before_an_id_of_the_same_spelling(store: Store) -> None:
    fact = peru_fact()
    copy = peru_fact(fact.id)  # its key is spelt like the other one's id
    store.put([fact, copy])
    assert store.get(fact.id) == copy and store.get("f/peru") == fact
    assert store.get(copy.id[:10]) == copy


def test_a_beginning_that_several_share_or_that_is_too_short(store: Store) -> None:
    facts = [peru_fact(f"f/{n}") for n in range(3000)]
    starts: dict[str, str] = {}
    one, two = next((starts[f.id[:3]], f.id) for f in facts if starts.setdefault(f.id[:3], f.id) != f.id)
    store.put(facts)
    with pytest.raises(UserError, match=f"no item '{one[:5]}'"):
        store.get(one[:5])
    store._db.execute("UPDATE records SET id = ? WHERE id = ?", [one[:6] + two[6:], two])
    with pytest.raises(UserError, match=f"'{one[:6]}' stands for 2 items.*more of the id"):
        store.get(one[:6])


@pytest.mark.parametrize("item", ["", "'; DROP TABLE records; --", "%", "f/per\u0301u", "\x00"])
def test_what_is_no_item_is_refused_in_one_sentence(store: Store, item: str) -> None:
    store.put([peru_fact()])
    with pytest.raises(UserError, match="no item"):
        store.get(item)
    assert [f.key for f in store.all(Fact)] == ["f/peru"]


def test_keys_of_a_kind(store: Store) -> None:
    store.put([EDIT, OTHER, *CHAINS[0]])
    assert [k for k, _ in store.keys("fact", like="MUSEUM")] == [OTHER.key]
    assert store.keys("fact", like="%") == [], "a percent sign is a character, no pattern"
    assert len(store.keys("fact", limit=0)) == 0 and len(store.keys("fact", limit=1)) == 1
    with pytest.raises(UserError, match="unknown kind 'colour'.*fact"):
        store.keys("colour")


def test_verdicts_of_some_items_and_by_whom(store: Store) -> None:
    custom_verdict, other = said(P0.id, "leak@1", "drop"), said("x", "leak@1", "keep", model="m")
    store.put([custom_verdict, other, said("y", "leak@2", "keep")])
    assert list(store.verdicts([P0.id, "absent"])) == [custom_verdict]
    assert list(store.verdicts([])) == []
    assert store.judged("leak@1") == {P0.id}, "one by a model is another"
    assert store.judged("leak@1", model="m") == {"x"}
    assert store.known([custom_verdict.id, "nothing"]) == {custom_verdict.id}


def test_cases_that_are_no_longer_those_frozen(store: Store) -> None:
    split = make_split("s", [Case(key="case/a", fact=peru_fact("a")), Case(key="case/b", fact=peru_fact("b"))])
    store.put_split(split)
    store._db.execute("UPDATE records SET body = replace(body, 'Lima', 'Cusco') WHERE key = 'case/b'")
    stream = store.open_split("s")
    assert len(stream.cases) == 2, "nothing is read before the cases are gone through"
    with pytest.raises(DataError, match="not those that were frozen"):
        list(stream.cases)
    with pytest.raises(DataError, match="not those that were frozen"):
        store.split("s")
    store._db.execute("DELETE FROM records WHERE key = 'case/b'")
    with pytest.raises(DataError, match="not those that were frozen"):
        list(store.open_split("s").cases)


def test_extras_follow_the_facts_of_a_split(store: Store) -> None:
    extra = Extra.holding("a/x", 1, subject_key="a", name="x")
    store.put([extra, Extra.holding("z/x", 1, subject_key="z", name="x")])
    store.put_split(make_split("s", [Case(key="case/a", fact=peru_fact("a"))]))
    assert list(store.open_split("s").extras) == [extra]


LIMA = make_fact(key="f/1")
CASES = [
    ("old", make_fact(old="Cusco", key="f/2"), "'f/1' says 'Lima' for this subject and relation, this one 'Cusco'"),
    ("new", make_fact(new="Rome", key="f/2"), "'f/1' edits this subject and relation to 'Oslo', this one to 'Rome'"),
    ("folded", make_fact("PERU", "lima", "OSLO", key="f/2"), None),
    ("no edit", make_fact(new=None, key="f/2"), None),
    ("temporal", make_fact(old="Cusco", key="f/2", change="temporal"), None),
    ("relation", make_fact(old="Sol", key="f/2", relation=Relation(id="P38")), None),
    ("subject", make_fact("Chile", "Santiago", key="f/2"), None),
]


@pytest.mark.parametrize(("other", "text"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_what_contradicts(tmp_path: Path, other: Fact, text: str | None) -> None:
    def arrive(name: str, fact: Fact) -> list[str]:
        line = Lineage(item_id=fact.id, stage="load", made_at="2026-01-01T00:00:00")
        store.put_source(ImportSource(name, name, name, named=True), [fact], line)
        return [text for _, text in store.arrived_contradictions()]

    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        assert arrive("a", LIMA) == []
        assert arrive("b", other) == ([text] if text else [])
        assert store.contradictions("f/2") == ([text] if text else [])
        assert bool(store.contradictions("f/1")) == bool(text)


@pytest.mark.parametrize("number", range(9))
def test_counts_do_not_depend_on_where_batches_end(store: Store, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Records are merged three at a time, in chunks of two; of contradictory ones the last holds."""
    monkeypatch.setattr(writer, "BATCH", 3)
    monkeypatch.setattr(writer, "CHUNK", 2)
    assert store.put(peru_fact(f"f/{n}") for n in range(number)) == (number, number, 0)
    assert store.put(peru_fact(f"f/{n}", old=Object(text="Cusco")) for n in range(number)) == (number,) * 3
    assert [f.old.text for f in store.all(Fact)] == ["Cusco"] * number
    assert store.stats()["records"] == ({"fact": {"current": number, "versions": 2 * number}} if number else {})
    store.put(peru_fact("f/x", old=Object(text=text)) for text in [*"aaaaaa", *"cbcbcb", *"aaaaaa", "b"])
    assert [f.old.text for f in store.all(Fact)] == ["Cusco"] * number + ["b"]


def test_odd_text_comes_back(store: Store) -> None:
    odd = ("\x00", "\u2028", "Zu\u0308rich", "\U0001f600", "\\ud800", "NaN", "'\"", "\ufffe")
    facts = [peru_fact(f"f/{n}", paraphrases=(f"a{text}b",)) for n, text in enumerate(odd)]
    store.put(facts)
    assert list(store.all(Fact)) == facts


def test_a_reader_left_in_the_middle_does_not_stop_a_writer(store: Store) -> None:
    store.put(peru_fact(f"f/{n}") for n in range(5))
    assert next(store._db.stream("SELECT key FROM records"))
    assert store.put([peru_fact("f/new")]).new == 1


def test_verdicts_beside_a_source_are_of_no_source_and_come_with_it_or_not_at_all(store: Store) -> None:
    act = Lineage(item_id="", stage="adopt", made_at="t")
    verdict = said(EDIT.id, "a@1", "keep")
    store.put_source(ImportSource("s", "f", "d", named=True), [EDIT], act, beside=[verdict])
    assert [line.item_id for line in store.lineages()] == [EDIT.id]
    assert store.sources_of(EDIT.id) == ["s"] and store.sources_of(verdict.id) == []
    other = said(EDIT.id, "b@1", "keep")
    variant = EDIT.model_copy(update={"paraphrases": ("x {}",)})
    with pytest.raises(StoreError, match="would take the place"):
        store.put_source(ImportSource("t", "g", "e", named=True), [variant], act, beside=[other])
    assert [v.by for v in store.verdicts()] == ["a@1"]
