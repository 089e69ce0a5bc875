"""MULFE: documents, probes, statements, and specificity questions."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.loaders import load
from curation.loaders.formats.mulfe import ReadTags, read_tags
from curation.loaders.importer import import_file
from curation.splits.versions import read_errata
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.documents.document import DocumentProbe
from schemas.documents.simplified import SimplifiedFact
from schemas.documents.specificity import SpecificitySet
from schemas.documents.tags import TAGS
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.extras import Extra
from tests.support.commands import invoke
from tests.support.curation.published_records import kinds, of, one

TESTED: dict[str, Any] = {
    "doc": "The Orla Bridge opened in 1931.", "meta": {"entity": "Orla Bridge"}, "id": "t_0",
    "probes": [
        {"query": "The Orla Bridge opened in ___.", "answer": "1931", "level": "1", "tags": [], "id": "t_0_0"},
        {"query": "What opened in 1931?", "answer": "Orla Bridge", "level": "3", "tags": ["Multi-Hop"], "id": "t_0_1"},
    ],
}  # fmt: skip
STATED = {"input": "The ' Orla' opened in", "target": " 1931", "prompt": "The '{}' opened in", "subject": "Orla"}


def with_probe(**changes: Any) -> dict[str, Any]:
    row = copy.deepcopy(TESTED)
    row["probes"][0] |= changes
    return row


def quirks(import_result: Any) -> list[str]:
    return [p.what.split(" (first")[0] for p in import_result.problems if p.kind == "quirk"]


def test_a_document_of_the_evaluation_part(tmp_path: Path) -> None:
    import_result = one(tmp_path, TESTED)
    (document,) = import_result.documents
    assert import_result.format == "mulfe" and import_result.edits == {"document": 1} and document.key == "mulfe/t_0"
    assert (document.entity, document.title, document.source.licence) == ("Orla Bridge", None, "Apache-2.0")
    first, second = of(import_result, DocumentProbe)
    assert (first.key, first.level, first.tags, first.document) == ("mulfe/t_0/0", 1, (), document.key)
    assert (second.level, second.tags) == (3, ("multi_hop",))
    (extra,) = of(import_result, Extra)
    assert extra.value == {"tags": ["Multi-Hop"]} and extra.subject_key == second.key


def test_statements_take_their_strategy_from_the_files_name(tmp_path: Path) -> None:
    import_result = one(tmp_path, {**TESTED, "simplification": [STATED]}, name="x.json.lmqg_ner", format="mulfe")
    (fact,) = of(import_result, SimplifiedFact)
    assert (fact.key, fact.strategy, fact.target) == ("mulfe/t_0/lmqg_ner/0", "lmqg_ner", "1931")
    assert quirks(import_result)[-2:] == [
        "1 statement: its target begins with a space",
        "1 statement: its prompt, filled in, is not its input",
    ]
    assert {"input": STATED["input"]} in [e.value for e in of(import_result, Extra)]
    other = one(tmp_path, {**TESTED, "simplification": [STATED]}, name="x.json")
    assert of(other, SimplifiedFact)[0].strategy == "file"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (with_probe(level=1), []),
        (with_probe(), ["1 probe: its level is text"]),
        (with_probe(level=1, query="From ___ to ___"), ["several blanks", "not word for word"]),
        (with_probe(level=1, query="In ____"), ["longer than three underscores"]),
        (with_probe(level=1, query="When?"), ["of level 1, without a blank"]),
        (with_probe(level=1, query="It opened in ___"), ["of level 1, not word for word"]),
        (with_probe(level=2, query="Was it 1931? "), ["white space", "the query holds its answer"]),
        (with_probe(level=2, query="When?", tags=["Weather", "Time"]), ["a tag is none of the closed list"]),
        ({**TESTED, "doc": TESTED["doc"] + " "}, ["1 document: white space at an end"]),
    ],
)
def test_quirks_are_kept_and_counted(tmp_path: Path, row: dict[str, Any], message: list[str]) -> None:
    row["probes"] = [row["probes"][0]] if message != ["1 document: white space at an end"] else []
    quirk_counts = quirks(one(tmp_path, row))
    assert len(quirk_counts) == len(message) and all(any(s in f for f in quirk_counts) for s in message), quirk_counts


def test_a_probe_without_a_level_has_none_and_keeps_its_odd_field(tmp_path: Path) -> None:
    row = with_probe(**{"12": "1"})
    del row["probes"][0]["level"], row["probes"][1]
    import_result = one(tmp_path, row)
    assert of(import_result, DocumentProbe)[0].level is None and of(import_result, Extra)[0].value == {"12": "1"}
    assert quirks(import_result) == ["1 probe: it has no level"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"doc": " "}, "'doc' must be a text with something in it"),
        (with_probe(level="4"), r"'probes\[0\].level' must be 1, 2 or 3, it is '4'"),
        (with_probe(level=0), "must be 1, 2 or 3"),
        (with_probe(answer=""), r"'probes\[0\].answer' must be a text"),
        ({"probes": [{"query": "Who?"}]}, r"'probes\[0\].id' is missing"),
        ({"simplification": [{**STATED, "prompt": "no gap"}]}, "exactly one {}"),
        ({"simplification": [{**STATED, "target": None}]}, "target' must be a text, it is null"),
    ],
)
def test_a_bad_record_is_named_and_takes_nothing_with_it(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    import_result = one(tmp_path, {**TESTED, **change}, {**TESTED, "id": "t_1"}, format="mulfe")
    assert [d.key for d in import_result.documents] == ["mulfe/t_1"]
    with pytest.raises(DataError, match=message):
        import_result.require()


def test_our_copy_of_the_evaluation_part_loads_whole(shared: Path) -> None:
    import_result = load(shared / "data/mulfe/mulfe_test.json")
    probes = of(import_result, DocumentProbe)
    assert len(import_result.documents) == 228 and not [p for p in import_result.problems if p.lost]
    assert Counter(p.level for p in probes) == {1: 352, 2: 721, 3: 771}
    assert quirks(import_result) == [
        "1 document: white space at an end",
        "1,844 probes: its level is text",
        "98 probes: of level 1, not word for word in its document",
        "6 probes: it has several blanks",
        "49 probes: the query holds its answer",
        "2 probes: its blank is longer than three underscores",
        "1 probe: white space at an end",
    ]


@pytest.mark.parametrize(
    ("strategy", "statements", "unequal"),
    [("doc_openie", 642, 0), ("lmqg", 816, 7), ("lmqg_ner", 1_217, 12), ("stanford_openie", 1_980, 0)],
)
def test_our_copies_of_the_simplifications_load_whole(
    shared: Path, strategy: str, statements: int, unequal: int
) -> None:
    import_result = load(shared / f"data/mulfe/mulfe_test.json.{strategy}")
    facts = of(import_result, SimplifiedFact)
    assert (
        len(facts) == statements and {f.strategy for f in facts} == {strategy} and len(import_result.documents) == 228
    )
    assert [q for q in quirks(import_result) if "target is empty" in q] == (
        ["43 statements: its target is empty"] if strategy == "doc_openie" else []
    )
    assert any(f"{unequal} statements: its prompt" in q for q in quirks(import_result)) == bool(unequal)


ASKED = {"query": "Where is Reno?", "answer": "Nevada", "id": "q_1", "metrics": {"nll": 0.7, "ppl": 2.1}}


def test_a_file_is_one_set_of_the_model_in_its_name(tmp_path: Path) -> None:
    import_result = one(tmp_path, ASKED, {**ASKED, "id": "q_2"}, name="EleutherAI_gpt-j-6B.json")
    (sets,) = import_result.sets
    assert import_result.format == "mulfe-specificity" and import_result.edits == {"specificity set": 1}
    assert sets.model == "EleutherAI/gpt-j-6B" and [q.item for q in sets.questions] == ["q_1", "q_2"]
    assert sets.questions[0].ppl == 2.1 and sets.key.startswith("specificity/EleutherAI/gpt-j-6B/")


def test_two_sets_of_one_model_have_keys_of_their_own(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    for folder, answer in (("a", "Nevada"), ("b", "the US")):
        (tmp_path / folder).mkdir()
        one(tmp_path / folder, {**ASKED, "answer": answer}, name="gpt2-xl.json")
        import_result = import_file(str(tmp_path / folder / "gpt2-xl.json"), store)
        assert (import_result.facts, import_result.noun) == (1, "specificity set")
    with Store.open(store) as db:
        assert {s.questions[0].answer for s in db.all(SpecificitySet)} == {"Nevada", "the US"}


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"id": "q_1"}, "duplicate", "'q_1' is there twice"),
        ({"answer": ""}, "malformed", "'answer' must be a text"),
        ({"metrics": {"ppl": 0.1}}, "invalid", "ppl"),
        ({"metrics": [1]}, "malformed", "the field 'metrics' must be an object"),
    ],
)
def test_a_bad_question_is_named(tmp_path: Path, change: dict[str, object], kind: str, message: str) -> None:
    import_result = one(tmp_path, ASKED, {**ASKED, "id": "q_2", **change}, format="mulfe-specificity")
    assert kinds(import_result) == [kind] and len(import_result.sets[0].questions) == 1
    with pytest.raises(DataError, match=message):
        import_result.require()


@pytest.mark.parametrize(
    ("spelling", "tags"),
    [
        ("Element Extraction", ("element",)),
        ("Element Extration", ("element",)),
        ("Multi-hop", ("multi_hop",)),
        ("Multi-Hop", ("multi_hop",)),
        ("Part-TIme Extraction", ("time", "partial")),
        ("Nation Inference", ("country", "inference")),
        ("Time-Event Inverse", ("time", "reverse")),
        ("Simple Question", ("recall",)),
        ("Cause and Effect", ("cause", "result")),
    ],
)
def test_a_spelling_says_tags_of_the_list(spelling: str, tags: tuple[str, ...]) -> None:
    assert read_tags([spelling]) == ReadTags(tags)


def test_tags_come_once_in_the_lists_order_and_unknown_spellings_beside() -> None:
    assert read_tags(["Multi-Hop", "Time", "Weather", "Date", ""]) == ReadTags(("time", "multi_hop"), ("Weather", ""))


def test_every_published_spelling_is_known_and_every_tag_is_used(shared: Path) -> None:
    spellings: set[str] = set()
    for name, probes, tags in (("test", "probes", "tags"), ("dev", "generated_probes", "tag")):
        rows = json.loads((shared / f"data/mulfe/mulfe_{name}.json").read_text())
        by_name = {tag for row in rows for probe in row[probes] for tag in probe[tags]}
        assert name == "dev" or len(by_name) == 154
        spellings |= by_name
    assert len(spellings) == 334 and not read_tags(spellings).unknown
    assert set(read_tags(spellings).tags) == set(TAGS)


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


def test_quirks_of_elken_are_kept_and_counted(tmp_path: Path) -> None:
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
    invoke("data", "audit", next(tmp_path.glob("*.json*")), "--propose-errata", tmp_path / "errata")
    (erratum,) = read_errata(tmp_path / "errata").entries
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
def test_a_bad_event_is_named_and_takes_nothing_with_it(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    import_result = one(tmp_path, {**EVENT, **change}, {**EVENT, "event": "Bo left."}, format="elken")
    assert (
        [e.text for e in import_result.events] == ["Bo left."]
        and len(import_result.problems) == 1
        and import_result.problems[0].lost
    )
    with pytest.raises(DataError, match=message):
        import_result.require()


@pytest.mark.parametrize(
    ("part", "events", "facts", "tendencies"),
    [("train", 677, (971, 1_325), (3_889, 1_353)), ("test", 709, (1_734, 1_569), (3_164, 749))],
)
def test_our_copy_of_elken_loads_whole(
    shared: Path, part: str, events: int, facts: tuple[int, int], tendencies: tuple[int, int]
) -> None:
    import_result = load(shared / f"data/elken/{part}.json")
    count = Counter((r.kind, getattr(r, "scope", "")) for r in import_result.records)
    assert len(import_result.events) == events and not [p for p in import_result.problems if p.lost]
    assert tuple(count["fact_question", s] for s in ("in", "out")) == facts
    assert tuple(count["tendency_question", s] for s in ("in", "out")) == tendencies
    assert kinds(import_result).count("impossible-answer") == {"train": 0, "test": 13}[part]
