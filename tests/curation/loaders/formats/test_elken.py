from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.loaders import load
from curation.loaders.audit import defects, proposed_errata
from curation.loaders.formats.elken import event_key, question_key
from curation.loaders.importer import import_file
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.extras import Extra
from tests.support.curation.published_records import kinds, of, one

FACT: dict[str, Any] = {
    "question": "Who coaches Alba?", "subject": {"id": "Q1", "name": "Alba"}, "rel_id": "P286", "type": 0,
    "answer": {"id": "Q2", "name": "Ann Lee", "alias": ["A. Lee"]}, "alias": ["FC Alba"],
}  # fmt: skip
OUT = {**{k: v for k, v in FACT.items() if k not in ("type", "alias")}, "question": "Where is Alba?"}
LIKELY = {"question": "How may fans react?", "candidate": "(A) Cheer (B) Leave (C) Stay as they are", "answer": "A"}
EVENT: dict[str, Any] = {
    "event_type": "education", "event": "Ann Lee took over Alba.", "subject": {"id": "Q2", "name": "Ann Lee"},
    "tendency": {"qas": [LIKELY], "local_qas": [{**LIKELY, "question": "How may tides change?", "answer": "C"}]},
    "fact": {"qas": [FACT], "local_qas": [OUT]}, "edit_id": "e-1",
}  # fmt: skip


@pytest.mark.parametrize("kind", ["fact", "tendency"])
def test_a_question_in_both_scopes_is_named_and_counts_as_in_scope(kind: str, tmp_path: Path) -> None:
    row = copy.deepcopy(EVENT)
    row[kind]["local_qas"].append({**row[kind]["qas"][0]})
    result = one(tmp_path, row)
    (problem,) = result.problems
    text = row[kind]["qas"][0]["question"]
    assert problem.kind == "contradictory"
    assert f"the {kind} question {text!r} is both in and out of scope of its event; the first counts: in" in str(
        problem
    )
    kept = [q for q in of(result, FactQuestion if kind == "fact" else TendencyQuestion) if q.text == text]
    assert [q.scope for q in kept] == ["in"]


def test_a_question_of_one_scope_is_none_of_the_other_in_another_case_or_of_another_kind(tmp_path: Path) -> None:
    """As an event case compares questions; a store with both could not be frozen."""
    row = copy.deepcopy(EVENT)
    row["fact"]["local_qas"].append({**OUT, "question": "who COACHES alba?"})
    row["tendency"]["local_qas"].append({**LIKELY, "question": FACT["question"], "answer": "C"})
    result = one(tmp_path, row)
    assert [(p.kind, p.what.partition(" is both in and out of scope")[0]) for p in result.problems] == [
        ("contradictory", "the fact question 'who COACHES alba?'"),
        ("contradictory", "the tendency question 'Who coaches Alba?'"),
    ]
    assert [q.text for q in of(result, FactQuestion)] == ["Who coaches Alba?", "Where is Alba?"]
    assert [q.text for q in of(result, TendencyQuestion)] == ["How may fans react?", "How may tides change?"]


def with_fact(**changes: Any) -> dict[str, Any]:
    row = copy.deepcopy(EVENT)
    row["fact"]["qas"][0] |= changes
    return row


def test_an_event_with_all_of_its_questions(tmp_path: Path) -> None:
    import_result = one(tmp_path, EVENT)
    (event,) = import_result.events
    assert import_result.format == "elken" and import_result.facts == () and not import_result.problems
    assert (event.text, event.type, event.origin, event.names) == (
        EVENT["event"],
        "education",
        "template",
        ("Ann Lee",),
    )
    assert event.source.licence == "CC BY-NC-SA 4.0" and event.source.item == "e-1"
    question, outer_question = of(import_result, FactQuestion)
    assert question.subject.names == ("Alba", "FC Alba") and question.answer.names == ("Ann Lee", "A. Lee")
    assert (question.answer.wikidata, question.relation.id, question.scope, outer_question.scope) == (
        "Q2",
        "P286",
        "in",
        "out",
    )
    likely, local = of(import_result, TendencyQuestion)
    assert likely.options == ("Cheer", "Leave", "Stay as they are") and likely.right_option == "Cheer"
    assert local.scope == "out" and {q.event for q in (question, outer_question, likely, local)} == {event.key}


def test_a_topic_and_an_event_type_of_one_name_are_two() -> None:
    keys = {event_key(type, "X.") for type in ("education", "Education")}
    assert len(keys) == 2 and question_key("e", "fact", "Who?") != question_key("e", "tendency", "Who?")


def test_a_topics_event_was_generated(tmp_path: Path) -> None:
    assert one(tmp_path, {**EVENT, "event_type": "Education"}).events[0].origin == "generated"


def test_quirks_are_kept_and_counted(tmp_path: Path) -> None:
    odd = with_fact(subject={"id": "NA", "ent2name": "Alba"}, rel_id="previous-coach", type=1)
    odd["event"] = '"Ann Lee took over Alba."'
    odd["fact"]["qas"][0]["answer"] = {"id": "NA", "name": "unknown", "alias": ["unknown"]}
    odd["tendency"]["local_qas"][0]["question_type"] = "1"
    import_result = one(tmp_path, odd)
    question = of(import_result, FactQuestion)[0]
    assert (
        question.unknown
        and question.background
        and question.subject.text == "Alba"
        and question.answer.wikidata is None
    )
    assert [p.what.split(" (")[0] for p in import_result.problems] == [
        "1 event: the event stands in quotation marks",
        "1 question: its subject has its name under 'ent2name'",
        "1 question: its answer is its own alias",
        "1 question: its relation is no Wikidata property",
    ]
    (extra,) = of(import_result, Extra)
    assert extra.value == {"question_type": "1"} and extra.subject_key == of(import_result, TendencyQuestion)[1].key


def test_an_answer_that_no_model_can_give_becomes_a_proposal_and_is_not_mended(tmp_path: Path) -> None:
    import_result = one(tmp_path, with_fact(answer={"id": "NA", "name": "famale", "alias": []}))
    question = of(import_result, FactQuestion)[0]
    assert question.answer.text == "famale" and kinds(import_result) == ["impossible-answer"]
    (erratum,) = proposed_errata(import_result.problems)
    assert erratum.item == question.key and erratum.action == "drop" and "'female' is meant" in erratum.what


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"event": ""}, "'event' must be a text with something in it"),
        ({"event_type": None}, "'event_type'.*null"),
        ({"tendency": {"qas": [{**LIKELY, "candidate": "Cheer or leave"}], "local_qas": []}}, "options are not '.A."),
        ({"tendency": {"qas": [{**LIKELY, "candidate": "(A) Go (B) go. (C) Stay"}], "local_qas": []}}, "equal"),
        ({"tendency": {"qas": [{**LIKELY, "answer": "D"}], "local_qas": []}}, "'A', 'B' or 'C'"),
        ({"fact": {"qas": [FACT]}}, "'fact.local_qas' is missing"),
        (
            {"fact": {"qas": [], "local_qas": [{**OUT, "answer": {"id": "NA", "name": "unknown"}}]}},
            "out of scope nothing",
        ),
    ],
)
def test_a_bad_record_is_named_and_takes_nothing_with_it(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    import_result = one(tmp_path, {**EVENT, **change}, {**EVENT, "event": "Bo left."}, format="elken")
    assert (
        [e.text for e in import_result.events] == ["Bo left."]
        and len(import_result.problems) == 1
        and import_result.problems[0].lost
    )
    with pytest.raises(DataError, match=message):
        import_result.require()


def test_an_event_that_stands_twice_is_a_duplicate(tmp_path: Path) -> None:
    assert kinds(one(tmp_path, EVENT, EVENT)) == ["duplicate"]


def test_an_import_counts_events(tmp_path: Path) -> None:
    one(tmp_path, EVENT, {**EVENT, "event": "Bo left."})
    import_result = import_file(str(tmp_path / "f.json"), tmp_path / "s.duckdb")
    assert (import_result.facts, import_result.noun, import_result.put.seen) == (2, "event", 10)
    with Store.open(tmp_path / "s.duckdb") as store:
        assert {k: v["current"] for k, v in store.stats()["records"].items()} == {
            "event": 2, "fact_question": 4, "tendency_question": 4,
        }  # fmt: skip


@pytest.mark.parametrize(
    ("part", "events", "facts", "tendencies"),
    [("train", 677, (971, 1_325), (3_889, 1_353)), ("test", 709, (1_734, 1_569), (3_164, 749))],
)
def test_our_copy_loads_whole(
    shared: Path, part: str, events: int, facts: tuple[int, int], tendencies: tuple[int, int]
) -> None:
    import_result = load(shared / f"data/elken/{part}.json")
    count = Counter((r.kind, getattr(r, "scope", "")) for r in import_result.records)
    assert len(import_result.events) == events and not [p for p in import_result.problems if p.lost]
    assert tuple(count["fact_question", s] for s in ("in", "out")) == facts
    assert tuple(count["tendency_question", s] for s in ("in", "out")) == tendencies
    assert kinds(import_result).count("impossible-answer") == {"train": 0, "test": 13}[part]


def test_defects_reads_the_whole_file(tmp_path: Path) -> None:
    odd = with_fact(question="Who  coaches Alba?")
    one(tmp_path, odd)
    assert [p.kind for p in defects(tmp_path / "f.json")[1]] == ["stray-space"]
