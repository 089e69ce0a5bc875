from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from curation.splits.split_file import (
    NONE,
    SEAL,
    TYPED,
    CaseStream,
    Extras,
    check_header,
    check_name,
    header_type,
    load_split,
    make_split,
    no_case,
    one_type,
    seal,
    write_split,
)
from schemas.cases import Case, DocumentCase, EventCase, read_case
from schemas.core.errors import DataError, UserError
from schemas.extras import Extra
from tests.support.documents.records import document_case
from tests.support.events import event_case
from tests.support.facts import peru_fact
from tests.support.small import small_split


@pytest.fixture
def path(tmp_path: Path) -> Path:
    split = make_split(
        "s", [Case(key=f"case/{n}", fact=peru_fact(f"f/{n}")) for n in "cab"], details={"counts": {"x": 1}}
    )
    write_split(split, tmp_path / "s.jsonl")
    return tmp_path / "s.jsonl"


@pytest.mark.parametrize("make", [event_case, document_case])
def test_events_and_documents_are_read_whole_and_in_a_stream(
    tmp_path: Path, make: Callable[[str], EventCase | DocumentCase]
) -> None:
    split = make_split("d", [make("case/a"), make("case/z")])
    write_split(split, tmp_path / "d.jsonl")
    assert json.loads((tmp_path / "d.jsonl").read_text().splitlines()[0])["format"] == TYPED
    back = load_split(tmp_path / "d.jsonl")
    assert back.all_cases == split.all_cases and back.header == split.header
    assert (back.digest, back.type) == (split.digest, split.type)


def test_digest_is_of_the_cases_only() -> None:
    cases = [Case(key=f"case/{n}", fact=peru_fact(f"f/{n}")) for n in "ab"]
    one, two = make_split("s", cases), make_split("t", cases[::-1], version="2.0.0", details={"x": 1})
    assert one.digest == two.digest and one.cases == two.cases, "in order of their keys"
    assert make_split("s", cases[:1]).digest != one.digest


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda lines: [*lines[:-1], lines[-1][:40]], "line 4"),
        (lambda lines: lines[:-1], "header says 3 cases, 2 are there"),
        (lambda lines: [*lines[:-1], lines[-1].replace("Lima", "Cusco")], "not the frozen cases"),
        (lambda lines: [*lines, lines[-1]], "'case/c' is there twice"),
        (lambda lines: lines[1:], "no header"),
        (lambda lines: [json.dumps({**json.loads(lines[0]), "format": 9}), *lines[1:]], "format 9 is not known"),
    ],
)
def test_spoilt_files_are_refused(path: Path, spoil: Callable[[list[str]], list[str]], message: str) -> None:
    path.write_text("\n".join(spoil(path.read_text().rstrip("\n").split("\n"))))
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


FACT, EVENT = Case(key="case/f", fact=peru_fact()), event_case()


@pytest.mark.parametrize("names", ["document", 3, None, ["event"]])
def test_a_case_of_an_unknown_type_is_no_case(names: object) -> None:
    data = {**EVENT.payload(), "type": names}
    with pytest.raises(ValidationError):
        read_case(json.dumps(data))


def test_cases_of_one_split_are_of_one_type() -> None:
    assert one_type({"event"}, "s") == "event" and one_type((), "s") == "fact"
    with pytest.raises(UserError, match="several types .event, fact.; .*one type a split; make a split of each"):
        make_split("s", [FACT, EVENT])


def test_a_header_without_a_type_is_of_facts() -> None:
    assert header_type({}, "h") == "fact" and header_type({"type": "event"}, "h") == "event"
    with pytest.raises(DataError, match="h: cases of the type 'poem' are not known; .*fact, event, document; upgrade"):
        header_type({"type": "poem"}, "h")


def test_what_works_on_facts_says_so() -> None:
    assert make_split("mine", [FACT]).cases == (FACT,)
    with pytest.raises(UserError, match="mine@1.0.0: this works on edits of facts, and the split's edits are events"):
        _ = make_split("mine", [EVENT]).cases


def test_a_stream_reads_anew_each_time() -> None:
    passes = []

    def read():  # type: ignore[no-untyped-def]
        passes.append(1)
        return iter([FACT, EVENT])

    stream = CaseStream(2, read)
    assert len(stream) == 2 and not passes
    assert [*stream, *stream] == [FACT, EVENT] * 2 and stream[1] == EVENT and stream[-2] == FACT
    assert stream[:1] == (FACT,) and len(passes) == 5
    with pytest.raises(IndexError):
        stream[2]


ONE, TWO = (Extra.holding(f"{key}/extra/x", [key], subject_key=key, name="x") for key in ("f/1", "f/2"))


def test_extras_come_in_order_of_their_keys() -> None:
    extras = Extras([TWO, ONE])
    assert list(extras) == [ONE, TWO] and extras == Extras([ONE, TWO]) and extras != NONE
    assert extras.of(["f/2", "f/3"]) == [TWO] and not NONE and NONE.of(["f/1"]) == []


BAD = [
    "../x",
    "..",
    ".hidden",
    "/etc/x",
    "a/b",
    "a\\b",
    "",
    "a b",
    "a@1",
    "-x",
    "x" * 101,
    "a\n",
    "a..b",
    "-rf",
    "CON",
    "nul.1",
    "Com1",
]


@pytest.mark.parametrize("name", BAD)
def test_a_new_name_is_no_path(name: str) -> None:
    with pytest.raises(UserError, match="cannot be the name of a split"):
        check_name(name)


@pytest.mark.parametrize(
    ("header", "fits"),
    [
        ({"split": "group/small", "version": "1.0.0"}, True),
        ({"split": "../x", "version": "1.0.0"}, False),
        ({"split": "/x", "version": "1.0.0"}, False),
        ({"split": "a/../b", "version": "1.0.0"}, False),
        ({"split": "x", "version": "../../1"}, False),
        ({"split": "x", "version": ""}, False),
        ({"split": "x\\y", "version": "1"}, False),
        ({"split": 3, "version": "1"}, False),
        ({"split": "-rf", "version": "1"}, False),
        ({"split": "con", "version": "1"}, False),
        ({"split": "x@../y", "version": "1"}, False),
    ],
)
def test_a_header_that_would_lead_out_of_a_folder(header: dict[str, Any], fits: bool) -> None:
    if fits:
        check_header(header, "f")
        return
    with pytest.raises(DataError, match="cannot be a name"):
        check_header(header, "f")


def test_a_sealed_header_that_was_edited(tmp_path: Path) -> None:
    """Version, rule, quality: what was said at the release is said of these cases or not at all."""
    path = tmp_path / "s.jsonl"
    split = make_split("s", small_split().cases[:2], details={"quality": {"acceptance": 0.5}})
    split.header[SEAL] = seal(split.header)
    write_split(split, path)
    assert load_split(path).header[SEAL] == split.header[SEAL]
    header, *cases = path.read_text().splitlines()
    for change in ({"version": "9.9.9"}, {"quality": {"acceptance": 1.0}}, {"split": "t"}, {"more": 1}):
        path.write_text("\n".join([json.dumps(json.loads(header) | change), *cases]) + "\n")
        with pytest.raises(DataError, match="edited after the release"):
            load_split(path)


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
    "events": (
        {"cases": 0, "events": 24, "event: too few questions": 24},
        "(24 events in the rule's scope; event: too",
    ),
    "a document": ({"cases": 0, "documents": 1}, "(1 document in the rule's scope)"),
    "not known": (None, "no case; loosen"),
    "held by reading": ({"facts": 2, "prompt: held by read": 3, "fact: too few prompts": 2}, "--set unsure=keep"),
    "dropped by a check": ({"facts": 2, "question: dropped by script_format": 3}, "loosen its rule, or see why"),
}


@pytest.mark.parametrize("name", COUNTS)
def test_an_empty_split_names_its_counts_per_reason(name: str) -> None:
    counts, words = COUNTS[name]
    text = str(no_case("s", counts))
    assert words in text and "'s'" in text and len(text) < 400
