from __future__ import annotations

from pathlib import Path

import pytest

from curation.loaders import detect, load
from schemas.core.errors import DataError, UserError
from tests.support.curation.importable_files import SHORT, write


def test_short_jsonl(tmp_path: Path) -> None:
    temporal = {**SHORT, "subject": {"text": "Chad", "aliases": ["Tchad"]}, "changed_on": "2021"}
    plain = {k: v for k, v in SHORT.items() if k != "new"} | {"subject": "Mali"}
    loaded = load(write(tmp_path / "mine.jsonl", SHORT, temporal, plain))
    assert [f.key for f in loaded.facts] == ["mine/p36/peru", "mine/p36/chad", "mine/p36/mali"]
    assert [f.change for f in loaded.facts] == ["counterfactual", "temporal", "none"]
    assert loaded.facts[1].subject.names == ("Chad", "Tchad")
    assert loaded.facts[0].source.licence == "not stated"


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    path.write_text(
        "subject,relation,prompt,old,old_aliases,new,paraphrases\n"
        'Peru,P36,The capital of {} is,Lima,City of Kings|Ciudad de los Reyes,Oslo,"Peru\'s capital, in short, is"\n'
        "Chad,P36,too short\n"
    )
    loaded = load(path)
    assert loaded.facts[0].old.aliases == ("City of Kings", "Ciudad de los Reyes")
    assert loaded.facts[0].paraphrases == ("Peru's capital, in short, is",)
    assert [(p.where, p.kind) for p in loaded.problems] == [(f"{path}, line 3", "malformed")]


PROBLEMS = [
    ("bad json", '{"subject": "Per}\n', "malformed", "not valid JSON", True),
    ("not an object", "[1]", "malformed", "", True),
    ("missing field", {"subject": "A", "relation": "P1", "prompt": "{} is", "new": "x"}, "malformed", "'old'", True),
    ("equal objects", {**SHORT, "subject": "B", "new": "Lima"}, "invalid", "equal", True),
    ("no gap", {**SHORT, "subject": "C", "prompt": "nothing"}, "invalid", "exactly one", True),
    ("unknown field", {**SHORT, "subject": "D", "colour": 1}, "invalid", "unknown field", True),
    ("duplicate", SHORT, "duplicate", "stands twice", True),
    ("contradiction", {**SHORT, "key": "other", "old": "Cusco"}, "contradictory", "says 'Lima'", False),
]


@pytest.mark.parametrize(("row", "kind", "what", "lost"), [p[1:] for p in PROBLEMS], ids=[p[0] for p in PROBLEMS])
def test_problems_are_named_by_line(tmp_path: Path, row: object, kind: str, what: str, lost: bool) -> None:
    if row == "[1]":
        row = "1"
    path = write(tmp_path / "f.jsonl", SHORT, row)
    loaded = load(path, "jsonl")
    assert len(loaded.problems) == 1
    problem = loaded.problems[0]
    assert (problem.kind, problem.where, problem.lost) == (kind, f"{path}, line 2", lost)
    assert what in problem.what
    if lost:
        with pytest.raises(DataError, match=r"line 2: .*--skip-bad"):
            loaded.require()
        assert len(loaded.require(skip_bad=True)) == 1
    else:
        assert len(loaded.require()) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"  \n", "the file is empty"),
        (b"\xff\xfe{", "not UTF-8"),
        (b'[{"case_id": 1', "cut off"),
        (b'{"a": 1}', "not a known shape"),
        (b"[]", "holds no record"),
        (b"nonsense", "not valid JSON"),
    ],
)
def test_unusable_files(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "f.json").write_bytes(content)
    with pytest.raises(DataError, match=message):
        load(tmp_path / "f.json")


def test_absent_file_and_format(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        load(tmp_path / "no.jsonl")
    with pytest.raises(UserError, match="unknown loader 'jsonnl'.*did you mean 'jsonl'"):
        load(write(tmp_path / "f.jsonl", SHORT), "jsonnl")


@pytest.mark.parametrize(
    ("name", "format", "facts"),
    [
        ("counterfact_grouped.json", "counterfact", 1803),
        ("rome_format_example.json", "counterfact", 1),
        ("counterfact-edit.json", "counterfact-flat", 9530),
        ("counterfact-train.json", "counterfact-flat", 9917),
        ("counterfact-val.json", "counterfact-flat", 1908),
    ],
)
def test_real_files_are_read_whole(shared: Path, name: str, format: str, facts: int) -> None:
    path = shared / "data" / "counterfact" / name
    loaded = load(path)
    assert (loaded.format, len(loaded.facts)) == (format, facts)
    assert not [p for p in loaded.problems if p.lost]
    assert detect(path) == format
    for fact in loaded.facts:
        assert fact.new is not None and fact.source.licence == "MIT"
