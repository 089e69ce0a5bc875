"""Facts of documents learnt instead of their texts; statements of a released file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from curation.files.artifact_cache import Cache
from curation.splits.split_file import make_split
from evaluation.editors.presets import make_editor
from evaluation.edits.edit import NoEdit
from evaluation.engines.base import Job
from evaluation.engines.fast import FastEngine
from evaluation.runs.results import load_run
from evaluation.simplify import SIMPLIFIERS, ner_qg, openie
from evaluation.simplify.base import Simplifier, SimplifyChoice
from evaluation.simplify.editor import (
    Coverage,
    SimplifiedEditor,
    SimplifiedRequest,
    StatementEditor,
    coverage,
    with_simplification,
)
from evaluation.simplify.file import FileStatements, GivenStatements
from evaluation.simplify.ner_qg import EntityQuestions, answers_of, cloze_prompt, subject_beside
from evaluation.simplify.openie import OpenStatements
from evaluation.simplify.parsing import Phrase
from schemas.cases import Case, DocumentCase
from schemas.core.errors import UserError
from schemas.documents.simplified import SimplifiedFact
from schemas.documents.statement import Statement
from tests.support.arithmetic import make_config
from tests.support.documents.parses import DESIGNED, OPENED
from tests.support.documents.records import BRIDGE, TRAM, document_case, document_records, make_document, make_probe
from tests.support.editors import memit, mend
from tests.support.evaluation.runner_of import check_methods
from tests.support.evaluation.tiny_runs import run_tiny
from tests.support.tiny import make

corpus, cases = memit.corpus, mend.cases


TEXTS = {
    "d/two": "Peru has Oslo. Peru has Rome.",
    "d/none": "It is so.",
    "d/one": "Norway has Lima.",
    "d/other": "France has Quito. France has Bern.",
}


DOCUMENTS = [make_document(key, text, entity=None) for key, text in TEXTS.items()]


class Sentences(Simplifier):
    """Every sentence that is 'X has Y.' as the statement (X, has, Y)."""

    name = "sentences"
    about = "for tests"
    calls = 0

    def simplify(self, document):
        Sentences.calls += 1
        for n, text in enumerate(document.text.rstrip(".").split(". ")):
            subject, has, target = text.partition(" has ")
            if has:
                yield self.statement(document, n, subject=subject, prompt="{} has", target=target)


def around(name: str, options: dict, folder: Path) -> SimplifiedEditor:
    return SimplifiedEditor(make_editor(name, make("llama"), Cache(folder), options), Sentences())


def matrices(edit) -> list[torch.Tensor]:
    """The whole change of every weight."""
    by_weight: dict[str, torch.Tensor] = {}
    for delta in edit.deltas:
        by_weight[delta.weight] = by_weight.get(delta.weight, torch.zeros(delta.shape)) + delta.matrix()
    return [by_weight[name] for name in sorted(by_weight)]


@pytest.mark.parametrize("name", ["memit", "mend"])
def test_a_methods_edit_of_a_document_is_its_edit_of_the_statements(
    name: str, corpus: str, cases: list[Case], tmp_path: Path
) -> None:
    """Methods with second moments, and with a trained network, beside those above."""
    lm, cache = make("llama"), Cache(tmp_path)
    method = memit.editor(name, lm, cache, corpus) if name == "memit" else make_editor(name, lm, cache, mend.QUICK)
    method.prepare(cases)
    made = SimplifiedEditor(method, Sentences())
    for document, edit in zip(DOCUMENTS, made.edit_each(DOCUMENTS), strict=True):
        requests = [SimplifiedRequest.of(fact) for fact in made.statements(document)]
        assert edit.notes["facts"] == len(requests)
        if requests:
            assert memit.close(edit, [d.matrix().double() for d in method.edit(requests).deltas or ()])
            assert all(d.norm() > 0 for d in edit.deltas)


def test_a_group_holds_as_many_facts_as_cases_and_never_less_than_one_document(tmp_path: Path) -> None:
    """Documents have 2, 0, 1 and 2 facts; one without any counts as one."""
    made = around("ft", {"layer": 1, "steps": 1}, tmp_path)
    assert [made.facts_in(document) for document in DOCUMENTS] == [2, 0, 1, 2]
    sizes: list[list[str]] = []
    cases = [document_case(f"case/{d.key}", document=d, probes=(make_probe(document=d.key),)) for d in DOCUMENTS]
    jobs = [Job(case.document.key, case, ()) for case in cases]

    def each(requests: list) -> list[NoEdit]:
        sizes.append([request.key for request in requests])
        return [NoEdit() for _ in requests]

    made.edit_each = each  # type: ignore[method-assign]
    for most, expected in ((1, [1, 1, 1, 1]), (2, [1, 2, 1]), (3, [2, 2]), (4, [3, 1]), (9, [4])):
        sizes.clear()
        done = list(FastEngine(made.method.lm, group=most).work(made, jobs))
        assert [len(keys) for keys in sizes] == expected and [d.job for d in done] == jobs


def test_several_documents_are_one_edit_of_all_their_facts(tmp_path: Path) -> None:
    made = around("ft", {"layer": 1, "steps": 2}, tmp_path)
    requests = [SimplifiedRequest.of(fact) for d in DOCUMENTS for fact in made.statements(d)]
    assert [r.fact_prompt for r in requests] == ["Peru has", "Peru has", "Norway has", "France has", "France has"]
    for one, two in zip(matrices(made.edit(DOCUMENTS)), matrices(made.method.edit(requests)), strict=True):
        assert torch.equal(one, two)
    assert made.edit_after([DOCUMENTS[1]], []).notes == {"facts": 0}
    assert made.edit_after([DOCUMENTS[2]], [NoEdit()]).notes["facts"] == 1


def test_statements_are_kept_by_text_and_settings(tmp_path: Path) -> None:
    Sentences.calls = 0
    first = around("ft", {"layer": 1}, tmp_path).statements(DOCUMENTS[0])
    assert around("ft", {"layer": 1}, tmp_path).statements(DOCUMENTS[0]) == first and Sentences.calls == 1
    assert all(isinstance(s, SimplifiedFact) and s.document == "d/two" for s in first)


def test_a_run_names_the_strategy_in_its_identity_and_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SIMPLIFIERS, "get", lambda name: Sentences)
    lm, cases = make("llama", max_position_embeddings=256), []
    for document in DOCUMENTS:
        probe = make_probe("What has it?", "Oslo", level=2, document=document.key)
        cases.append(document_case(f"case/{document.key}", document=document, probes=(probe,)))
    options = {"name": "ft", "params": {"layer": 1, "steps": 2}, "simplify": "sentences"}
    config = make_config(tmp_path / "run", editors=[options], metrics=["em", "ppl"])
    run_tiny(config, make_split("d", cases), lm)
    run = load_run(tmp_path / "run")
    editor = run.editors[1]
    assert editor.manifest.components["simplify"].startswith("sentences@1:")
    assert {k: r.notes["facts"] for k, r in editor.results.items()} == {
        "case/d/two": 2,
        "case/d/none": 0,
        "case/d/one": 1,
        "case/d/other": 2,
    }
    assert editor.results["case/d/none"].answers == run.baseline.results["case/d/none"].answers
    assert run.about["simplified"]["ft"]["without"] == 1 and run.about["simplified"]["ft"]["facts"] == 5


def test_a_method_that_reads_statements_gets_them_beside_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SIMPLIFIERS, "get", lambda name: Sentences)
    params = {"steps": 2, "instruction": "Say."}
    made = with_simplification(make_editor("side", make("llama"), Cache(tmp_path), params), Sentences(), DOCUMENTS)
    assert isinstance(made, StatementEditor)
    edits = [*made.edit_each(DOCUMENTS), made.edit(DOCUMENTS), made.edit_after(DOCUMENTS[:1], [])]
    assert [e.notes["facts"] for e in edits] == [2, 0, 1, 2, 5, 2]
    lm = made.method.lm
    for edit, steps in ((edits[0], 2), (edits[1], 2), (edits[4], 2)):
        with edit.on(lm):
            pass
        assert edit.notes["steps"] == steps, "a document without facts is learnt from its text"
        assert edit.notes["questions"] == edit.notes["facts"]
    text_alone = {**params, "soft_weight": 0, "hard_weight": 0}
    assert (
        type(with_simplification(make_editor("side", lm, Cache(tmp_path), text_alone), Sentences(), []))
        is SimplifiedEditor
    )


def test_a_run_of_such_a_method_without_statements_is_refused_before_a_model_is_loaded() -> None:
    split = make_split("d", [document_case()])

    def check(**choice: Any) -> None:
        config = make_config(Path("none"), editors=[{"name": "side", **choice}], metrics=["em"])
        check_methods(config, split)

    with pytest.raises(UserError, match="'side' with these options learns from statements.*simplify = \"ner_qg\""):
        check()
    check(simplify="ner_qg")
    check(params={"soft_weight": 0, "hard_weight": 0})
    with pytest.raises(UserError, match="'side' does not edit facts"):
        check(params={"soft_weight": 0, "hard_weight": 0}, simplify="ner_qg")


def statement(place: int, target: str, prompt: str = "{} opened in") -> SimplifiedFact:
    return SimplifiedFact(
        key=f"s/{place}", document=BRIDGE, strategy="t", subject="The Orla Bridge", prompt=prompt, target=target
    )


def test_every_count() -> None:
    *_, document, probe = document_records()
    tram = DocumentCase(key="case/tram", document=document, probes=(probe,))  # type: ignore[arg-type]
    statements = (
        statement(0, "1931"),
        statement(1, "1931"),
        statement(2, "May 1931"),
        statement(3, "Orla", "{} is the"),
        statement(4, "", "{} was"),
        statement(5, "BRUN", "{} was designed by"),
    )
    assert coverage([document_case(), tram], {BRIDGE: statements}) == Coverage(
        documents=2,
        without=1,
        facts=5,
        empty=1,
        duplicates=1,
        ambiguous=1,
        target_in_prompt=1,
        probes=5,
        answers=3,
    ), "1931 twice, and Brun, an accepted answer"


def test_options_are_part_of_the_identity_and_statements_are_named_by_their_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openie, "parser_version", lambda model: model)
    one, two = (OpenStatements(OpenStatements.Params(model=name)) for name in ("en_core_web_sm", "en_core_web_lg"))
    assert one.identity != two.identity
    statement = one.statement(make_document(), 3, subject="Orla", prompt="{} is", target="x")
    assert (statement.key, statement.strategy) == ("d/bridge/openie/3", "openie")


def test_a_bare_name_and_a_table() -> None:
    assert SimplifyChoice.model_validate("ner_qg").made().params.noun_phrases is True
    made = SimplifyChoice.model_validate({"name": "ner_qg", "noun_phrases": False})
    assert made.made().params.noun_phrases is False
    assert SimplifyChoice.model_validate(made.model_dump(mode="json")) == made


@pytest.mark.parametrize(
    ("data", "said"),
    [("openi", "did you mean 'openie'"), ({"name": "openie", "modl": "x"}, "modl"), ("file", "file")],
)
def test_refusals(data: object, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        SimplifyChoice.model_validate(data)


def test_answers_are_entities_and_noun_phrases_beside_them_but_no_pronouns() -> None:
    assert answers_of(OPENED, noun_phrases=True) == [Phrase(0, 3, "FAC"), Phrase(5, 6, "DATE")]
    assert [DESIGNED.text(a.start, a.end) for a in answers_of(DESIGNED, noun_phrases=True)] == [
        "Ada Brun",
        "great care",
    ]
    assert len(answers_of(DESIGNED, noun_phrases=False)) == 1


def test_the_last_other_entity_is_the_subject_and_stands_as_a_gap_beside_the_blank() -> None:
    bridge, year = OPENED.entities
    assert subject_beside(OPENED, year) == bridge and subject_beside(OPENED, bridge) == year
    assert subject_beside(DESIGNED, DESIGNED.entities[0]) is None
    assert cloze_prompt(OPENED, year, bridge) == "Question: {} opened in ___.\nAnswer:"
    assert cloze_prompt(OPENED, bridge, year) == "Question: ___ opened in {}.\nAnswer:"


def test_a_document_becomes_a_cloze_an_answer_and_one_without_a_subject_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ner_qg, "parse", lambda text, model: (OPENED, DESIGNED))
    statements = list(EntityQuestions().simplify(make_document()))
    assert [(s.subject, s.filled_prompt, s.target) for s in statements] == [
        ("1931", "Question: ___ opened in 1931.\nAnswer:", "The Orla Bridge"),
        ("The Orla Bridge", "Question: The Orla Bridge opened in ___.\nAnswer:", "1931"),
        ("Ada Brun", "Question: Ada Brun designed it with ___.\nAnswer:", "great care"),
    ]
    assert [s.key for s in statements] == [f"d/bridge/ner_qg/{n}" for n in range(3)]


THE_BRIDGE = make_document("mine/bridge")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    told = {"prompt": "{} opened in", "subject": "The Orla Bridge", "input": "The Orla Bridge opened in"}
    rows = [
        {
            "doc": THE_BRIDGE.text,
            "id": "theirs",
            "meta": {},
            "probes": [],
            "simplification": [{**told, "target": " 1931"}, {**told, "target": ""}],
        }
    ]
    out = tmp_path / "documents.json.lmqg_ner"
    out.write_text(json.dumps(rows), encoding="utf-8")
    return out


def reader(path: Path) -> FileStatements:
    return FileStatements(FileStatements.Params(file=path))


def test_statements_of_the_document_with_these_words(path: Path) -> None:
    made = reader(path)
    made.check([THE_BRIDGE])
    assert [(s.strategy, s.filled_prompt, s.target) for s in made.simplify(THE_BRIDGE)] == [
        ("lmqg_ner", "The Orla Bridge opened in", "1931"),
        ("lmqg_ner", "The Orla Bridge opened in", ""),
    ]


def test_a_file_of_other_documents_and_none_at_all_are_refused(path: Path) -> None:
    other = make_document(TRAM, "Line 9 runs to Rovo.")
    with pytest.raises(UserError, match=r"does not hold 1 of 2 documents of the run, such as 'd/tram'"):
        reader(path).check([THE_BRIDGE, other])
    with pytest.raises(UserError, match="no such simplification file"):
        _ = reader(path.with_name("none")).identity


@pytest.mark.parametrize("prompt", ["The Orla Bridge opened in", "{} opened {} in"])
def test_a_prompt_without_exactly_one_gap_is_said_where_it_stands(path: Path, prompt: str) -> None:
    """Not that the document is missing, though the record that holds it cannot be used."""
    (row,) = json.loads(path.read_text(encoding="utf-8"))
    bad = {**row, "simplification": [{**row["simplification"][0], "prompt": prompt}]}
    other = {**row, "id": "other", "doc": "Line 9 runs to Rovo."}
    mixed = path.with_name("mixed.json.lmqg_ner")
    mixed.write_text(json.dumps([other, bad]), encoding="utf-8")
    with pytest.raises(UserError, match=r"mixed.*: a record cannot be used: .*exactly one \{\}.*; mend it") as error:
        reader(mixed).check([THE_BRIDGE])
    assert "does not hold" not in str(error.value) and "\n" not in str(error.value)
    reader(mixed).check([make_document(TRAM, "Line 9 runs to Rovo.")])  # no document of the run is lost


def test_a_file_of_the_documents_without_statements_is_refused(path: Path) -> None:
    """The published documents themselves, named instead of one of their simplifications: nothing would be edited."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    del rows[0]["simplification"]
    bare = path.with_name("documents.json")
    bare.write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(UserError, match="the simplification file holds no statement"):
        reader(bare).check([THE_BRIDGE])


def test_another_file_is_another_identity(path: Path) -> None:
    first = reader(path).identity
    path.write_text(path.read_text(encoding="utf-8").replace("1931", "1932"), encoding="utf-8")
    assert reader(path).identity != first == f"file@1:{first[-12:]}"


STATED = Statement(subject="Orla Bridge", prompt="The {} is in", target="Rovo")


STATING = make_document(statements=(STATED, STATED.model_copy(update={"target": "Sorne"})))


def test_statements_in_order() -> None:
    made = list(GivenStatements().simplify(STATING))
    assert [(s.key, s.filled_prompt, s.target) for s in made] == [
        ("d/bridge/stated/0", "The Orla Bridge is in", "Rovo"),
        ("d/bridge/stated/1", "The Orla Bridge is in", "Sorne"),
    ]
    assert list(GivenStatements().simplify(make_document())) == []


def test_documents_that_state_nothing_are_refused_together_not_one_by_one() -> None:
    GivenStatements().check([make_document(), STATING])
    GivenStatements().check([])
    with pytest.raises(UserError, match=r"none of the 1 documents says what it states, such as 'd/bridge'"):
        GivenStatements().check([make_document()])


def test_one_text_with_other_statements_is_not_given_the_first_ones(tmp_path: Path) -> None:
    method = make_editor("ft", make("llama"), Cache(tmp_path), {"layer": 1})
    for _ in range(2):
        made = SimplifiedEditor(method, GivenStatements())
        for document in (STATING, make_document(statements=(STATED,)), make_document()):
            assert made.statements(document) == tuple(GivenStatements().simplify(document))
