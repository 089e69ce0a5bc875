"""Reading raw records: places, faults, bounded memory."""

from __future__ import annotations

import codecs
import json
import tracemalloc
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.cli.data import audit as audit_command
from curation.loaders import LoadResult
from curation.loaders.audit import CHECKS, audit, texts
from curation.loaders.reading import Problem, Row, rows
from schemas.core.errors import DataError, UserError
from schemas.facts import Fact, Object
from schemas.scripts import ScriptPrompt
from tests.support.facts import peru_fact

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)

RECORDS = st.lists(st.dictionaries(st.text(max_size=5), VALUES, max_size=4), max_size=6)


def data(items: list[Row | Problem]) -> list[object]:
    return [i.data for i in items if isinstance(i, Row)]


def told(items: list[Row | Problem]) -> list[tuple[str, str]]:
    return [(i.where.rsplit("/", 1)[-1], i.kind) for i in items if isinstance(i, Problem)]


def read(path: Path, content: str | bytes) -> list[Row | Problem]:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(rows(path))


@settings(max_examples=60, deadline=None)
@given(records=RECORDS, indent=st.sampled_from([None, 0, 1, 4]), cut=st.floats(0, 1))
def test_an_array_is_read_as_python_reads_it_and_where_it_is_cut_its_whole_records(
    records: list[dict[str, object]], indent: int | None, cut: float, tmp_path_factory: object
) -> None:
    path = tmp_path_factory.mktemp("x") / "f.json"  # type: ignore[attr-defined]
    text = json.dumps(records, indent=indent)
    contents, part = read(path, text), read(path, text[: 1 + int(cut * (len(text) - 2))])
    assert data(contents) == records and not told(contents)
    for row in contents:
        assert text.split("\n")[int(row.where.rsplit(" ", 1)[1]) - 1].lstrip(" [").startswith("{")
    assert data(part) == records[: len(data(part))]
    assert [kind for _, kind in told(part)] == ["truncated"]


@settings(max_examples=40, deadline=None)
@given(records=RECORDS.filter(lambda r: all(r)))
def test_lines_are_read_as_python_reads_them(records: list[dict[str, object]], tmp_path_factory: object) -> None:
    path = tmp_path_factory.mktemp("x") / "f.jsonl"  # type: ignore[attr-defined]
    if records:
        contents = read(path, "\n".join(json.dumps(r, ensure_ascii=False) for r in records))
        assert data(contents) == records and not told(contents)


CASES = [
    (
        "broken record in an array",
        '[\n{"a": 1},\n{"a": },\n{"a": 3}\n]',
        1,
        [("f.json, record 2, line 3", "malformed")],
    ),
    ("broken pretty record", '[\n  {\n    "a": 1 2\n  }\n]', 0, [("f.json, record 1, line 2", "malformed")]),
    ("no comma", '[\n{"a": 1}\n{"a": 2}\n]', 1, [("f.json, line 3", "malformed")]),
    ("a name twice in an array", '[{"a": 1, "a": 2},\n{"a": 3}]', 1, [("f.json, record 1, line 1", "malformed")]),
    ("half a pair", '{"a": "x\\ud800"}\n{"a": "\\ud83d\\ude00 \\\\ud800"}', 1, [("f.json, line 1", "malformed")]),
    ("no record", "[1,\n2]", 0, [("f.json, record 1, line 1", "malformed"), ("f.json, record 2, line 2", "malformed")]),
    ("text behind", '[{"a": 1}] x', 1, [("f.json, line 1", "malformed")]),
    ("not closed", '[\n{"a": 1},\n{"a": 2}\n', 2, [("f.json, line 4", "truncated")]),
    ("cut in a record", '[\n{"a": 1},\n{"a": 2, "b', 1, [("f.json, record 2, line 3", "truncated")]),
    ("hopeless", '[{"a": 1}, {"a" 2}, {"a": 3}]', 1, [("f.json, record 2, line 1", "malformed")]),
    ("a name twice", '{"a": 1, "a": 2}\n{"a": 3}', 1, [("f.json, line 1", "malformed")]),
    ("NaN", '{"a": NaN}\n{"a": 3}', 1, [("f.json, line 1", "malformed")]),
    ("last line cut", '{"a": 1}\n{"a": "x', 1, [("f.json, line 2", "truncated")]),
    ("line cut within", '{"a": 1}\n{"a": "x\n{"a": 2}\n', 2, [("f.json, line 2", "malformed")]),
    ("wrong encoding", b'{"a": "\xe9"}\n{"a": 1}\n', 1, [("f.json, line 1", "malformed")]),
    ("wrong encoding in an array", b'[{"a": "\xe9"},\n{"a": 1}]', 1, [("f.json, record 1, line 1", "malformed")]),
    ("byte-order mark", b'\xef\xbb\xbf{"a": 1}\n', 1, []),
    ("windows lines", b'{"a": 1}\r\n\r\n{"a": 2}\r\n', 2, []),
    ("document", '{\n "a": 1,\n "b": [\n  2\n ]\n}\n', 1, []),
    ("cut document", '{\n "a": 1,\n "b": [\n  2\n', 0, [("f.json, line 1", "truncated")]),
    ("deep", "[" * 5000 + "]" * 5000, 0, [("f.json, record 1, line 1", "malformed")]),
    ("long integer", '{"a": ' + "9" * 5000 + "}", 0, [("f.json, line 1", "malformed")]),
]


@pytest.mark.parametrize(("content", "expected", "problems"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_faults_are_named_by_place(
    tmp_path: Path, content: str | bytes, expected: int, problems: list[tuple[str, str]]
) -> None:
    contents = read(tmp_path / "f.json", content)
    assert len(data(contents)) == expected
    assert told(contents) == problems


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x1f\x8b123", "a gzip file"),
        (b"PK\x03\x04", "a zip file"),
        (b"PAR1", "a Parquet file"),
        ('{"a": 1}'.encode("utf-16"), "UTF-16"),
        ('{"a": 1}'.encode("utf-16-le"), "UTF-16"),
        ('{"a": 1}'.encode("utf-16-be"), "UTF-16"),
        *[('{"a": 1}'.encode(name), "but UTF-32") for name in ("utf-32", "utf-32-le", "utf-32-be")],
        (codecs.BOM_UTF32_BE + "[]".encode("utf-32-be"), "but UTF-32"),
        (bytes(20), "not a text file"),
        (b"\x1f\x8b\x08\x00", "a gzip file"),
        (b" \n ", "empty"),
    ],
)
def test_foreign_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path / "f.json", content)
    with pytest.raises(UserError, match="cannot be read"):
        list(rows(tmp_path))


def test_memory_holds_one_line(tmp_path: Path) -> None:
    path, record = tmp_path / "f.json", {"a": "x" * 1000, "b": list(range(20))}
    path.write_text("\n".join([json.dumps(record)] * 8000))
    assert path.stat().st_size > 8_000_000
    tracemalloc.start()
    count = sum(isinstance(row, Row) for row in rows(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 8000
    assert peak < 3_000_000


DAMAGED: list[tuple[str, Fact, list[str]]] = [
    ("nothing", peru_fact(), []),
    ("old", peru_fact(prompt="Lima, the capital of {} is"), ["old-in-prompt"]),
    ("old begins a word", peru_fact(prompt="The Limanese capital of {} is"), ["old-in-prompt"]),
    ("within a word", peru_fact(prompt="The Kalima of {} is"), []),
    ("new", peru_fact(prompt="Not Oslo, {} has"), ["new-in-prompt"]),
    ("overlap", peru_fact(new=Object(text="Lima Norte")), ["objects-overlap"]),
    ("paraphrase without subject", peru_fact(paraphrases=("Its capital is",)), ["paraphrase-lacks-subject"]),
    ("paraphrase tells", peru_fact(paraphrases=("Peru, from Lima, has",)), ["paraphrase-gives-away"]),
    ("neighbour is subject", peru_fact(neighbour_prompts=("Peru State has",)), ["neighbour-is-subject"]),
    ("neighbour tells", peru_fact(neighbour_prompts=("Lima Region has",)), ["neighbour-gives-away"]),
    ("repeated", peru_fact(neighbour_prompts=("A", "B", "A")), ["repeated-prompt"]),
]


@pytest.mark.parametrize(("one", "kinds"), [c[1:] for c in DAMAGED], ids=[c[0] for c in DAMAGED])
def test_checks_of_facts(one: Fact, kinds: list[str]) -> None:
    entries = list(audit(LoadResult((one,), (), "jsonl", places={one.key: "f, line 1"})))
    assert [p.kind for p in entries] == kinds
    assert all(p.kind in CHECKS and p.where == "f, line 1" and not p.lost for p in entries)


def test_checks_of_script_prompts() -> None:
    def prompt(text: str) -> ScriptPrompt:
        return ScriptPrompt(key="p", fact="f", text=text, offset=len(text) + 1, targets=("Paris", "Rome"))

    assert not list(audit(LoadResult((), (), "x", (prompt("Fly to"),))))
    assert [p.kind for p in audit(LoadResult((), (), "x", (prompt("In Paris fly to"),)))] == ["leak-in-script-prompt"]


TEXTS = [
    ("fine & Ünïted", []),
    (" space", ["stray-space"]),
    ("two  spaces", ["stray-space"]),
    ("Ã©", ["damaged-text"]),
    ("a\ufffd", ["damaged-text"]),
    ("AT&amp;T", ["damaged-text"]),
    ("Bogot\\u00e1", ["damaged-text"]),
    ("Bogot\\xe1", ["damaged-text"]),
    ("Ð\u009cÐ¾Ñ\u0081ÐºÐ²Ð°", ["damaged-text"]),
    ("ESPAÑA «Ñ» Ðð", []),
    ("Bo\u200bgotá", ["damaged-text"]),
    ("\ufeffBogotá", ["damaged-text"]),
    ("Bo\u00adgotá", ["damaged-text"]),
    ("می\u200cخواهم", []),  # Persian writes words with a mark that joins no letters
    ("New\u00a0York", ["stray-space"]),
    ("C:\\users", []),
    ("a\u0007b", ["damaged-text"]),
    ("Bogot&aacute;", ["damaged-text"]),
    ("Bogot&#xE1;", ["damaged-text"]),
    ("Bogot%C3%A1", ["damaged-text"]),
    ("Bogot=C3=A1", ["damaged-text"]),
    ("Bogot\\303\\241", ["damaged-text"]),
    (
        "\u0420\u045a\u0420\u0455\u0421\u0403\u0420\u0454\u0420\u0406\u0420\u00b0",
        ["damaged-text"],
    ),  # "Moscow" as cp1251
    ("the <b>city</b>", ["damaged-text"]),
    ("B\u043egot\u00e1", ["damaged-text"]),
    ("Bogot+AOE- in Colombia", ["damaged-text"]),  # UTF-7
    ("+BBwEPgRBBDoEMgQw-", ["damaged-text"]),
    ("the C++17-style A+level- of R+and-D, +ABC-, +AOF-", []),
    ("in \uff32\uff4f\uff4d\uff45", ["damaged-text"]),  # Rome in letters as wide as Chinese ones
    ("\uff2e\uff28\uff2b\u653e\u9001", []),  # which Japanese names are written with
    ("https://example.org/Bogot%C3%A1", []),
    ("Q&A; R&D; a < b > c", []),
    ("50% = 1/2", []),
    ("\u0420\u0421\u0424\u0421\u0420", []),
    ("\u041c\u043e\u0441\u043a\u0432\u0430 and Moscow", []),
    ("\u03bc-law", []),
    ("line\nbreak", []),
]


@pytest.mark.parametrize(("text", "kinds"), TEXTS)
def test_checks_of_texts(tmp_path: Path, text: str, kinds: list[str]) -> None:
    (tmp_path / "f.jsonl").write_text(json.dumps({"a": {"b": [text, text]}}) + "\n")
    entries = list(texts(tmp_path / "f.jsonl"))
    assert [p.kind for p in entries] == kinds
    assert all("in the field 'a.b'" in p.what and p.where.endswith("line 1") for p in entries)


def test_the_space_between_a_prompt_and_its_object_is_no_stray_one(tmp_path: Path) -> None:
    text = "How to go?\nStep 1: Fly to"
    prompt = ScriptPrompt(key="f/1/p", fact="f/1", text=text, offset=len(text) + 1, targets=("Paris",))
    (tmp_path / "f.jsonl").write_text(json.dumps({"kind": "prompt", **prompt.payload(), "more": " x"}) + "\n")
    assert [p.what for p in texts(tmp_path / "f.jsonl")] == ["white space at an end in the field 'more': ' x'"]


def test_contradictions_across_files_are_listed_with_the_later_file(tmp_path: Path) -> None:
    row = {"subject": "Peru", "relation": "P36", "prompt": "The capital of {} is", "old": "Lima", "new": "Oslo"}
    rows = {"a": row, "b": {**row, "old": "Cusco"}, "c": {**row, "subject": "PERU", "new": "Rome"}, "d": row}
    rows["e"] = {**row, "old": "Quito", "changed_on": "2020-01-01"}  # temporal: one follows the other
    for name, values in rows.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(values) + "\n")
    result = CliRunner().invoke(audit_command, [str(tmp_path), "--jsonl"])
    report = [json.loads(line) for line in result.output.splitlines()]
    by_name = {Path(s["file"]).name: s["what"] for s in report if s["kind"] == "contradictory"}
    assert set(by_name) == {"b.jsonl", "c.jsonl"}
    assert f"of {tmp_path / 'a.jsonl'} says 'Lima'" in by_name["b.jsonl"] and "this one 'Cusco'" in by_name["b.jsonl"]
    assert "edits this subject and relation to 'Oslo'" in by_name["c.jsonl"]


def test_texts_of_tables_are_looked_at_too(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text("subject,relation,prompt,old,new\nPe\0ru,P36,The capital  of {} is,Lima,Bogot\\u00e1\n")
    entries = {(p.kind, p.what.partition(" in the")[0]) for p in texts(path)}
    assert entries == {
        ("damaged-text", "a control character"),
        ("damaged-text", "an escape code"),
        ("stray-space", "two spaces"),
    }
