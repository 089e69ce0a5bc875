"""Sheets to people and back: read strictly, and never written over."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.quality.sample import Sample, draw, sheet
from curation.quality.sheets import check_people, import_sheets, read_sheet, sample_of, sheet_path, slug_ok, write_sheet
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from tests.support.curation.filled_sheets import MINI, answered, blank

FAULTS: list[tuple[str, Callable[[list[dict[str, Any]]], object], str]] = [
    ("a no without a reason", lambda r: r[0].update(cut="no"), "line 3: the no to 'cut' has no reason"),
    ("half answered", lambda r: r[1].update(cut=""), r"line 4: no answer to 'cut' \(yes or no\)"),
    ("neither yes nor no", lambda r: r[1].update(cut="maybe"), "line 4: 'maybe' is no answer to 'cut'"),
    (
        "another item",
        lambda r: r[2].update(item="f" * 20),
        r"line 5: 'f+' is no item of the sample .*\(and 1 more fault\)",
    ),
    ("another sample", lambda r: r[2].update(sample="x"), "line 5: .* is no item of the sample"),
    ("somebody not asked", lambda r: [x.update(person="eve") for x in r], r"'eve' was not asked \(ann, bob\)"),
    ("two people", lambda r: r[0].update(person="bob"), "one sheet is of one person"),
    ("a row is gone", lambda r: r.pop(), "1 of .* items have no answer; .*--partial"),
    ("a row is empty", blank, "1 of .* items have no answer"),
]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_round_trip(store: Store, sample: Sample, tmp_path: Path, form: str) -> None:
    odd = sample.items[0].item_id
    path = sheet_path(tmp_path, "ann", form)
    write_sheet(answered(sample, "ann", lambda i: "cut" if i == odd else ""), path)
    (filling,) = import_sheets(store, [path])
    assert (filling.person, filling.repeated, filling.missing) == ("ann", (), ())
    by = {v.by: v for v in store.verdicts([odd])}
    verdict, cut = by["person:ann/quality@1"], by["person:ann/quality_cut@1"]
    assert (verdict.label, verdict.reason) == ("drop", "cut: it is odd") and (cut.label, cut.value) == (None, 0.0)
    assert by["person:ann/quality_question@1"].value == 1.0
    assert store.lineage(verdict.id)[0].detail == {"from": path.name}
    assert len(filling.verdicts) == 4 * len(sample.items)


@pytest.mark.parametrize(("break_it", "message"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_import_is_strict(
    store: Store, sample: Sample, tmp_path: Path, break_it: Callable[[list[dict[str, Any]]], object], message: str
) -> None:
    good, bad = answered(sample, "bob"), answered(sample, "ann")
    break_it(bad)
    write_sheet(good, tmp_path / "bob.jsonl")
    write_sheet(bad, tmp_path / "ann.jsonl")
    with pytest.raises(DataError, match=message):
        import_sheets(store, [tmp_path / "bob.jsonl", tmp_path / "ann.jsonl"])
    assert "verdict" not in store.stats()["records"], "nothing of either sheet was kept"


def test_partial_repeated_and_answered_again(store: Store, sample: Sample, tmp_path: Path) -> None:
    rows = answered(sample, "ann")
    blank(rows)
    second_row = {**rows[0], "cut": "no", "cut_reason": "on second thought"}
    write_sheet([*rows, second_row], tmp_path / "ann.jsonl")
    filling = read_sheet(tmp_path / "ann.jsonl", sample, partial=True)
    assert filling.missing == (rows[1]["item"],) and filling.repeated == (rows[0]["item"],)
    import_sheets(store, [tmp_path / "ann.jsonl"], partial=True)
    assert [v.label for v in store.verdicts([rows[0]["item"]]) if v.label] == ["drop"], "the last answer holds"
    write_sheet([{**rows[0], "cut": "YES"}], tmp_path / "later.jsonl")
    import_sheets(store, [tmp_path / "later.jsonl"], partial=True)
    assert [v.label for v in store.verdicts([rows[0]["item"]]) if v.label] == ["keep"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"{", "line 1: not JSON"),
        ("a.jsonl", b"[1]", "line 1: not a JSON object"),
        ("a.jsonl", b"\xff\xfe", "UTF-8"),
        ("a.csv", b"item,sample\n1,2,3\n", "."),
        ("a.csv", b"", "no sheet of a sample"),
        ("a.csv", b"n;sample;person;item\n1;s;ann;x\n", "divided by semicolons, a .csv file needs commas"),
        ("a.csv", b"n\tsample\tperson\titem\n1\ts\tann\tx\n", "divided by tabs, a .csv file needs commas"),
        ("a.csv", "n,sample\n".encode("utf-16"), "not UTF-8 text but UTF-16"),
        ("a.csv", b"n,sample\n1,C\xf4te\n", "line 2: .*not UTF-8 text .Latin-1"),
    ],
)
def test_files_that_are_no_sheets(store: Store, tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        import_sheets(store, [tmp_path / name])


def test_answers_are_not_overwritten(tmp_path: Path) -> None:
    rows = sheet(draw(MINI, percent=10), MINI.cases, "ann")
    write_sheet(rows, tmp_path / "ann.csv")
    write_sheet(rows, tmp_path / "ann.csv")  # the same blank sheet
    (tmp_path / "ann.csv").write_text("answers")
    with pytest.raises(UserError, match="there already and may hold answers"):
        write_sheet(rows, tmp_path / "ann.csv")


@pytest.mark.parametrize("name", ["Ann Lee", "", "a/b", "a\tb", "a\u2028b"])
def test_names_that_cannot_stand_in_a_verdict(name: str) -> None:
    assert not slug_ok(name)
    with pytest.raises(UserError, match="cannot be a person's name"):
        check_people(["bob", name])


@pytest.mark.parametrize("name", ["a\x1bb", "a\u202eb", "=ann", "-ann"])
def test_names_that_a_sheet_would_change(name: str) -> None:
    """What comes back could not be told from another person's."""
    with pytest.raises(UserError, match="control characters that begins with") as refused:
        check_people([name])
    assert "\x1b" not in str(refused.value)


def test_a_sheet_holds_no_character_that_is_obeyed(tmp_path: Path) -> None:
    row = {"sample": "s", "item": "i", "text": "Fly\x1b[2J to\u202e Oslo\nStep 2"}
    write_sheet([row], tmp_path / "ann.csv")
    assert "Fly\\u001b[2J to\\u202e Oslo\nStep 2" in (tmp_path / "ann.csv").read_text("utf-8-sig")


def test_two_people_whose_sheets_would_be_one_file(tmp_path: Path) -> None:
    check_people(["ann", "bob"])
    check_people([])
    assert sheet_path(tmp_path, "Ann", "csv") == sheet_path(tmp_path, "ann", "csv")
    with pytest.raises(UserError, match="two people have the same name"):
        check_people(["Ann", "ann"])


@pytest.mark.parametrize("answer", ["yes", "Y", "TRUE", " 1 "])
def test_how_people_write_yes(sample: Sample, tmp_path: Path, answer: str) -> None:
    rows = [{**row, "cut": answer} for row in answered(sample, "ann")]
    write_sheet(rows, tmp_path / "ann.csv")
    assert {v.value for v in read_sheet(tmp_path / "ann.csv", sample).verdicts if v.by.endswith("quality_cut@1")} == {1}


def test_a_sheet_that_a_spreadsheet_program_saved(sample: Sample, tmp_path: Path) -> None:
    """A byte order mark, line ends of Windows, an empty last row, quotes and line breaks inside a cell."""
    odd = sample.items[0].item_id
    rows = answered(sample, "ann", lambda i: "cut" if i == odd else "")
    for row in rows:
        row.update({"cut_reason": 'two\nlines, "quoted"; Zürich'} if row["item"] == odd else {})
    write_sheet(rows, tmp_path / "a.csv")
    data = (tmp_path / "a.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    (tmp_path / "b.csv").write_bytes(data.replace(b"\n", b"\r\n") + b"," * (len(rows[0]) - 1) + b"\r\n")
    last = len((tmp_path / "b.csv").read_bytes().splitlines())
    with pytest.raises(DataError, match=f"line {last}: '' is no item of the sample"):
        read_sheet(tmp_path / "b.csv", sample)
    (tmp_path / "b.csv").write_bytes(data.replace(b"\n", b"\r\n"))
    reasons = {v.reason for v in read_sheet(tmp_path / "b.csv", sample).verdicts if v.item_id == odd and v.label}
    assert {r.replace("\r\n", "\n") for r in reasons} == {'cut: two\nlines, "quoted"; Zürich'}


def test_a_sheet_of_nobody(store: Store, sample: Sample, tmp_path: Path) -> None:
    write_sheet([{**row, "person": ""} for row in answered(sample, "ann")], tmp_path / "x.jsonl")
    with pytest.raises(DataError, match="'' was not asked"):
        import_sheets(store, [tmp_path / "x.jsonl"])
    open_to_all = sample._replace(people=())
    with pytest.raises(DataError, match="one person with a name without spaces, found: ''"):
        read_sheet(tmp_path / "x.jsonl", open_to_all)


def test_a_blank_sheet_is_nobodys_answer(store: Store, sample: Sample, tmp_path: Path) -> None:
    write_sheet(sheet(sample, MINI.cases, "ann"), tmp_path / "ann.jsonl")
    with pytest.raises(DataError, match="items have no answer"):
        import_sheets(store, [tmp_path / "ann.jsonl"])
    (result,) = import_sheets(store, [tmp_path / "ann.jsonl"], partial=True)
    assert result.verdicts == () and len(result.missing) == len(sample.items)


def test_which_sample_a_sheet_is_of(sample: Sample, tmp_path: Path) -> None:
    write_sheet(sheet(sample, MINI.cases, "ann"), tmp_path / "ann.csv")
    assert sample_of(tmp_path / "ann.csv") == sample.name
    with pytest.raises(UserError, match="no such"):
        sample_of(tmp_path / "absent.csv")


def test_a_sheet_into_a_file_that_is_a_folder(sample: Sample, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="the sheet cannot be written"):
        write_sheet(sheet(sample, MINI.cases, "ann"), tmp_path / "file" / "ann.csv")


def test_a_killed_writing_leaves_no_half_sheet_that_nobody_may_replace(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = sheet(sample, MINI.cases, "ann")

    def killed(path: Path, data: bytes) -> int:
        with open(path, "wb") as file:
            file.write(data[: len(data) // 2])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", killed)
        with pytest.raises(KeyboardInterrupt):
            write_sheet(rows, tmp_path / "ann.csv")
    assert not [p.name for p in tmp_path.iterdir() if "ann" in p.name]
    write_sheet(rows, tmp_path / "ann.csv")
    assert sample_of(tmp_path / "ann.csv") == sample.name


def test_a_sheet_runs_nothing_in_a_spreadsheet(sample: Sample, tmp_path: Path) -> None:
    rows = [{**row, "script_question": "=cmd|'/c calc'!A0"} for row in answered(sample, "ann")]
    path = tmp_path / "ann.csv"
    write_sheet(rows, path)
    assert "'=cmd" in path.read_text(encoding="utf-8-sig") and ",=cmd" not in path.read_text(encoding="utf-8-sig")
    assert len(read_sheet(path, sample).verdicts) == 4 * len(sample.items)
