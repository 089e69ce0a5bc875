"""What people did with probes, counted over versions: dropped, levels corrected, levels approved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from construction.cli.funnel import funnel
from construction.documents.people import ProbeCuration, first_version, probe_curation
from curation.store.store import Store
from schemas.documents.document import DocumentProbe
from schemas.lineage import Lineage
from schemas.verdicts import Verdict, verdict_key
from tests.support.curation.verdicts import make_verdict
from tests.support.documents.records import document_store

BY = "person:ann/curate_probe@1"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    yield from document_store(tmp_path)


def correct(store: Store, probe: DocumentProbe, level: int, *, by: str = BY, day: int = 1) -> DocumentProbe:
    """A person's correction as an import writes it."""
    new = probe.model_copy(update={"level": level})
    store.put(
        [make_verdict(probe.id, "unsure", by), new, make_verdict(new.id, "keep", by)],
        [
            Lineage(
                item_id=new.id, stage="annotation", made_at=f"2026-01-0{day}T00:00:00Z", parents=(probe.id,), detail={}
            )
        ],
    )
    return new


def approved(item: str, value: float, by: str = "person:bo/review_level_approved@1") -> Verdict:
    return Verdict(key=verdict_key(item_id=item, by=by), item_id=item, by=by, label=None, value=value, unit="yes")


def test_nobody_did_anything(store: Store) -> None:
    assert probe_curation(store) is None
    store.put([make_verdict(next(iter(store.all(DocumentProbe))).id, "drop", "one_blank@1")])
    assert probe_curation(store) is None


def test_counts_over_versions(store: Store) -> None:
    first, second, third, fourth, fifth = store.all(DocumentProbe)
    store.put([make_verdict(first.id, "drop", BY), make_verdict(second.id, "keep", BY)])
    new = correct(store, third, 3 if third.level != 3 else 2)
    there = correct(store, fourth, 3 if fourth.level != 3 else 2)
    back = correct(store, there, fourth.level or 1, by="person:bo/review_level@1", day=2)
    assert back == fourth, "a correction can lead back"
    store.put([approved(second.id, 1.0), approved(new.id, 1.0), approved(back.id, 0.0)])
    assert first_version(store, back) == fourth and first_version(store, fifth) == fifth
    assert probe_curation(store) == ProbeCuration(curated=4, dropped=1, relevelled=1, reviewed=3, approved=2)


def test_a_leads_decision_outranks_peoples_drop(store: Store) -> None:
    first, *_ = store.all(DocumentProbe)
    store.put([make_verdict(first.id, "drop", BY)])
    store.put([make_verdict(first.id, "keep", "person:lea/curate_probe_adjudicated@1")])
    counts = probe_curation(store)
    assert counts is not None and (counts.curated, counts.dropped) == (1, 0)


def test_the_command_says_it_beside_the_paper(store: Store, tmp_path: Path) -> None:
    first, second, *_ = store.all(DocumentProbe)
    store.put([make_verdict(first.id, "drop", BY), make_verdict(second.id, "keep", BY), approved(second.id, 1.0)])
    store.close()
    result = CliRunner().invoke(funnel, ["--store", str(tmp_path / "s.duckdb")])
    assert result.exit_code == 0, result.output
    assert "dropped                        1  50.0 % of 2 probes (in the paper: about 25 %)" in result.output
    assert "0.0 % of 1 probe (in the paper: about 40 %)" in result.output and "about 91 %" in result.output
