from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.export.formats import export
from curation.export.mulfe_format import (
    development_rows,
    evaluation_rows,
    simplification_rows,
    specificity_rows,
    write_specificity,
)
from curation.loaders import load
from curation.loaders.importer import import_file
from curation.rules.release import freeze
from curation.rules.rule import DocumentRule
from curation.splits.split_file import Extras
from curation.store.store import Store
from schemas.cases import DocumentCase
from schemas.documents.document import DocumentProbe
from schemas.documents.simplified import SimplifiedFact
from schemas.extras import Extra
from tests.support.curation.published_records import of
from tests.support.documents.records import document_case

CASE = document_case()


def test_a_record_has_the_published_fields() -> None:
    (row,) = evaluation_rows([CASE])
    assert list(row) == ["doc", "meta", "id", "probes"] and row["meta"] == {"entity": "Orla Bridge"}
    assert [list(p) for p in row["probes"]] == [["query", "answer", "level", "tags", "id"]] * 4
    assert {p["level"] for p in row["probes"]} == {"1", "2", "3"}
    (row,) = development_rows([CASE])
    assert "tag" in row["generated_probes"][0] and "meta" not in row


@pytest.mark.parametrize(("part", "format"), [("test", "mulfe"), ("dev", "mulfe-dev")])
def test_the_published_file_comes_back_row_by_row(shared: Path, tmp_path: Path, part: str, format: str) -> None:
    source, store = shared / f"data/mulfe/mulfe_{part}.json", tmp_path / "s.duckdb"
    import_file(str(source), store)
    with Store.open(store, write=True) as db:
        split = freeze(db, "m", DocumentRule())
        assert export(split, tmp_path / "out.json", format) == {"test": 228, "dev": 300}[part]
    before = {row["id"]: row for row in json.loads(source.read_text())}
    after = {row["id"]: row for row in json.loads((tmp_path / "out.json").read_text())}
    if part == "test":  # white space at two ends is the only thing that is lost
        probe = before["mulfe_test_dune_9"]["probes"][6]
        probe["query"] = probe["query"].strip()
        before["mulfe_test_dune_186"]["doc"] = before["mulfe_test_dune_186"]["doc"].strip()
    assert after == before


@pytest.mark.parametrize("strategy", ["lmqg_ner", "doc_openie"])
def test_a_published_simplification_comes_back(shared: Path, strategy: str) -> None:
    source = shared / f"data/mulfe/mulfe_test.json.{strategy}"
    import_result = load(source)
    probes = of(import_result, DocumentProbe)
    cases = [
        DocumentCase(key=f"case/{d.key}", document=d, probes=tuple(p for p in probes if p.document == d.key))
        for d in import_result.documents[:40]
    ]
    rows = list(simplification_rows(cases, of(import_result, SimplifiedFact), Extras(of(import_result, Extra))))
    assert rows == [{**row, "simplification": row["simplification"]} for row in json.loads(source.read_text())[:40]]


def test_published_specificity_questions_come_back(shared: Path, tmp_path: Path) -> None:
    source = shared / "data/mulfe/tq_specifity_random400/gpt2-xl.json"
    (sets,) = load(source).sets
    assert list(specificity_rows(sets)) == json.loads(source.read_text())
    assert write_specificity(sets, tmp_path / "gpt2-xl.json") == 400
    assert load(tmp_path / "gpt2-xl.json").sets[0].id == sets.id
