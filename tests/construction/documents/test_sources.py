from __future__ import annotations

import json
from pathlib import Path

import pytest

from construction.documents.sources import read_documents, sentences
from schemas.core.errors import DataError, UserError
from tests.support.documents.records import document_records

TEXT = """A Heading

Dr. Ada Brun came to Rovo in 1931. She stayed! "It was quiet," she said. In Oct. 1940 she left.
An unfinished line

The Orla Bridge opened in 1931.
"""


def write(folder: Path, name: str, *lines: object) -> Path:
    path = folder / name
    path.write_text("".join(f"{x if isinstance(x, str) else json.dumps(x)}\n" for x in lines), encoding="utf-8")
    return path


def test_lines_of_texts_with_what_stands_beside_them(tmp_path: Path) -> None:
    told = {
        "text": " One. ",
        "key": "mine/1",
        "entity": "E",
        "title": "T",
        "date": "2020",
        "source": "S",
        "licence": "L",
    }
    read = read_documents(write(tmp_path, "d.jsonl", told, {"text": "Two."}, {"text": "One."}), licence="CC0")
    first, second = read.documents
    assert (first.key, first.text, first.entity, first.title) == ("mine/1", "One.", "E", "T")
    assert (first.source.name, first.source.licence, first.source.date) == ("S", "L", "2020")
    assert (second.source.name, second.source.licence, read.repeated) == ("d.jsonl", "CC0", 1)
    assert second.key.startswith("d/")


def test_a_table_says_the_same(tmp_path: Path) -> None:
    table = read_documents(write(tmp_path, "d.csv", "text,entity", '"One, two.",E', "Three.,")).documents
    lines = read_documents(
        write(tmp_path, "d.jsonl", {"text": "One, two.", "entity": "E"}, {"text": "Three."})
    ).documents
    assert [(d.key, d.text, d.entity) for d in table] == [(d.key, d.text, d.entity) for d in lines]


def test_whole_records_and_published_files(tmp_path: Path, shared: Path) -> None:
    records = [{"kind": r.kind, **r.model_dump(mode="json")} for r in document_records()]
    assert [d.key for d in read_documents(write(tmp_path, "r.jsonl", *records)).documents] == ["d/bridge", "d/tram"]
    published = read_documents(shared / "data/mulfe/mulfe_test.json")
    assert len(published.documents) + published.repeated == 228


def test_a_text_is_cut_within_its_paragraphs(tmp_path: Path) -> None:
    read = read_documents(write(tmp_path, "news.txt", TEXT), cut=2)
    assert [d.text for d in read.documents] == [
        "Dr. Ada Brun came to Rovo in 1931. She stayed!",
        '"It was quiet," she said. In Oct. 1940 she left.',
        "The Orla Bridge opened in 1931.",
    ]
    assert [d.source.item for d in read.documents] == ["paragraph 2", "paragraph 2, 3 sentences on", "paragraph 3"]


def test_longer_documents_are_cut_on_request_and_shorter_stay(tmp_path: Path) -> None:
    path = write(tmp_path, "d.jsonl", {"text": "A b. C d. E f.", "key": "k"}, {"text": "A b.", "key": "short"})
    assert [(d.key, d.text) for d in read_documents(path, cut=2).documents] == [
        ("k/part1", "A b. C d."), ("k/part2", "E f."), ("short", "A b."),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "count"),
    [("He met J. R. Ode. She left.", 2), ("It rose by 3.5 m. That was all.", 2), ("No end", 1), ("", 0)],
)
def test_sentences(text: str, count: int) -> None:
    assert len(sentences(text)) == count


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    [
        ("a.txt", ["Text."], "a plain text is no list of documents; have it cut: --cut 2"),
        ("a.jsonl", [{"text": "  "}], "line 1: the document is empty; every document needs a text"),
        ("a.jsonl", [{"text": "One."}, {"entity": "E"}], "line 2: the document is empty"),
        ("a.jsonl", [{"text": "One."}, {"text": 42}], "line 2: the field 'text' must be a text, it is a number"),
        ("a.jsonl", [{"text": ["One."]}], "line 1: the field 'text' must be a text, it is a list"),
        ("a.jsonl", [{"text": False}], "line 1: the field 'text' must be a text, it is true or false"),
        ("a.jsonl", [{"text": None}], "line 1: the document is empty"),
        ("a.jsonl", [{"text": "One.", "body": "x"}], "unknown field 'body'; allowed: key, text, entity"),
        ("a.jsonl", [{"text": "A.", "key": "k"}, {"text": "B.", "key": "k"}], "'k' stands at two different texts"),
        ("a.jsonl", [{"text": "A.", "key": "k k"}], "key"),
        ("a.jsonl", ["no JSON"], "line 1"),
        ("a.jsonl", [{"subject": "F", "relation": "r", "prompt": "{} is", "old": "x"}], "unknown field 'old'"),
        ("a.csv", ["text,entity", ",E"], "the document is empty"),
        ("a.csv", ["text,entity"], "a.csv: the table has no row below its header; give it a column 'text'"),
        ("a.csv", ["Peru is a country."], "a.csv: the table has no row below its header; give it a column 'text'"),
        ("a.tsv", ["A sentence.", "Another."], "unknown field 'A sentence.'; allowed: key, text, entity"),
    ],
)  # fmt: skip
def test_a_bad_file_is_one_sentence(tmp_path: Path, name: str, lines: list[object], said: str) -> None:
    with pytest.raises(DataError) as error:
        read_documents(write(tmp_path, name, *lines))
    assert said in str(error.value) and "\n" not in str(error.value)


def test_no_file_and_a_file_of_other_records(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no such file"):
        read_documents(tmp_path / "none.jsonl")
    probes = [{"kind": r.kind, **r.model_dump(mode="json")} for r in document_records() if r.kind != "document"]
    with pytest.raises(DataError, match="no usable fact|holds no document"):
        read_documents(write(tmp_path, "r.jsonl", *probes))
    with pytest.raises(DataError, match="holds no document"):
        read_documents(write(tmp_path, "h.txt", "A Heading"), cut=2)
