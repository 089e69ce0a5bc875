from __future__ import annotations

from pathlib import Path

import pytest

from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.splits.versions import Errata, Erratum, add_erratum, diff, merge_errata, read_errata, withdraw_errata
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from tests.support.curation.rule_records import CHAINS, EDIT, P0

ENTRY = Erratum(item=P0.key, what="cut in a word", date="2026-11-21")


def test_add_once_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "errata.jsonl"
    assert add_erratum(path, ENTRY)
    assert not add_erratum(path, ENTRY.model_copy(update={"date": "2026-12-01"})), "the same fault is told once"
    assert add_erratum(path, ENTRY.model_copy(update={"action": "note"}))
    assert [e.action for e in read_errata(path).entries] == ["drop", "note"]


def test_a_text_may_hold_the_line_ends_of_unicode(tmp_path: Path) -> None:
    path = tmp_path / "errata.jsonl"
    entry = ENTRY.model_copy(update={"what": "one\u2028two\u0085three"})
    assert add_erratum(path, entry)
    assert read_errata(path).entries == (entry,)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON"),
        ('{"item": "a", "what": "b", "date": "yesterday"}', "line 2: date: 'yesterday' is no ISO date"),
        ('{"item": "a", "wat": "b", "date": "2026-01-01"}', "line 2: .*"),
        ('{"item": "a", "what": "b", "action": "burn", "date": "2026-01-01"}', "line 2: action"),
    ],
)
def test_lines_that_are_no_errata(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(ENTRY.model_dump_json() + "\n" + line + "\n")
    with pytest.raises(DataError, match=message):
        read_errata(path)


def test_an_absent_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such errata file"):
        read_errata(tmp_path / "e.jsonl")


def test_drop_before_hold_before_note() -> None:
    entries = [ENTRY.model_copy(update={"action": a}) for a in ("note", "hold", "drop")]
    merged_errata = merge_errata({"errata": [e.model_dump() for e in entries]}).of(P0.key, P0.id)
    assert merged_errata is not None and merged_errata.action == "drop"


def test_errata_carry_over_until_corrected(tmp_path: Path) -> None:
    """An erratum given once holds for the next versions, and ends with the correction of its item."""
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([EDIT, *CHAINS[0], *CHAINS[1]])
        first = freeze(store, "mine", SplitRule(), errata=(ENTRY.model_copy(update={"id": P0.id}),))
        assert first.header["counts"]["prompt: dropped by erratum"] == 1
        second = freeze(store, "mine", SplitRule(min_neighbours=0), version="1.1.0")
        assert second.digest == first.digest and second.header["errata"] == first.header["errata"]
        store.put([P0.model_copy(update={"text": P0.text + " big", "offset": P0.offset + 4})])
        third = freeze(store, "mine", SplitRule(), version="1.2.0")
        assert len(third.cases[0].prompts) == 2 and third.header["errata"], "history is kept"


def test_what_was_withdrawn_applies_to_nothing_and_stays_on_record() -> None:
    hold = ENTRY.model_copy(update={"action": "hold", "what": "look at it"})
    back = ENTRY.model_copy(update={"action": "withdraw", "what": "it is whole"})
    again = ENTRY.model_copy(update={"what": "cut in another word"})
    known = Errata([ENTRY, hold, back])
    assert known.of(P0.key, P0.id) is None and known.standing(P0.key) == ()
    assert known.on(P0.key) == known.entries == (ENTRY, hold, back)
    assert Errata([back, ENTRY]).of(P0.key, P0.id) == ENTRY, "only what stands before it"
    assert Errata([ENTRY, back, again]).standing(P0.key) == (again,)
    other = ENTRY.model_copy(update={"item": EDIT.key})
    assert Errata([ENTRY, other, back]).of(EDIT.key, EDIT.id) == other
    assert merge_errata({"errata": [e.model_dump() for e in known.entries]}, [ENTRY]).of(P0.key, P0.id) is None


def test_withdrawing_from_a_file_and_from_a_header(tmp_path: Path) -> None:
    path, header = tmp_path / "errata.jsonl", {"errata": [ENTRY.model_dump()]}
    with pytest.raises(UserError, match="no erratum on '.*' stands"):
        withdraw_errata(path, P0.key, "x", date="2026-12-01")
    assert not path.exists()
    assert withdraw_errata(path, P0.key, "x", date="2026-12-01", header=header) == (ENTRY,)
    assert [e.action for e in read_errata(path).entries] == ["withdraw"]
    with pytest.raises(UserError, match="stands"):
        withdraw_errata(path, P0.key, "x", date="2026-12-01", header=header)
    assert add_erratum(path, ENTRY)
    assert withdraw_errata(path, P0.key, "y", date="2026-12-01") == (ENTRY,)
    assert not [e for e in read_errata(path).standing(P0.key)]
    with pytest.raises(UserError, match="stands there already.*say it otherwise"):
        add_erratum(path, ENTRY)
    assert add_erratum(path, again := ENTRY.model_copy(update={"what": "another fault"}))
    with pytest.raises(UserError, match="say it otherwise"):
        withdraw_errata(path, P0.key, "y", date="2026-12-01")
    assert read_errata(path).standing(P0.key) == (again,)
    with pytest.raises(DataError, match="is no ISO date"):
        withdraw_errata(path, P0.key, "z", date="tomorrow")


def test_a_candidate_loses_an_erratum_that_was_wrong(tmp_path: Path) -> None:
    """Frozen into a candidate that nobody released, withdrawn, and gone in the next one, with its history."""
    path = tmp_path / "errata.jsonl"
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([EDIT, *CHAINS[0], *CHAINS[1]])
        whole = freeze(store, "mine", SplitRule(), version="1.0.0")
        wrong = freeze(store, "mine", SplitRule(), version="1.1.0-candidate", errata=(ENTRY,))
        assert len(wrong.cases[0].prompts) == 1
        withdraw_errata(path, P0.key, "it is whole", date="2026-12-01", header=wrong.header)
        mended = freeze(store, "mine", SplitRule(), version="1.1.0-candidate.2", errata=read_errata(path).entries)
        assert mended.digest == whole.digest
        assert [e["action"] for e in mended.header["errata"]] == ["drop", "withdraw"]
        (change,) = diff(wrong, mended).changes
        assert change.reason == f"erratum on {P0.key} withdrawn: it is whole"
        assert diff(whole, wrong).changes[0].reason == f"erratum on {P0.key}: cut in a word"
        later = freeze(store, "mine", SplitRule(), version="1.2.0-candidate")
        assert later.digest == whole.digest and later.header["errata"] == mended.header["errata"]
