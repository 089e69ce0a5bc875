"""A lead's decision is a verdict of its own; the gold set trains the next round."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation_ui.agreement.judgements import live_judgements
from annotation_ui.agreement.report import disagreements
from annotation_ui.campaigns.answer_import import gold_items, import_campaign, write_gold_set
from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task
from annotation_ui.campaigns.control_items import read_control_items
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.ratings import Rating
from schemas.verdicts import Verdict

RATE = {"coherence": 7, "consistency": 7, "completeness": 4}
YES = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}


@pytest.mark.parametrize(
    ("task", "same", "other"),
    [
        ("rate_script", RATE, {**RATE, "coherence": 2}),
        ("filter_question", YES, {**YES, "guides": "no", "reasons": ["duplicate"]}),
    ],
)
def test_decisions_stand_beside_what_people_said(
    db: RatingsDB, store: Store, tmp_path: Path, task: str, same: dict[str, object], other: dict[str, object]
) -> None:
    for name in ("ann", "bob"):
        people.invite(db, name)
    people.invite(db, "lea", role="lead")
    kind = make_task(task)
    create_campaign(db, store, "c", kind, CampaignOptions(overlap=2))
    assign_items(db, "c")
    items = [a.item for a in db.assignments("c", "ann")][:3]
    for n, item in enumerate(items):
        db.save("c", "ann", item, same, form=kind.form.label)
        db.save("c", "bob", item, other if n == 0 else same, form=kind.form.label)
    disagreement_rows = disagreements(live_judgements(db, "c"), kind)
    assert [d.item for d in disagreement_rows] == [items[0]]
    db.adjudicate("c", items[0], "lea", other)
    db.adjudicate("c", items[0], "lea", same)
    assert db.adjudications("c")[items[0]].answers == same
    import_campaign(db, store, "c")
    record = {"Rating": lambda r: r.form, "Verdict": lambda v: v.by}
    adjudications = [
        r
        for cls in (Rating, Verdict)
        for r in store.all(cls)
        if "adjudicated@" in record[cls.__name__](r) or "_adjudicated_" in record[cls.__name__](r)
    ]
    assert adjudications and all(r.item_id == items[0] for r in adjudications)
    assert {g.item: g.settled for g in gold_items(db, "c")} == {
        items[0]: "adjudicated", items[1]: "unanimous", items[2]: "unanimous",
    }  # fmt: skip
    assert write_gold_set(db, "c", tmp_path / "gold.jsonl") == 3
    control_items = read_control_items(tmp_path / "gold.jsonl", kind)
    assert {k.purpose for k in control_items} == {"training"}
    assert len(control_items) == 3
