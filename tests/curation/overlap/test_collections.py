"""The two sides of an overlap check, whatever they come from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.loaders.importer import import_split
from curation.overlap.contamination import OwnedText, TextCollection, open_collection, overlap
from curation.shipped import events_split, mini_split
from curation.splits.split_file import write_split
from curation.store.store import Store
from schemas.cases import EventCase
from schemas.core.errors import DataError, StoreError, UserError
from tests.support.curation.rule_records import BESIDE, CHAINS, EDIT, LINK, OTHER, P0, Q0
from tests.support.facts import peru_fact

PERU = peru_fact("a/peru")


def test_sources(tmp_path: Path) -> None:
    split = mini_split()
    write_split(split, tmp_path / "s.jsonl")
    import_split(split, tmp_path / "s.duckdb", origin="mini")
    (tmp_path / "t.txt").write_text("one line\n\nanother\n")
    (tmp_path / "f.jsonl").write_text(PERU.model_dump_json() + "\n")
    rows = {p: open_collection(tmp_path / p) for p in ("s.jsonl", "s.duckdb", "t.txt", "f.jsonl")}
    assert rows["s.jsonl"].owners == open_collection("mini").owners
    assert list(rows["s.jsonl"].texts) == list(open_collection("mini").texts)
    assert len(rows["s.duckdb"].texts) > len(rows["s.jsonl"].texts), "neighbours are in the store too"
    assert len(rows["t.txt"].owners) == 2 and rows["f.jsonl"].facts[0][1] == PERU
    for name in ("absent.txt", "absent.jsonl"):
        with pytest.raises(UserError):
            open_collection(tmp_path / name)


def test_texts_of_a_case_are_its_own_and_only_cloze_prompts_are_marked() -> None:
    (case,) = [c for c in mini_split().cases if c.neighbours][:1]
    collection = TextCollection.from_cases("one", [case])
    cloze = [case.fact.fact_prompt, *case.fact.paraphrases]
    assert [t.text for t in collection.texts if t.cloze] == cloze
    assert [t.text for t in collection.texts if not t.cloze] == [x.text for x in (*case.questions, *case.prompts)]
    assert {t.owner for t in collection.texts} == {case.key} == set(collection.owners)
    assert list(collection.facts) == [(case.key, case.fact)], "neighbours are no training targets"


def test_nothing_is_a_collection_too() -> None:
    for collection in (
        TextCollection.from_cases("x", []),
        TextCollection.from_facts("x", []),
        TextCollection.from_texts("x", ["", " \t", "\n"]),
    ):
        assert (collection.owners, len(collection.facts), len(collection.texts)) == ((), 0, 0)


def test_lines_are_owned_by_their_numbers_with_empty_ones_counted() -> None:
    collection = TextCollection.from_texts("t", ["a\n", "", "a\n"])
    assert list(collection.texts) == [OwnedText("t:1", "a\n"), OwnedText("t:3", "a\n")]


def test_odd_text_comes_back_as_it_was() -> None:
    """Texts lie on the disk as JSON lines: what JSON or a line could break must survive."""
    odd = ["a\u2028b\x85c", '"quoted\\"', "line\nend\r", "\ud800 half a pair", "\x00", "Zürich 東京 \U0001f600"]
    fact = peru_fact("f/odd", paraphrases=tuple(odd[:2]))
    collection = TextCollection.from_facts("x", [fact], texts=[OwnedText("f/odd", text) for text in odd])
    assert [t.text for t in collection.texts] == [fact.fact_prompt, *odd[:2], *odd]
    assert [t.cloze for t in collection.texts] == [True] * 3 + [False] * len(odd)
    assert collection.facts[0] == ("f/odd", fact)


def test_texts_can_be_gone_through_again_and_from_the_end() -> None:
    collection = TextCollection.from_texts("t", (f"line {n}" for n in range(1000)))
    assert collection.texts[999].text == collection.texts[-1].text == "line 999"
    assert list(collection.texts) == list(collection.texts)


def test_facts_are_read_once_from_a_source_that_ends() -> None:
    def once() -> Iterator[object]:
        yield PERU

    collection = TextCollection.from_facts("x", once())  # type: ignore[arg-type]
    assert [t.text for t in collection.texts] == [PERU.fact_prompt, *PERU.paraphrases]


def test_a_store_gives_questions_and_prompts_under_their_fact(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    with Store.open(path, create=True) as store:
        store.put([EDIT, OTHER, LINK, *CHAINS[0], *BESIDE])
        store.put([P0.model_copy(update={"step": 1})])  # only the present version counts
    collection = open_collection(path)
    texts = [t.text for t in collection.texts if t.owner == EDIT.key]
    assert texts == [EDIT.fact_prompt, *EDIT.paraphrases, Q0.text, P0.text]
    assert collection.owners == (OTHER.key, EDIT.key) or collection.owners == (EDIT.key, OTHER.key)


def test_a_file_gives_its_own_facts_and_leaves_bad_records_out(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_text(PERU.model_dump_json() + "\n{broken\n" + peru_fact("b/1", subject="Chile").model_dump_json() + "\n")
    assert open_collection(path).owners == ("a/peru", "b/1")


FAULTS = [
    ("nothing.jsonl", PERU.model_dump_json().replace("Lima", "").encode(), DataError, "no usable fact"),
    ("latin.txt", b"Z\xfcrich\n", UserError, "not UTF-8 text"),
    ("plain.duckdb", b"no database", StoreError, "not a DuckDB file"),
    ("split.jsonl", b'{"split": "s", "digest": "0"}\n', DataError, "not a split file"),
]


@pytest.mark.parametrize(("name", "content", "error", "message"), FAULTS, ids=[f[0] for f in FAULTS])
def test_what_is_no_side(tmp_path: Path, name: str, content: bytes, error: type[UserError], message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=message) as refusal:
        open_collection(tmp_path / name)
    assert name in str(refusal.value)


def test_a_split_that_was_edited_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write_split(mini_split(), path)
    header, first, *rest = path.read_text().splitlines(keepends=True)
    case = json.loads(first)
    case["fact"]["subject"]["text"] += "x"
    path.write_text("".join([header, json.dumps(case) + "\n", *rest]))
    with pytest.raises(DataError, match="not the frozen cases"):
        open_collection(path)


def test_a_split_of_events_is_its_texts(tmp_path: Path) -> None:
    write_split(events_split(), tmp_path / "e.jsonl")
    shipped, collection = open_collection("events"), open_collection(tmp_path / "e.jsonl")
    assert len(collection.owners) == 24 and collection.owners == shipped.owners and not collection.facts
    case = events_split().all_cases[0]
    assert isinstance(case, EventCase)
    texts = [case.event.text, *(q.text for q in (*case.facts, *case.tendencies))]
    assert [t.text for t in collection.texts if t.owner == case.key] == texts and not any(
        t.cloze for t in collection.texts
    )
    shared = {row.name: row.a for row in overlap(shipped, collection).levels}
    assert shared["same_text"] == 24 and shared["same_edit"] == 0
