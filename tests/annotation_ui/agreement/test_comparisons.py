"""Strengths of methods from a campaign's comparisons, and the command that prints them."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation_ui.agreement.judgements import live_judgements
from annotation_ui.agreement.method_means import method_strengths
from annotation_ui.agreement.report import agreement_report, disagreements
from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.generated_scripts import method_of
from curation.stats.bootstrap import Resampling
from curation.stats.bradley_terry import Strengths
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.generated_scripts import GeneratedScript
from tests.annotation_ui.cli.conftest import call
from tests.support.commands import json_value


def rated(db: RatingsDB, store: Store, *names: str) -> None:
    """ROME is preferred in four of six pairs, wherever it stands; the other aspects are ties and not judged."""
    for name in names:
        people.invite(db, name)
    create_campaign(db, store, "pairs", make_task("compare_scripts"), CampaignOptions(overlap=len(names)))
    assign_items(db, "pairs")
    methods = {s.id: method_of(s) for s in store.all(GeneratedScript)}
    for n, campaign_items in enumerate(db.items("pairs").values()):
        rome = "first" if methods[campaign_items.item.related[0]] == "tiny rome" else "second"
        other = {"first": "second", "second": "first"}[rome]
        for name in names:
            record = {"coherence": rome if n < 4 else other, "consistency": "tie", "completeness": "cannot_judge"}
            db.save("pairs", name, campaign_items.item.id, record, form="compare_scripts@2", seconds=3)


def test_the_preferred_method_is_the_stronger_wherever_it_stood(db: RatingsDB, store: Store) -> None:
    rated(db, store, "ann", "bob")
    strengths = method_strengths(db, store, "pairs")
    one = strengths["coherence"]
    assert isinstance(one, Strengths) and list(one.methods) == ["tiny rome", "tiny none"]
    assert one.methods["tiny rome"].value == pytest.approx(0.3466, abs=1e-4)  # half of log(8 / 4)
    assert (one.comparisons, one.cases) == (12, 6)
    assert "all of 12 comparisons are ties" in str(strengths["consistency"])
    assert "there are no comparisons" in str(strengths["completeness"])
    half = method_strengths(db, store, "pairs", raters=["bob"])["coherence"]
    assert isinstance(half, Strengths) and half.comparisons == 6


def test_agreement_reads_comparisons(db: RatingsDB, store: Store) -> None:
    rated(db, store, "ann", "bob")
    task, marks = make_task("compare_scripts"), live_judgements(db, "pairs")
    report = agreement_report(marks, task, resampling=Resampling(0))
    assert report.aspects[0].agreement.exact.value == 1.0
    assert set(report.aspects[0].agreement.prevalence) == {"first", "second", "tie", "cannot_judge"}
    assert disagreements(marks, task) == []


def test_the_command_prints_strengths_and_refusals(db: RatingsDB, store: Store) -> None:
    rated(db, store, "ann")
    store.close()
    db_path, store_path = Path(db.path), Path(store.path)
    output = call("strengths", "pairs", "-r", db_path, "-s", store_path).output
    assert "coherence (6 comparisons in 6 cases, 0 ties)" in output and "tiny rome" in output
    assert "consistency: all of 6 comparisons are ties" in output
    data = json_value(call("strengths", "pairs", "-r", db_path, "-s", store_path, "--json").stdout)
    assert data["coherence"]["methods"]["tiny rome"]["value"] == pytest.approx(0.3466, abs=1e-4)


def test_a_campaign_that_compares_nothing_and_a_store_without_the_scripts_are_refused(
    db: RatingsDB, store: Store, tmp_path: Path
) -> None:
    rated(db, store, "ann")
    create_campaign(db, store, "plain", make_task("rate_script"), CampaignOptions())
    with pytest.raises(UserError, match="compare nothing"):
        method_strengths(db, store, "plain")
    with Store.open(tmp_path / "other.duckdb", create=True) as other, pytest.raises(UserError, match="has no script"):
        method_strengths(db, other, "pairs")
