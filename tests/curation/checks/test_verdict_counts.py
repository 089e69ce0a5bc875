"""A store's verdicts counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.checks.store_checks import count_verdicts
from curation.store.store import Store
from schemas.core.errors import StoreError
from schemas.lineage import Lineage
from tests.support.curation.rule_records import P0, P1, P2, Q0, Q1, said


def made_by(item: str, model: str, **detail: str) -> Lineage:
    return Lineage(item_id=item, stage="scripts", made_at="2026-01-01", model=model, detail=detail)


def test_by_hand(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([Q0, Q1, P0, P1, P2])
        store.put(
            [
                said(Q0.id, "form@1", "keep"),
                said(Q0.id, "leak@1", "drop"),
                said(P0.id, "leak@1", "unsure"),
                said(P1.id, "leak@1", "keep"),
                said(P2.id, "length@1", value=3.0),
            ]
        )
    counts = count_verdicts(tmp_path / "s.duckdb")
    assert (counts.store, counts.kept, counts.dropped, counts.unsure) == ("s.duckdb", 2, 1, 1)
    assert counts.checks == [
        ("form", {"keep": 1}),
        ("leak", {"drop": 1, "unsure": 1, "keep": 1}),
        ("length", {"measured": 1}),
    ]
    assert counts.reasons == [("leak", "because", 2)]
    assert (counts.models, counts.smoke_test) == ([], False)


@pytest.mark.parametrize(
    ("model", "quality", "smoke_test"), [("gpt", "", False), ("embedded", "", True), ("gpt", "plumbing quality", True)]
)
def test_what_a_small_model_wrote_is_called_so(tmp_path: Path, model: str, quality: str, smoke_test: bool) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([Q0], [made_by(Q0.id, model, quality=quality)])
    counts = count_verdicts(tmp_path / "s.duckdb")
    assert (counts.models, counts.smoke_test) == ([model], smoke_test)


def test_an_absent_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        count_verdicts(tmp_path / "s.duckdb")
