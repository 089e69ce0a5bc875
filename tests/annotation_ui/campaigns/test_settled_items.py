"""An item is settled when all whom it was given to have answered it by the form, or the lead decided."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.campaigns.answer_import import SettledItem, settled_answers
from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.probes import CurateProbe
from curation.store.store import Store
from tests.support.documents.records import document_store

TASK = CurateProbe()
KEEP: dict[str, Any] = {"usable": "yes", "right": "yes", "level": 1}


@pytest.fixture
def db(tmp_path: Path) -> Iterator[RatingsDB]:
    (store,) = [*_opened(tmp_path)]
    with RatingsDB(tmp_path / "r.sqlite", create=True) as ratings:
        for person in ("ann", "bo"):
            raters.invite(ratings, person)
        raters.invite(ratings, "lea", role="lead")
        with Store.open(store) as opened:
            create_campaign(ratings, opened, "c", TASK, CampaignOptions(overlap=2))
        assign_items(ratings, "c")
        yield ratings


def _opened(folder: Path) -> Iterator[Path]:
    for store in document_store(folder):
        store.close()
        yield folder / "s.duckdb"


def settled(db: RatingsDB) -> list[SettledItem]:
    current, assigned = db.current_answers("c"), db.assignments("c")
    return settled_answers(TASK, db.items("c"), current=current, assigned=assigned, decisions=db.adjudications("c"))


def save(db: RatingsDB, person: str, item: str, answers: dict[str, Any]) -> None:
    db.save("c", person, item, answers, form=TASK.form.label, seconds=5.0)


def test_all_have_to_answer_or_the_lead_decides(db: RatingsDB) -> None:
    first, second, third, *_ = db.items("c")
    for item in (first, second, third):
        save(db, "ann", item, KEEP)
    assert settled(db) == []
    save(db, "bo", first, KEEP)
    save(db, "bo", second, {"usable": "yes"})
    (one,) = settled(db)
    assert one.item.id == first and set(one.answers) == {"ann", "bo"} and not one.lead
    db.adjudicate("c", second, "lea", {**KEEP, "level": 2})
    by_item = {s.item.id: s for s in settled(db)}
    assert set(by_item) == {first, second} and by_item[second].lead
    assert by_item[second].answers == {"lea": {**KEEP, "level": 2}}
