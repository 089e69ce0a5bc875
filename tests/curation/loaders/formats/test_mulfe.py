"""MULFE: documents, probes, statements, and specificity questions."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from curation.loaders import load
from curation.loaders.importer import import_file
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.documents.document import DocumentProbe
from schemas.documents.simplified import SimplifiedFact
from schemas.documents.specificity import SpecificitySet
from schemas.extras import Extra
from tests.support.curation.published_records import kinds, of, one

TESTED: dict[str, Any] = {
    "doc": "The Orla Bridge opened in 1931.", "meta": {"entity": "Orla Bridge"}, "id": "t_0",
    "probes": [
        {"query": "The Orla Bridge opened in ___.", "answer": "1931", "level": "1", "tags": [], "id": "t_0_0"},
        {"query": "What opened in 1931?", "answer": "Orla Bridge", "level": "3", "tags": ["Multi-Hop"], "id": "t_0_1"},
    ],
}  # fmt: skip
DEVELOPED: dict[str, Any] = {
    "page_title": "Orla_Bridge", "created": "2021-02-01", "doc": "The Orla Bridge opened in 1931.", "id": "d_0",
    "generated_probes": [{"query": "When did it open?", "answer": "1931", "level": "2", "tag": ["Date"],
                          "id": "d_0_3"}],
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


def test_a_document_of_the_development_part(tmp_path: Path) -> None:
    import_result = one(tmp_path, DEVELOPED)
    (document,), (probe,) = import_result.documents, of(import_result, DocumentProbe)
    assert (document.title, document.source.date, document.entity) == ("Orla_Bridge", "2021-02-01", None)
    assert (probe.key, probe.level, probe.tags) == ("mulfe/d_0/3", 2, ("time",))


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


def test_a_document_that_stands_twice_is_a_duplicate(tmp_path: Path) -> None:
    assert "duplicate" in kinds(one(tmp_path, TESTED, TESTED))


def test_an_import_counts_documents(tmp_path: Path) -> None:
    one(tmp_path, TESTED, {**TESTED, "id": "t_1"})
    import_result = import_file(str(tmp_path / "f.json"), tmp_path / "s.duckdb")
    assert (import_result.facts, import_result.noun) == (2, "document")
    with Store.open(tmp_path / "s.duckdb") as store:
        assert store.stats()["records"]["document_probe"]["current"] == 4


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


def test_literal_probes_of_our_copy(shared: Path) -> None:
    """253 with the published blank of three underscores, and one with four."""
    from schemas.documents.document import is_literal

    import_result = load(shared / "data/mulfe/mulfe_test.json")
    texts = {d.key: d for d in import_result.documents}
    literal = [p for p in of(import_result, DocumentProbe) if p.level == 1 and is_literal(p, texts[p.document])]
    assert (len(literal), sum("____" not in p.query for p in literal)) == (254, 253)


def test_our_copy_of_the_development_part_loads_whole(shared: Path) -> None:
    import_result = load(shared / "data/mulfe/mulfe_dev.json")
    probes = of(import_result, DocumentProbe)
    assert (len(import_result.documents), len(probes)) == (300, 3_429) and not [
        p for p in import_result.problems if p.lost
    ]
    assert [p.key for p in probes if p.level is None] == ["mulfe/mulfe_dev_94/6"]


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


def test_a_question_without_an_id_is_named(tmp_path: Path) -> None:
    import_result = one(tmp_path, {k: v for k, v in ASKED.items() if k != "id"}, format="mulfe-specificity")
    assert not import_result.sets and import_result.problems[0].what == "the field 'id' is missing"


@pytest.mark.parametrize("model", ["gpt2-xl", "EleutherAI_gpt-j-6B", "meta-llama_Llama-2-7b-hf"])
def test_our_copy_loads_whole(shared: Path, model: str) -> None:
    (sets,) = load(shared / f"data/mulfe/tq_specifity_random400/{model}.json").sets
    assert len(sets.questions) == 400 and sets.model.replace("/", "_") == model
