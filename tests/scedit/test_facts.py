"""Facts from tables, lists and files: what is read, what is wrong with it, and where."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy
import pandas
import pytest

import scedit
from curation import FormatReader, Loader, Problem, Row
from schemas import Entity, Fact, Object, Record, Relation, Source
from schemas.core.errors import UserError

ROW = {"subject": "Peru", "relation": "capital", "prompt": "The capital of {} is", "old": "Lima", "new": "Oslo"}
SOURCES = {
    "a frame of pandas": lambda rows: pandas.DataFrame(rows),
    "a list": list,
    "a generator": iter,
    "a frame of Arrow": lambda rows: pytest.importorskip("pyarrow").Table.from_pylist(rows),
}


@pytest.mark.parametrize("form", SOURCES)
def test_tables_of_every_form_make_the_same_facts(form: str) -> None:
    rows = [ROW | {"old_aliases": "Ciudad de los Reyes|City of Kings"}, ROW | {"subject": "Chad", "old_aliases": None}]
    facts = scedit.read(SOURCES[form](rows))
    assert [f.id for f in facts] == [f.id for f in scedit.read(rows)] and len(facts) == 2
    assert facts[0].old.aliases == ("Ciudad de los Reyes", "City of Kings") and facts[1].old.aliases == ()
    assert facts.problems.empty


def test_lists_missing_values_and_lines_in_cells() -> None:
    odd = ROW | {"old_aliases": ["a", "b"], "paraphrases": (), "changed_on": math.nan, "language": None}
    fact = scedit.read([odd, ROW | {"subject": "A\nB"}])
    assert fact[0].old.aliases == ("a", "b") and fact[0].change == "counterfactual"
    assert fact[1].subject.text == "A B"


def test_arrays_dates_and_whole_numbers_of_a_frame() -> None:
    rows = [ROW | {"old": 1990, "changed_on": pandas.Timestamp("2021-12-08"), "old_aliases": numpy.array(["a", "b"])}]
    frame = pandas.DataFrame([*rows, ROW | {"subject": "Chad", "old": None}, ROW | {"old_aliases": pandas.NA}])
    assert frame["old"].tolist()[0] == 1990 and str(frame.astype({"old": "object"})["old"][0]) == "1990"
    numbers = frame.iloc[:1].astype({"old": "float64"})  # as a column of years with gaps is
    for table in (frame, numbers):
        fact = scedit.read(table)[0]
        assert (fact.old.text, fact.changed_on, fact.old.aliases) == ("1990", "2021-12-08", ("a", "b"))


def test_a_file_is_read_as_the_commands_read_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    pandas.DataFrame([ROW]).to_csv(path, index=False)
    facts = scedit.read(str(path))
    assert facts.path == str(path) and facts[0].key == "mine/capital/peru"
    assert len(scedit.read("shipped")) > 800 and scedit.read(facts) is facts


def test_problems_name_the_row() -> None:
    problems = scedit.read([ROW, ROW | {"subject": "Chad", "relation": ""}, ROW | {"subject": "Mali", "old": "Mali"}])
    found = problems.problems
    assert list(found.columns) == ["where", "kind", "what"] and list(found["where"]) == ["row 1", "row 2"]
    assert "relation" in found["what"][0] and len(problems) == 2


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ([{k: v for k, v in ROW.items() if k != "new"}], ["the table of facts", "'new' is missing", "add or rename"]),
        ([ROW | {"colour": "red"}], ["unknown column 'colour'", "subject_aliases"]),
        ([["Peru"]], ["a row is a list", "dictionaries"]),
        ([scedit.read([ROW])[0]], ["a row is a Fact", "facts.frame()"]),
        ([], ["there are no rows"]),
        (pandas.DataFrame(columns=list(ROW)), ["there are no rows"]),
        (pandas.DataFrame([["a", "b"]], columns=["old", "old"]), ["two columns have the same name"]),
        (ROW, ["from a dict", "a list of dictionaries"]),
        ([ROW, ROW | {"old": {"text": "Lima"}}], ["row 1, column 'old'", "a dict cannot be read", "a text, a number"]),
        ([ROW | {"old_aliases": {"a"}}], ["column 'old_aliases'", "a set cannot be read"]),
        (7, ["from a int", "a data frame"]),
        ("absent.csv", ["absent.csv", "no such file"]),
    ],
)
def test_what_is_no_table_of_facts_is_refused_in_one_sentence(source: object, words: list[str]) -> None:
    with pytest.raises(UserError) as error:
        scedit.read(source)
    assert all(word in str(error.value) for word in words) and "\n" not in str(error.value)


def test_a_format_is_for_files() -> None:
    with pytest.raises(UserError, match="a format is for a file"):
        scedit.read([ROW], format="csv")


def test_facts_as_a_frame_can_be_read_again() -> None:
    first = scedit.read([ROW | {"old_aliases": ["City of Kings"], "changed_on": "2021", "neighbours": "Bolivia|Chile"}])
    assert len(first[0].neighbour_prompts) == 2
    again = scedit.read(first.frame())
    assert again[0].id == first[0].id


class Updates(FormatReader):
    """A format of one's own: a subject and its capital a line."""

    def make(self, row: Row) -> Iterator[Record | Problem]:
        about, now = row.data["about"], Object(text=row.data["now"])
        yield Fact(
            key=f"updates/{row.number}",
            subject=Entity(text=about),
            relation=Relation(id="capital"),
            prompt="The capital of {} is",
            old=Object(text="Lima"),
            new=now,
            source=Source(name="updates", licence="CC0"),
        )


def test_a_loader_of_ones_own_reads_a_file_and_its_facts_are_constructed(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"about": "Peru", "now": "Oslo"}\n{"now": "Rome"}\n')
    found = scedit.read(path, format=Loader("my_updates", Updates))
    assert [f.subject.text for f in found] == ["Peru"] and "line 2" in found.problems["where"][0]
    path.write_text('{"about": "Peru", "now": "Oslo"}\n')
    facts = scedit.read(path, format=Loader("my_updates", Updates))
    planned = scedit.estimate(facts, "embedded", verify=False, store=tmp_path / "new.duckdb")
    assert planned.facts == 1
    with pytest.raises(UserError, match="a int is no format"):
        scedit.read(path, format=3)
