from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.rules.explain import explain
from curation.rules.release import freeze
from curation.rules.rule import DocumentRule, SplitRule
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.support.documents.records import BRIDGE, TRAM, document_records, document_store, make_document

RECORDS = {r.key: r for r in document_records()}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    yield from document_store(tmp_path)


@pytest.mark.parametrize(
    ("key", "rule", "status", "reason"),
    [
        (BRIDGE, {}, "in", "in 'case/d/bridge', which has 4 probes"),
        (TRAM, {"min_probes": 2}, "out", "has 1 kept probe, the rule wants 2"),
        (TRAM, {"prefix": "x"}, "out", "does not begin with 'x'"),
        (f"{TRAM}/Line-9-runs-to-___.", {"min_people": 2}, "held", "fewer than 2 people judged it"),
    ],
)
def test_the_reason_is_named(store: Store, key: str, rule: dict[str, object], status: str, reason: str) -> None:
    explanation = explain(store, DocumentRule.model_validate(rule), key)
    assert explanation.status == status and reason in explanation.why


def test_a_frozen_case_a_former_version_and_a_document_that_is_gone(store: Store) -> None:
    freeze(store, "mine", DocumentRule())
    assert explain(store, DocumentRule(), f"case/{TRAM}").status == "in"
    old = RECORDS[BRIDGE]
    store.put([make_document(text="It opened."), RECORDS[f"{TRAM}/Line-9-runs-to-___."].model_copy(
        update={"key": "d/lost/q", "document": "d/lost"})])  # fmt: skip
    assert "replaced by another" in explain(store, DocumentRule(), old.id).why
    assert explain(store, DocumentRule(), "d/lost/q").why == "its document 'd/lost' is not in the store"


def test_a_rule_about_facts_explains_no_document(store: Store) -> None:
    with pytest.raises(UserError, match="belongs to a kind of edit .document. .*; --set edits=document"):
        explain(store, SplitRule(), BRIDGE)
