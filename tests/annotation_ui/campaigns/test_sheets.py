"""Sheets to raters and back: blind, never written over, read strictly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.campaigns import sheets
from annotation_ui.campaigns.campaign import (
    make_task,
    refuse_outside_app,
)
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.campaigns.sheets import fill_in, read_sheet, write_sheet, write_sheets
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import skip_item
from annotation_ui.tasks import TASKS
from annotation_ui.tasks.forms import Form
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from tests.annotation_ui.conftest import begin
from tests.support.filled_sheets import fill_sheet, put_rows, sheet_rows

YES = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}


@pytest.fixture
def folder(db: RatingsDB, store: Store, tmp_path: Path) -> Path:
    """Blank sheets of the campaign ``c``, whose answers are all yes."""
    begin(db, store, "c", "filter_question", "ann", "bob", number=6)
    written = write_sheets(db, "c", tmp_path / "sheets", "csv")
    assert written == {tmp_path / "sheets" / f"{person}.csv": 6 for person in ("ann", "bob")}
    for path in written:
        fill_sheet(path, YES)
    return tmp_path / "sheets"


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a sheet that have items."""
    return sheet_rows(path)[2:]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_round_trip(db: RatingsDB, store: Store, tmp_path: Path, form: str) -> None:
    begin(db, store, "c", "filter_question", "ann", "bob", number=6)
    write_sheets(db, "c", tmp_path, form)
    path = tmp_path / f"ann.{form}"
    asks, example, *blank = sheet_rows(path)
    assert asks["meaningful"].endswith("(yes or no)") and "target_not_forced = " in asks["reasons"]
    assert asks["Edited fact (old answer → new answer)"] == make_task("filter_question").form.intro.strip()
    assert (example["meaningful"], example["reasons"], example["guides"]) == ("no", "not_asked", "yes")
    texts = ("Edited fact (old answer → new answer)", "Question", "Text up to the gap")
    assert list(blank[0]) == ["n", "campaign", "person", "item", *texts, *YES, "reasons", "comment"]
    assert [r["item"] for r in blank] == [a.item for a in db.assignments("c", "ann")]
    assert [r["item"] for r in blank] != [r["item"] for r in rows(tmp_path / f"bob.{form}")]
    odd = {"guides": "no", "reasons": "target_not_forced; other", "comment": "two\nlines"}
    put_rows(path, [asks, example, blank[0] | YES | odd, *(row | YES for row in blank[1:])])
    (filled,) = fill_in(db, "c", [path])
    assert (filled.person, len(filled.changed), filled.repeated, filled.missing) == ("ann", 6, (), ())
    saved = {r.item: r.answers for r in db.current_answers("c", person="ann")}
    reasons = {"guides": "no", "reasons": ["target_not_forced", "other"], "comment": "two\nlines"}
    assert saved == {r["item"]: YES for r in blank} | {blank[0]["item"]: YES | reasons}
    assert fill_in(db, "c", [path])[0].changed == () and len(db.history("c")) == 6
    assert list(write_sheets(db, "c", tmp_path / "left", form)) == [tmp_path / "left" / f"bob.{form}"]


FAULTS: list[tuple[str, Callable[[list[dict[str, Any]]], object], str]] = [
    ("a no without a reason", lambda r: r[0].update(guides="no"), r"line 7 \(n = 1\): 'guides' is no without a reason"),
    ("half answered", lambda r: r[1].update(guides=""), r"line 1[0-9] \(n = 2\): 'guides' has no answer"),
    ("neither yes nor no", lambda r: r[1].update(guides="Maybe"), "'guides' is 'maybe'; allowed: yes, no"),
    ("an unknown reason", lambda r: r[1].update(reasons="bad"), "'reasons' names 'bad'; allowed: "),
    ("another item", lambda r: r[2].update(item="f\x1b"), r"'f\\u001b' is no item of the campaign 'c' .*1 more fault"),
    ("another campaign", lambda r: r[2].update(campaign="d"), "is no item of the campaign 'c'"),
    ("somebody not asked", lambda r: [x.update(person="eve") for x in r], "the item is not assigned to 'eve'"),
    ("two people", lambda r: r[0].update(person="bob"), "one sheet is of one person, found: 'bob', 'ann'"),
    ("a row is gone", lambda r: r.pop(), "1 item has no answer .*--partial"),
    (
        "rows are empty",
        lambda r: [x.update(dict.fromkeys(YES, "")) for x in r[:2]],
        "2 items have no answer .*--partial",
    ),
    ("no rows", lambda r: r.clear(), "one sheet is of one person, found: nobody"),
]


@pytest.mark.parametrize(("break_it", "message"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_reading_is_strict(
    db: RatingsDB, folder: Path, break_it: Callable[[list[dict[str, Any]]], object], message: str
) -> None:
    bad = rows(folder / "ann.csv")
    header = dict.fromkeys(bad[0], "") | {"n": "example"}
    break_it(bad)
    put_rows(folder / "ann.csv", bad or [header])
    with pytest.raises(DataError, match=message):
        fill_in(db, "c", [folder / "bob.csv", folder / "ann.csv"])
    assert db.history("c") == [], "nothing of either sheet was kept"


def test_partial_repeated_and_answered_again(db: RatingsDB, folder: Path) -> None:
    first, second, *rest = rows(folder / "ann.csv")
    again = {**first, "guides": "NO", "reasons": "target_not_forced"}
    put_rows(folder / "ann.csv", [first, second | dict.fromkeys(YES, ""), *rest, again])
    (filled,) = fill_in(db, "c", [folder / "ann.csv"], partial=True)
    assert filled.missing == (second["item"],) and filled.repeated == (first["item"],)
    answers = {r.item: r.answers or {} for r in db.current_answers("c")}
    assert answers[first["item"]]["guides"] == "no", "the last answer counts"
    skip_item(db, "c", "ann", second["item"], "knowledge")
    put_rows(folder / "ann.csv", [first])
    assert fill_in(db, "c", [folder / "ann.csv"])[0].missing == (), "the rest is in the ratings file, or skipped"
    assert {r.item: r.answers for r in db.current_answers("c")}[first["item"]] == YES


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"{", "line 1: the file is cut off"),
        ("a.jsonl", b"[1]", "line 1: an object is expected"),
        ("a.csv", b"item,campaign\n1,2,3\n", "."),
        ("a.csv", b"", "the file is empty"),
        ("a.csv", b"n,item\n1,x\n", r"line 2 \(n = 1\): 'x' is no item of the campaign"),
        ("a.csv", b"n;campaign;person;item\n1;c;ann;x\n", "divided by semicolons, a .csv file needs commas"),
        ("a.csv", b"n\tcampaign\tperson\titem\n1\tc\tann\tx\n", "divided by tabs, a .csv file needs commas"),
        ("a.csv", "n,campaign\n".encode("utf-16"), "not UTF-8 text but UTF-16"),
        ("a.csv", b"n,campaign\n1,C\xf4te\n", "line 2: .*not UTF-8 text .Latin-1"),
        ("none.csv", None, "no such file"),
    ],
)
def test_files_that_are_no_sheets(db: RatingsDB, folder: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (folder / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        fill_in(db, "c", [folder / name])


def test_answers_are_not_overwritten(db: RatingsDB, folder: Path) -> None:
    for _ in range(2):  # the same blank sheets
        write_sheets(db, "c", folder.parent / "again", "csv")
    before = (folder / "ann.csv").read_bytes()
    with pytest.raises(UserError, match="there already and may hold answers"):
        write_sheets(db, "c", folder, "csv")
    assert (folder / "ann.csv").read_bytes() == before


def test_a_cell_is_obeyed_by_no_terminal_and_no_spreadsheet(tmp_path: Path) -> None:
    write_sheet([{"a": "Fly\x1b[2J to\u202e Oslo\nStep 2", "b": "=cmd|'/c calc'!A0"}], tmp_path / "ann.csv")
    text = (tmp_path / "ann.csv").read_text("utf-8-sig")
    assert "Fly\\u001b[2J to\\u202e Oslo\nStep 2" in text and "'=cmd" in text and ",=cmd" not in text


@pytest.mark.parametrize("answer", ["yes", "Y", "TRUE", " 1 "])
def test_how_people_write_yes(db: RatingsDB, folder: Path, answer: str) -> None:
    fill_sheet(folder / "ann.csv", {"guides": answer})
    assert {a["guides"] for a in read_sheet(db, "c", folder / "ann.csv").answers.values()} == {"yes"}


def test_a_sheet_that_a_spreadsheet_program_saved(db: RatingsDB, folder: Path) -> None:
    """A byte order mark, line ends of Windows, an empty last row, quotes and line breaks inside a cell."""
    fill_sheet(folder / "ann.csv", {"comment": 'two\nlines, "quoted"; Zürich'})
    data = (folder / "ann.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbf")
    empty_row = b"," * (len(rows(folder / "ann.csv")[0]) - 1) + b"\r\n"
    (folder / "ann.csv").write_bytes(data.replace(b"\n", b"\r\n") + empty_row)
    comments = {str(a["comment"]) for a in read_sheet(db, "c", folder / "ann.csv").answers.values()}
    assert {c.replace("\r\n", "\n") for c in comments} == {'two\nlines, "quoted"; Zürich'}


def test_scales_choices_and_an_answer_that_is_closed(db: RatingsDB, store: Store, tmp_path: Path) -> None:
    """Executability is rated first: it is closed once the campaign that shows the question has answers."""
    begin(db, store, "first", "rate_executability", "ann", "bob", group="g", number=6)
    begin(db, store, "later", "rate_script", "ann", "bob", group="g")
    begin(db, store, "=pairs", "compare_executability", "ann", "bob")
    with pytest.raises(UserError, match="'first' comes first, and ann has not finished it"):
        write_sheets(db, "later", tmp_path / "later", "csv")
    values = {"executability": "7", "coherence": "1", "consistency": "4", "completeness": "7"}
    for name in ("first", "later"):
        sheet_paths = list(write_sheets(db, name, tmp_path / name, "csv"))
        for path in sheet_paths:
            fill_sheet(path, values)
        fill_in(db, name, sheet_paths)
    assert {tuple((r.answers or {}).values()) for r in db.current_answers("later")} == {(1, 4, 7)}
    fill_in(db, "first", [tmp_path / "first" / "ann.csv"])  # the same answers again
    fill_sheet(tmp_path / "first" / "ann.csv", {"executability": "6"})
    with pytest.raises(DataError, match="is closed: a later campaign showed ann more of the item"):
        fill_in(db, "first", [tmp_path / "first" / "ann.csv"])
    fill_sheet(tmp_path / "first" / "ann.csv", {"executability": "8"})
    with pytest.raises(DataError, match="'executability' is 8; allowed: 1 to 7"):
        fill_in(db, "first", [tmp_path / "first" / "ann.csv"])
    (path, _) = write_sheets(db, "=pairs", tmp_path / "pairs", "jsonl")
    fill_sheet(path, {"executability": "Third"})
    with pytest.raises(DataError, match="'executability' is 'third'; allowed: first, "):
        fill_in(db, "=pairs", [path])
    fill_sheet(path, {"executability": "First"})
    assert not fill_in(db, "=pairs", [path])[0].missing


@pytest.mark.parametrize("name", TASKS.names())
def test_the_example_of_every_task_passes_its_form(name: str) -> None:
    form: Form = TASKS.get(name).form
    columns = [*(s.title for s in form.shows), *(f.name for f in form.fields)]
    assert len({*columns, "n", "campaign", "person", "item"}) == len(columns) + 4
    _, example = sheets._guide_rows(form, dict.fromkeys(columns, ""), columns[0])
    assert form.faults({f.name: sheets._answer(f, str(v)) for f in form.fields if (v := example[f.name]) != ""}) == []


TASK = "rate_executability"


@pytest.fixture
def trained(db: RatingsDB, store: Store) -> RatingsDB:
    """A campaign of ann's and bob's with a training and an attention item."""
    items = [
        RaterControlItem(purpose=p, id=p, shown={"script": p}, expected={"executability": 7})
        for p in ("training", "attention")
    ]
    begin(db, store, "c", TASK, "ann", "bob", known=items)
    return db


def test_untrained_people_are_sent_to_the_app_first(trained: RatingsDB) -> None:
    (item,) = [i for i, p in trained.items("c").items() if p.purpose == "training"]
    for person, missing in (("ann", "ann"), ("bob", "bob")):
        with pytest.raises(UserError, match=f"{missing} has 1 training items left.*in the rating app first"):
            refuse_outside_app(trained, trained.campaign("c"), {"ann", "bob"})
        trained.save("c", person, item, {"executability": 1}, form=f"{TASK}@1")
    refuse_outside_app(trained, trained.campaign("c"), {"ann", "bob"})


def test_who_has_not_agreed_to_the_text_is_sent_to_the_app_first(db: RatingsDB, store: Store) -> None:
    """Outside the app a text can be shown, and nobody can tell whether somebody agreed to it."""
    begin(db, store, "c", TASK, "ann", "bob", consent="We keep your answers.")
    people.consent(db, "bob", "Another text.")
    for person in ("ann", "bob"):
        with pytest.raises(UserError, match=f"{person} has not agreed to the consent text.*in the rating app first"):
            refuse_outside_app(db, db.campaign("c"), {"ann", "bob"})
        people.consent(db, person, "We keep your answers.")
    refuse_outside_app(db, db.campaign("c"), {"ann", "bob"})


def test_nothing_shared_out_and_a_changed_form_are_refused(trained: RatingsDB, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="nothing of 'c' is assigned"):
        refuse_outside_app(trained, trained.campaign("c"), set())
    cls = type(make_task(TASK))
    monkeypatch.setattr(cls, "form", cls.form.model_copy(update={"intro": "other"}))
    with pytest.raises(UserError, match="its version was not raised"):
        refuse_outside_app(trained, trained.campaign("c"), {"ann"})
