"""A loader: rows to records, every fault with its place, keys and contradictions noticed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest

from curation.loaders import LOADERS, detect, load
from curation.loaders.base import (
    FormatReader,
    InvalidRecord,
    Loader,
    LoadResult,
    NeighbourFact,
    Problem,
    Row,
    RowItem,
    check_record,
    is_date,
)
from curation.loaders.importer import import_file
from curation.loaders.shapes import (
    Id,
    Listed,
    Names,
    Shape,
    Target,
    Text,
    Texts,
    rest,
    template,
)
from curation.loaders.sources import OWN, UPSTREAM
from schemas.core.errors import DataError
from schemas.facts import Fact, Neighbour, Object
from schemas.scripts import Script, ScriptQuestion
from tests.support.curation.importable_files import write
from tests.support.curation.published_records import CF, one
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


FAULTS = [
    ("a field is missing", {"subject": "Peru"}, ("malformed", "the field 'old' is missing")),
    ("a value cannot be", {**PERU, "old": ""}, ("invalid", "text: must not be empty")),
    ("a reader's own word", {"fault": "invalid"}, ("invalid", "so")),
    ("a wrong type", {"fault": "type"}, ("malformed", "TypeError: so (tests/curation/loaders/test_base.py, line ")),
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


def test_a_neighbour_that_is_described_twice_keeps_the_first_description(tmp_path: Path) -> None:
    near, odd = {"near": "Bolivia"}, {"near": "Bolivia", "near_old": "Sucre"}
    rows = [{**PERU, **near}, {**CHILE, **near}, {"subject": "Cuba", "old": "Havana", **odd}]
    import_result = CAPITALS(write(tmp_path / "f.jsonl", *rows))
    assert [r.old.text for r in import_result.records if isinstance(r, Fact)] == ["Lima"]
    assert {r.fact for r in import_result.records if isinstance(r, Neighbour)} == {"n/Bolivia"}
    text = "'n/Bolivia' was described otherwise before; the first description stays"
    assert problems(import_result) == [("3", "contradictory", text)]


def test_a_file_without_a_usable_fact(tmp_path: Path) -> None:
    import_result = CAPITALS(write(tmp_path / "f.jsonl", {"fault": "value"}))
    with pytest.raises(DataError, match="no usable fact"):
        import_result.require(skip_bad=True)


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


CELLS = {"subject": "Peru", "relation": "P36", "prompt": "The capital of {} is", "old": "Lima", "new": "Oslo"}


def write_fact(folder: Path, form: str, **changes: str) -> Path:
    cells = {**CELLS, **changes}
    if form == "csv":
        (path := folder / "f.csv").write_text(",".join(cells) + "\n" + ",".join(cells.values()) + "\n")
        return path
    (path := folder / "f.jsonl").write_text(json.dumps(cells) + "\n")
    return path


IMPOSSIBLE: list[tuple[dict[str, str], str]] = [
    ({"relation": ""}, "the field 'relation' must be a text with something in it, it is empty"),
    ({"subject": ""}, "the field 'subject' must be a text with something in it, it is empty"),
    ({"prompt": ""}, "the field 'prompt' must be a text with something in it, it is empty"),
    ({"old": " "}, "the field 'old' must be a text with something in it, it is empty"),
    ({"changed_on": "in 2021"}, "changed_on: 'in 2021' is no date"),
    ({"changed_on": "2021-13-45"}, "changed_on: '2021-13-45' is no date"),
    ({"old": "Lima<|endoftext|>"}, "old: the control token <|endoftext|>"),
    ({"prompt": "[INST] The capital of {} is"}, "prompt: the control token [INST]"),
    ({"new": "Oslo</s>"}, "new: the control token </s>"),
]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(("changes", "text"), IMPOSSIBLE)
def test_faults_are_named_by_line_and_field(tmp_path: Path, form: str, changes: dict[str, str], text: str) -> None:
    path = write_fact(tmp_path, form, **changes)
    (problem,) = load(path).problems
    assert problem.lost and text in problem.what and f"line {2 if form == 'csv' else 1}" in problem.where
    with pytest.raises(DataError) as error:
        import_file(str(path), tmp_path / "s.duckdb", skip_bad=True)
    assert "1 record left out" in str(error.value) and text in str(error.value)
    assert not (tmp_path / "s.duckdb").exists()


@pytest.mark.parametrize("fact", [
    make_fact(old=Object(text="Lima", aliases=("oslo",)), new="Oslo"),
    make_fact(old="Lima", new=Object(text="Oslo", aliases=("LIMA",))),
])  # fmt: skip
def test_an_object_among_the_names_of_the_other(fact: Any) -> None:
    with pytest.raises(InvalidRecord, match="nothing would be edited"):
        check_record(fact)


def test_good_records_pass() -> None:
    for record in (peru_fact(), peru_fact(change="temporal", changed_on="2021-12"), make_fact(new=None)):
        check_record(record)
    with pytest.raises(InvalidRecord, match="steps: the control token <.im_end.>"):
        check_record(Script(key="s", question="q", steps=("Look up <|im_end|>",)))
    assert is_date("2024-02-29") and not is_date("2023-02-29")


@pytest.mark.parametrize("sign", ["\u200b", "\ufeff", "\u00ad"])
def test_invisible_characters_at_an_end_go_and_are_said(tmp_path: Path, sign: str) -> None:
    loaded = load(write_fact(tmp_path, "jsonl", new=f"Oslo{sign}", prompt=f"{sign}The capital of {{}} is"))
    (fact,) = loaded.facts
    assert fact.new is not None and (fact.new.text, fact.prompt) == ("Oslo", "The capital of {} is")
    assert [p.what for p in loaded.problems] == ["invisible characters at an end of new, prompt were removed"]


@pytest.mark.parametrize(
    ("prompt", "subject", "expected"),
    [
        ("Peru is in Peru", "Peru", "{} is in Peru"),
        ("In {x} Peru is", "Peru", "In {x} {} is"),
        ("The author of {braces} in C is", "{braces}", "The author of {} in C is"),
        (
            "The Alban hills were first climbed by Al, born in",
            "Al",
            "The Alban hills were first climbed by {}, born in",
        ),
        ("Anna's sister Ann was born in", "Ann", "Anna's sister {} was born in"),
        ("\u79d8\u9c81\u7684\u9996\u90fd\u662f", "\u79d8\u9c81", "{}\u7684\u9996\u90fd\u662f"),
        ("a.c abc", "abc", "a.c {}"),
    ],
)
def test_the_first_occurrence_becomes_the_gap(prompt: str, subject: str, expected: str) -> None:
    assert template(prompt, subject) == expected


@pytest.mark.parametrize(
    ("prompt", "subject", "message"),
    [
        ("Peru is", "Chile", "'Chile' is not in the prompt 'Peru is'"),
        ("The Alban hills", "Al", "'Al' stands only inside a word of the prompt 'The Alban hills'"),
        ("f{} by Ann is", "Ann", "holds {}, which stands for the subject"),
    ],
)
def test_an_absent_subject_is_told(prompt: str, subject: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        template(prompt, subject)


class Probe(Shape):
    """A record with every kind of field."""

    text: Text
    texts: Texts = ()
    names: Names = ()
    id: Id = "-"
    inner: Annotated[tuple[Target, ...], Listed] = ()


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"text": ""}, "the field 'text' must be a text with something in it, it is empty"),
        ({"text": "  "}, "it is empty"),
        ({"text": None}, "it is null"),
        ({"text": ["x"]}, "it is a list"),
        ({"text": 5}, 'it is a number: write "5"'),
        ({"texts": ["a", {"b": 1}]}, r"the field 'texts' must hold texts, its item \[1\] is an object"),
        ({"texts": {"b": 1}}, "the field 'texts' must be a text, it is an object"),
        ({"id": 3.0}, "the field 'id' must be an id .*, it is 3.0"),
        ({"id": True}, "it is true or false"),
        ({"inner": [{"str": "a"}, {"id": "Q1"}]}, r"the field 'inner\[1\].str' is missing"),
        ({"inner": [3]}, r"the field 'inner\[0\]' must be an object, it is a number"),
        ({"inner": 3}, "the field 'inner' must be a list, it is a number"),
    ],
)
def test_a_field_that_cannot_be_read_is_named_with_its_whole_path(change: dict[str, object], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Probe.of({"text": "x", **change})


def test_a_missing_field_and_the_fields_of_others() -> None:
    with pytest.raises(ValueError, match="the field 'text' is missing"):
        Probe.of({})
    assert Probe.of({"text": "x", "odd": [1]}).others == {"odd": [1]}


def test_what_a_fact_does_not_carry_is_kept_once() -> None:
    (extra,) = rest("f/1", {"a": 1, "b": 0, "c": None, "d": [], "e": ""}, ("a",))
    assert (extra.key, extra.subject_key, extra.value) == ("f/1/extra/fields", "f/1", {"b": 0})
    assert not list(rest("f/1", {"a": 1, "b": None}, ("a",)))


def test_known_counts_are_checked(shared: Path, tmp_path: Path) -> None:
    problems = [p for p in load(shared / "data" / "known_1000" / "known_1000.json").problems if p.kind == "count"]
    assert [p.what for p in problems] == ["1,197 records, upstream has 1,209 (12 fewer here)"]
    assert not problems[0].lost
    scedit = [p.what for p in one(tmp_path, CF, name="ScEdit-CF.json").problems]
    assert scedit[0] == "1 script prompt, the paper has 7,342" and scedit[-1].startswith("1 record, upstream has 1,830")


def test_every_loader_names_its_source() -> None:
    assert list(UPSTREAM) and set(UPSTREAM) == set(LOADERS.names())
    for name in LOADERS.names():
        assert callable(LOADERS.get(name))
        assert UPSTREAM[name].licence and UPSTREAM[name].name


@pytest.mark.parametrize("name", ["wikifactdiff/readme_samples.json", "elken/serac_routing.jsonl"])
def test_what_is_no_facts_is_refused(shared: Path, name: str) -> None:
    with pytest.raises(Exception, match="not a known shape"):
        detect(shared / "data" / name)


@pytest.mark.parametrize("bad", ['{"subject": "Peru"}', '{"a": 1}', "{}", "null", '"x"'])
def test_one_bad_record_at_the_beginning_hides_no_format(tmp_path: Path, bad: str) -> None:
    good = '{"subject": "Chile", "relation": "P36", "prompt": "The capital of {} is", "old": "Santiago", "new": "Oslo"}'
    (path := tmp_path / "f.jsonl").write_text(f"{bad}\n{good}\n")
    assert detect(path) == "jsonl"
    result = load(path)
    assert len(result.facts) == 1 and [p.lost for p in result.problems] == [True]


def test_a_file_of_no_known_shape_is_not_read_to_its_end(tmp_path: Path) -> None:
    (path := tmp_path / "g.jsonl").write_text('{"a": 1}\n' * 102 + "\xff")
    with pytest.raises(DataError, match=r"not a known shape of facts \(its first record has a\)"):
        detect(path)
