from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.rules.release import freeze
from curation.rules.rule import SplitRule
from curation.splits.split_file import load_split, make_split, no_case, write_split
from curation.store.store import Store
from schemas.cases import Case
from schemas.core.errors import DataError, UserError
from schemas.verdicts import Verdict, verdict_key
from tests.support.facts import make_fact, peru_fact


@pytest.fixture
def path(tmp_path: Path) -> Path:
    split = make_split(
        "s", [Case(key=f"case/{n}", fact=peru_fact(f"f/{n}")) for n in "cab"], about={"counts": {"x": 1}}
    )
    write_split(split, tmp_path / "s.jsonl")
    return tmp_path / "s.jsonl"


def test_round_trip_in_order_of_keys(path: Path) -> None:
    split = load_split(path)
    assert [c.key for c in split.cases] == ["case/a", "case/b", "case/c"]
    assert split.header["counts"] == {"x": 1}
    assert not path.with_name("s.jsonl.partial").exists()


def test_digest_is_of_the_cases_only() -> None:
    cases = [Case(key=f"case/{n}", fact=peru_fact(f"f/{n}")) for n in "ab"]
    one, two = make_split("s", cases), make_split("t", cases[::-1], version="2.0.0", about={"x": 1})
    assert one.digest == two.digest
    assert make_split("s", cases[:1]).digest != one.digest


def cut_off(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1][:40]]


def one_less(lines: list[str]) -> list[str]:
    return lines[:-1]


def edited(lines: list[str]) -> list[str]:
    return [*lines[:-1], lines[-1].replace("Lima", "Cusco")]


def twice(lines: list[str]) -> list[str]:
    return [*lines, lines[-1]]


def headless(lines: list[str]) -> list[str]:
    return lines[1:]


def future(lines: list[str]) -> list[str]:
    return [json.dumps({**json.loads(lines[0]), "format": 9}), *lines[1:]]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (cut_off, "line 4"),
        (one_less, "header says 3 cases, 2 are there"),
        (edited, "not the frozen cases"),
        (twice, "'case/c' is there twice"),
        (headless, "no header"),
        (future, "format 9 is not known"),
    ],
)
def test_spoilt_files_are_refused(path: Path, spoil: object, message: str) -> None:
    path.write_text("\n".join(spoil(path.read_text().rstrip("\n").split("\n"))))  # type: ignore[operator]
    with pytest.raises(DataError, match=message):
        load_split(path)


def test_absent_binary_and_empty(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such split"):
        load_split(tmp_path / "x")
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="UTF-8"):
        load_split(tmp_path / "b")
    with pytest.raises(UserError, match="would have no case"):
        make_split("s", [])


COUNTS = {
    "none of its kind": ({"cases": 0}, "0 facts to edit in the rule's scope)"),
    "all held": (
        {"cases": 0, "facts": 20, "fact: held by fact_dates@1": 20},
        "20 facts to edit in the rule's scope; fact: held",
    ),
    "the most frequent first": (
        {"facts": 1200, "question: dropped by a": 3, "prompt: dropped by b": 4100, "fact: too few prompts": 1200},
        "prompt: dropped by b: 4,100; fact: too few prompts: 1,200; question: dropped by a: 3)",
    ),
    "many": ({"facts": 1, **{f"reason {n}": n for n in range(1, 30)}}, "reason 29: 29; reason 28: 28;"),
    "not known": (None, "no case; loosen"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_an_empty_split_names_its_counts_per_reason(name: str) -> None:
    counts, words = COUNTS[name]
    text = str(no_case("s", counts))
    assert words in text and "'s'" in text and len(text) < 400


def test_freezing_nothing_says_what_was_left_out_for_which_reason(tmp_path: Path) -> None:
    """Through the store: an undated temporal edit of a source that states no order, with a prompt that would do."""
    fact = make_fact().model_copy(update={"change": "temporal"})
    by = "fact_dates@2"
    held = Verdict(key=verdict_key(item_id=fact.id, by=by), item_id=fact.id, by=by, label="unsure", reason="no date")
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([fact, held])
        with pytest.raises(UserError) as told:
            freeze(store, "t", SplitRule())
    assert "1 fact to edit" in str(told.value) and "held by fact_dates: 1" in str(told.value)
