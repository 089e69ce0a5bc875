"""A loader: rows to records, every fault with its place, keys and contradictions noticed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.loaders.base import (
    FormatReader,
    InvalidRecord,
    Loader,
    LoadResult,
    LocatedRecord,
    NeighbourFact,
    Problem,
    Row,
    RowItem,
)
from curation.loaders.sources import OWN
from schemas.core.errors import DataError
from schemas.extras import Extra
from schemas.facts import Fact, Neighbour, Object
from schemas.scripts import ScriptQuestion
from tests.support.curation.importable_files import write
from tests.support.facts import make_fact, peru_fact


class Capitals(FormatReader):
    """Subject and capital; a row may name a neighbour, a question, or a fault to fail with."""

    upstream = OWN._replace(counts={"capitals.jsonl": 2})

    def make(self, row: Row) -> Iterator[RowItem]:
        data = row.data
        if "fault" in data:
            raise {"type": TypeError, "value": ValueError, "invalid": InvalidRecord, "index": IndexError}[
                data["fault"]
            ]("so")
        if "told" in data:
            yield row.problem("suspect", data["told"])
        change, new = data.get("change", "counterfactual"), data.get("new", "Oslo")
        yield (fact := make_fact(data["subject"], data["old"], new, key=data.get("key"), change=change))
        if "near" in data:
            neighbour = make_fact(data["near"], data.get("near_old", "Lima"), None, key=f"n/{data['near']}")
            yield NeighbourFact(neighbour)
            link = f"{fact.key}~{neighbour.key}"
            yield Neighbour(key=link, edit=fact.key, fact=neighbour.key, how="same_object")
        if "question" in data:
            yield ScriptQuestion(key=f"q/{data['subject']}", fact=f"f/{data['subject']}", text=data["question"])

    def end(self) -> Iterator[RowItem]:
        yield Problem(str(self.path), "left", "the end")


CAPITALS = Loader("capitals", Capitals)
PERU, CHILE = {"subject": "Peru", "old": "Lima"}, {"subject": "Chile", "old": "Santiago"}


def problems(import_result: LoadResult) -> list[tuple[str, str, str]]:
    """(line, kind, text) of what was said, the closing remark aside."""
    complaints = [p for p in import_result.problems if p.what != "the end"]
    return [(p.where.rpartition(" ")[2], p.kind, p.what) for p in complaints]


def test_facts_and_what_stands_beside_them_with_their_places(tmp_path: Path) -> None:
    path = write(tmp_path / "f.jsonl", PERU, {**CHILE, "near": "Bolivia", "question": "How?"})
    import_result = CAPITALS(path)
    assert [f.subject.text for f in import_result.facts] == ["Peru", "Chile"]
    assert [r.key for r in import_result.records] == ["n/Bolivia", "f/Chile~n/Bolivia", "q/Chile"]
    assert import_result.places == {"f/Peru": f"{path}, line 1", "f/Chile": f"{path}, line 2"}
    items = list(CAPITALS.stream(path))
    assert [i.main for i in items if isinstance(i, LocatedRecord)] == [True, True, False, False, False]
    assert [p.what for p in import_result.problems] == ["the end"]


FAULTS = [
    ("a field is missing", {"subject": "Peru"}, ("malformed", "the field 'old' is missing")),
    ("a value cannot be", {**PERU, "old": ""}, ("invalid", "text: must not be empty")),
    ("a reader's own word", {"fault": "invalid"}, ("invalid", "so")),
    ("a wrong type", {"fault": "type"}, ("malformed", "so")),
    ("a wrong value", {"fault": "value"}, ("malformed", "so")),
    ("too short a list", {"fault": "index"}, ("malformed", "so")),
]


@pytest.mark.parametrize(("row", "expected"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_bad_record_is_named_and_the_others_stay(
    tmp_path: Path, row: dict[str, str], expected: tuple[str, str]
) -> None:
    import_result = CAPITALS(write(tmp_path / "f.jsonl", PERU, row, CHILE))
    assert [f.subject.text for f in import_result.facts] == ["Peru", "Chile"]
    ((line, kind, label),) = problems(import_result)
    assert (line, kind) == ("2", expected[0]) and expected[1] in label
    with pytest.raises(DataError, match="line 2.*--skip-bad"):
        import_result.require()
    assert import_result.require(skip_bad=True) == import_result.facts


def test_a_key_that_stands_twice_takes_what_hangs_on_it_along(tmp_path: Path) -> None:
    row = {**PERU, "near": "Bolivia", "question": "How?"}
    import_result = CAPITALS(write(tmp_path / "f.jsonl", PERU, row, {**PERU, "old": "Cusco"}))
    assert len(import_result.facts) == 1 and import_result.records == (), (
        "the neighbour belongs to a record that was left out"
    )
    assert problems(import_result) == [
        ("2", "duplicate", "the key 'f/Peru' stands twice"),
        ("3", "duplicate", "the key 'f/Peru' stands twice, with other content"),
    ]


def test_two_old_objects_for_one_subject_are_kept_and_said(tmp_path: Path) -> None:
    """Names are compared without case; a temporal change is no contradiction."""
    rows = [PERU, {**PERU, "subject": "PERU", "old": "Cusco", "key": "b"}, {**PERU, "old": "LIMA", "key": "c"}]
    rows.append({**PERU, "old": "Callao", "key": "d", "change": "temporal"})
    import_result = CAPITALS(write(tmp_path / "f.jsonl", *rows))
    assert len(import_result.facts) == 4 and not any(p.lost for p in import_result.problems)
    assert problems(import_result) == [
        ("2", "contradictory", "'f/Peru' says 'Lima' for this subject and relation, this one 'Cusco'")
    ]


def test_two_new_objects_for_one_subject_are_kept_and_said(tmp_path: Path) -> None:
    rows = [PERU, {**PERU, "new": "Rome", "key": "b"}, {**PERU, "new": "OSLO", "key": "c"}]
    import_result = CAPITALS(write(tmp_path / "f.jsonl", *rows))
    assert len(import_result.facts) == 3
    assert problems(import_result) == [
        ("2", "contradictory", "'f/Peru' edits this subject and relation to 'Oslo', this one to 'Rome'")
    ]


class Several(FormatReader):
    """A fact, two neighbours whose keys begin alike, and an extra that depends on both."""

    upstream = OWN._replace(counts={"several.jsonl": 2})

    def make(self, row: Row) -> Iterator[RowItem]:
        yield (fact := make_fact(row.data["subject"], "Lima", "Oslo"))
        for near in ("n/1", "n/10"):
            yield NeighbourFact(make_fact(near, row.data["old"], None, key=near))
        key = f"{fact.key}~n/1~n/10~n/2"
        yield Extra.holding(key, [1], subject_key="n/10", name="x", depends_on=("n/1", "n/10", "n/2"))


def test_an_extra_follows_all_the_neighbours_that_it_names(tmp_path: Path) -> None:
    rows = [{"subject": "Peru", "old": "Quito"}, {"subject": "Chile", "old": "Sucre"}]
    import_result = Loader("several", Several)(write(tmp_path / "f.jsonl", *rows))
    one, ten = (f.key for f in import_result.records if isinstance(f, Fact) and "~" in f.key)
    first, second = (r for r in import_result.records if isinstance(r, Extra))
    assert (first.key, first.depends_on) == ("f/Peru~n/1~n/10~n/2", ("n/1", "n/10", "n/2"))
    assert one.startswith("n/1~") and ten.startswith("n/10~")
    assert (second.subject_key, second.depends_on) == (ten, (one, ten, "n/2"))
    assert second.key == f"f/Chile~{one}~{ten}~n/2"


def test_a_neighbour_that_is_described_twice_is_kept_both_ways(tmp_path: Path) -> None:
    """The second description has a key of its own, and the links of that row follow it; the same again adds nothing."""
    near, odd = {"near": "Bolivia"}, {"near": "Bolivia", "near_old": "Sucre"}
    rows = [{**PERU, **near}, {**CHILE, **near}, {"subject": "Cuba", "old": "Havana", **odd}]
    rows.append({"subject": "Mali", "old": "Bamako", **odd})
    import_result = CAPITALS(write(tmp_path / "f.jsonl", *rows))
    facts = [r for r in import_result.records if isinstance(r, Fact)]
    links = {r.edit: (r.key, r.fact) for r in import_result.records if isinstance(r, Neighbour)}
    assert [f.old.text for f in facts] == ["Lima", "Sucre"]
    first, second = (f.key for f in facts)
    assert first == "n/Bolivia" and second.startswith("n/Bolivia~")
    assert links == {
        "f/Peru": (f"f/Peru~{first}", first),
        "f/Chile": (f"f/Chile~{first}", first),
        "f/Cuba": (f"f/Cuba~{second}", second),
        "f/Mali": (f"f/Mali~{second}", second),
    }
    text = f"'n/Bolivia' was described otherwise before; this description is kept as '{second}'"
    assert problems(import_result) == [("3", "contradictory", text)]


def test_what_a_reader_says_beside_a_record_loses_nothing(tmp_path: Path) -> None:
    import_result = CAPITALS(write(tmp_path / "f.jsonl", {**PERU, "told": "odd"}))
    assert problems(import_result) == [("1", "suspect", "odd")] and len(import_result.require()) == 1


def test_a_file_without_a_usable_fact(tmp_path: Path) -> None:
    import_result = CAPITALS(write(tmp_path / "f.jsonl", {"fault": "value"}))
    with pytest.raises(DataError, match="no usable fact"):
        import_result.require(skip_bad=True)


def test_more_faults_are_counted_in_words() -> None:
    bad = [Problem(f"f, line {n}", "malformed", "so") for n in range(3)]
    for number, reply in ((1, ""), (2, r" \(1 more problem in the file\)"), (3, r" \(2 more problems in the file\)")):
        with pytest.raises(DataError, match=f"record: so{reply};"):
            LoadResult((peru_fact(),), tuple(bad[:number]), "x").require()
    with pytest.raises(DataError, match="truncated file: so"):
        LoadResult((), (Problem("f", "truncated", "so"),), "x").require()
    assert LoadResult((peru_fact(),), (Problem("f", "left", "so"),), "x").require()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_file_with_another_number_than_upstream(tmp_path: Path, count: int) -> None:
    rows = [{"subject": f"S{n}", "old": "X", "key": f"k{n}"} for n in range(count)]
    problems = [p.what for p in CAPITALS(write(tmp_path / "capitals.jsonl", *rows)).problems if p.kind == "count"]
    record = {1: ["1 record, upstream has 2 (1 fewer here)"], 2: [], 3: ["3 records, upstream has 2 (1 more here)"]}
    assert problems == record[count]


def test_a_fact_is_told_from_what_merely_stands_beside_it(tmp_path: Path) -> None:
    """A neighbour fact of one row may be an edit of another: neither takes the other's place."""
    rows = [{**PERU, "near": "Bolivia"}, {"subject": "Bolivia", "old": "Sucre", "key": "f/Bolivia"}]
    import_result = CAPITALS(write(tmp_path / "f.jsonl", *rows))
    assert [f.key for f in import_result.facts] == ["f/Peru", "f/Bolivia"]
    assert [r.key for r in import_result.records] == ["n/Bolivia", "f/Peru~n/Bolivia"]
    assert isinstance(import_result.records[0], Fact) and import_result.records[0].old == Object(text="Lima")


class Odd(Capitals):
    """Says of some rows that they are odd."""

    def make(self, row: Row) -> Iterator[RowItem]:
        yield from super().make(row)
        for reason in row.data["odd"]:
            self.note(reason, row, kind="suspect")

    def end(self) -> Iterator[RowItem]:
        return FormatReader.end(self)


def test_notes_are_told_once_with_their_number_and_first_place(tmp_path: Path) -> None:
    rows = [{**PERU, "odd": ["has no date"]}, {**CHILE, "odd": ["has no date", "is odd"]}]
    path = write(tmp_path / "f.jsonl", *rows)
    assert [(p.kind, p.what) for p in Loader("odd", Odd)(path).problems] == [
        ("suspect", f"2 records: has no date (first: {path}, line 1)"),
        ("suspect", f"1 record: is odd (first: {path}, line 2)"),
    ]
