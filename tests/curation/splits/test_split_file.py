"""Frozen split files, and parts of splits that share nothing."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from curation.shipped import shipped_split
from curation.splits.partition import relation_groups, separate, shared_values
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
from schemas.cases import Case, CaseNeighbour, DocumentCase, EventCase, read_case
from schemas.core.errors import DataError, UserError
from schemas.extras import Extra
from schemas.facts import Entity, Fact, Neighbour, Relation
from tests.support.arithmetic import make_case
from tests.support.commands import invoke
from tests.support.documents.records import document_case
from tests.support.events import event_case
from tests.support.facts import make_fact, peru_fact
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
    "dropped by a check": (
        {"facts": 2, "question: dropped by script_format": 3},
        "scedit split explain KEY",
    ),
}


@pytest.mark.parametrize("name", COUNTS)
def test_an_empty_split_names_its_counts_per_reason(name: str) -> None:
    counts, words = COUNTS[name]
    text = str(no_case("s", counts))
    assert words in text and "'s'" in text and len(text) < 400


PARTS = {"train": 0.8, "dev": 0.1, "test": 0.1}


def fact(key: str, subject: str, relation: str = "P36", **more: Any) -> Fact:
    return make_fact(
        Entity(text=subject, **more), f"old of {key}", f"new of {key}", key=key, relation=Relation(id=relation)
    )


def made(n: int, subjects: int, relations: int, seed: int = 0) -> list[Fact]:
    rng = random.Random(seed)
    return [fact(f"f{i:04d}", f"Subject {rng.randrange(subjects)}", f"P{rng.randrange(relations)}") for i in range(n)]


@pytest.mark.parametrize("strategy", ["hash", "balanced"])
@pytest.mark.parametrize("by", [("subject",), ("relation",), ("fact",), ("object",), ("subject", "fact")])
def test_nothing_is_shared_across_parts(by: tuple[str, ...], strategy: str) -> None:
    facts = made(400, 150, 60)
    partition = separate(facts, by=by, parts=PARTS, strategy=strategy)  # type: ignore[arg-type]
    values = {p: {v for f in facts if partition.part[f.key] == p for v in shared_values(f, by)} for p in PARTS}
    assert all(not values[a] & values[b] for a, b in itertools.combinations(PARTS, 2))
    assert sum(partition.counts.values()) == 400 and all(values.values())


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (fact("a", "São Paulo"), fact("b", "sao paulo")),
        (fact("a", "USA"), fact("b", "United States", aliases=("U.S.A.", "USA"))),
        (fact("a", "Roma", wikidata="Q220"), fact("b", "Rome", wikidata="Q220")),
    ],
)
def test_one_subject_under_two_names_stays_together(one: Fact, two: Fact) -> None:
    others = [fact(f"x{i}", f"Other {i}") for i in range(20)]
    for seed in range(6):
        for strategy in ("hash", "balanced"):
            partition = separate(
                [one, two, *others], by=["subject"], parts={"a": 0.5, "b": 0.5}, seed=str(seed), strategy=strategy
            )  # type: ignore[arg-type]
            assert partition.part["a"] == partition.part["b"] and partition.group["a"] == partition.group["b"] == "a"
    apart = separate([fact("a", "C"), fact("b", "C++")], by=["subject"], parts={"x": 0.5, "y": 0.5})
    assert apart.part["a"] != apart.part["b"]


def test_the_draw_depends_on_the_seed_and_not_on_the_order() -> None:
    facts = made(300, 200, 20)
    one = separate(facts, parts=PARTS, seed="1")
    assert one == separate(facts[::-1], parts=PARTS, seed="1")
    assert one.part != separate(facts, parts=PARTS, seed="2").part


def test_shares_are_met() -> None:
    facts = made(1000, 700, 20)
    exact = separate(facts, parts=PARTS).counts
    assert abs(exact["train"] - 800) <= 2 and abs(exact["dev"] - 100) <= 2
    counts = separate(facts, parts=PARTS, strategy="hash").counts
    assert abs(counts["train"] - 800) < 60


def test_by_hash_later_cases_move_nobody() -> None:
    facts = made(200, 10**9, 20)
    one = separate(facts, parts=PARTS, strategy="hash").part
    two = separate([*facts, *(fact(f"g{i}", f"Newcomer {i}") for i in range(100))], parts=PARTS, strategy="hash").part
    assert one == {k: two[k] for k in one}


def test_neighbours_tie_cases_together() -> None:
    cases = [make_case(name) for name in ("Peru", "Mali", "Cuba", "Chad")]
    linked = cases[1].model_copy(
        update={
            "neighbours": (
                CaseNeighbour(
                    link=Neighbour(key="n/1", edit=cases[1].fact.key, fact=cases[2].fact.key, how="same_object"),
                    fact=cases[2].fact.model_copy(update={"new": None, "change": "none"}),
                ),
            )
        }
    )
    cases = [c.model_copy(update={"neighbours": ()}) for c in cases]
    cases[1] = linked
    for tied in (False, True):
        group = separate(cases, parts={"a": 0.5, "b": 0.5}, neighbours=tied).group
        assert (group[cases[1].key] == group[cases[2].key]) is tied and group[cases[0].key] != group[cases[3].key]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parts": {"train": 0.8}}, "sum to 1"),
        ({"parts": {}}, "no shares"),
        ({"parts": {"a": 1.5, "b": -0.5}}, "no shares"),
        ({"by": ["colour"]}, "facts have no 'colour' to separate by"),
        ({"by": []}, "nothing is named"),
        (
            {"by": ["relation"], "parts": {"a": 0.5, "b": 0.5}},
            "would be empty: 2 cases form 1 group, the largest of 2; no two groups share a relation",
        ),
    ],
)
def test_mistakes(options: dict[str, object], message: str) -> None:
    facts = [fact("a", "A"), fact("b", "B")]
    with pytest.raises(UserError, match=message):
        separate(facts, **{"parts": {"a": 0.5, "b": 0.5}, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "by"), [("mini", "subject"), ("events", "type")])
def test_the_command_writes_parts_that_load(tmp_path: Path, name: str, by: str) -> None:
    whole, words = shipped_split(name), ["split", "partition", name, "--by", by, "--out", tmp_path]
    output = invoke(*words, "--part", "train=0.5", "--part", "test=0.5")
    assert f"groups that share no {by}" in output
    train, test = (load_split(tmp_path / f"{name}-{part}.jsonl") for part in ("train", "test"))
    assert {c.key for c in (*train.all_cases, *test.all_cases)} == {c.key for c in whole.all_cases}
    values = [{value for case in part.all_cases for value in shared_values(case, [by])} for part in (train, test)]
    assert not values[0] & values[1] and all(values)
    assert train.header["separated"]["of"] == whole.digest
    with pytest.raises(UserError, match="--part takes NAME=SHARE"):
        invoke(*words, "--part", "x")


def test_wordings_of_one_relation_are_joined_by_shared_subjects_and_objects() -> None:
    """Wordings a and b both say Lima of Peru, so their cases stay together; c shares nothing and may be elsewhere."""
    told = [("Peru", "Lima", "a"), ("Peru", "Lima", "b"), ("Chile", "Santiago", "a"), ("Mali", "Bamako", "b"),
            ("Cuba", "Havana", "c")]  # fmt: skip
    facts = [
        make_fact(s, o, key=str(n), relation=f"template:{w}", prompt="{} " + w) for n, (s, o, w) in enumerate(told)
    ]
    partition = separate(facts, by=["relation"], parts={"x": 0.8, "y": 0.2})
    assert {partition.part[k] for k in "0123"} == {"x"} and partition.part["4"] == "y"
    assert (partition.wordings, partition.joined) == (3, 2)


def test_relations_with_ids_promise_and_are_not_joined() -> None:
    facts = [
        make_fact("Paris", "France", key="1", relation="P17"),
        make_fact("Paris", "France", key="2", relation="P36"),
    ]
    partition = separate(facts, by=["relation"], parts={"x": 0.5, "y": 0.5})
    assert (partition.wordings, partition.joined, partition.counts) == (0, 0, {"x": 1, "y": 1})
    assert relation_groups(facts) == {}


@pytest.mark.parametrize("by", [("type",), ("type", "subject"), ("subject",), ("relation",), ("object",), ("fact",)])
def test_events_share_nothing_across_parts(by: tuple[str, ...]) -> None:
    cases = [case for case in shipped_split("events").all_cases if isinstance(case, EventCase)]
    if by == ("relation",):
        cases = [case for case in cases if not case.facts]  # the others are all connected
    partition = separate(cases, by=by, parts={"train": 0.5, "test": 0.5})  # type: ignore[arg-type]
    values = [
        {v for case in cases if partition.part[case.key] == part for v in shared_values(case, by)}
        for part in ("train", "test")
    ]
    assert not values[0] & values[1] and sum(partition.counts.values()) == len(cases)
    assert by == ("relation",) or all(values)


def test_what_an_event_shares() -> None:
    case = event_case()
    assert set(shared_values(case, ["type", "object", "relation"])) == {
        ("type", "merger"),
        ("object", "alba rail"),  # not the answer that becomes unknown, nor one out of scope
        ("relation", "P127"),
    }
    assert list(shared_values(case, ["subject", "fact"])) == []  # nobody says who it is about
    with pytest.raises(UserError, match="events have no 'topic' to separate by"):
        list(shared_values(case, ["topic"]))
    with pytest.raises(UserError, match="facts have no 'type'"):
        separate(made(3, 3, 3), by=["type"], parts=PARTS)
