"""A lead's decision is a verdict of its own; the gold set trains the next round."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation_ui.agreement.judgements import live_marks, stored_marks
from annotation_ui.agreement.report import disagreements, report
from annotation_ui.campaigns.answer_import import collect
from annotation_ui.campaigns.campaign import Sharing, create, make_task, read_known, share
from annotation_ui.campaigns.gold_set import gold, write_gold
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.stats.bootstrap import Resampling
from curation.store.store import Store
from schemas.ratings import Rating
from schemas.verdicts import Verdict

RATE = {"coherence": 7, "consistency": 7, "completeness": 4}
YES = {"meaningful": "yes", "changes": "yes", "guides": "yes"}


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
    create(db, store, "c", kind, Sharing(overlap=2))
    share(db, "c")
    items = [a.item for a in db.assignments("c", "ann")][:3]
    for n, item in enumerate(items):
        db.save("c", "ann", item, same, form=kind.form.label)
        db.save("c", "bob", item, other if n == 0 else same, form=kind.form.label)
    apart = disagreements(live_marks(db, "c"), kind)
    assert [d.item for d in apart] == [items[0]]
    db.decide("c", items[0], "lea", other)
    db.decide("c", items[0], "lea", same)
    assert db.decisions("c")[items[0]].answers == same
    collect(db, store, "c")
    few = Resampling(20)
    assert report(stored_marks(store, kind), kind, resampling=few) == report(live_marks(db, "c"), kind, resampling=few)
    marked = {"Rating": lambda r: r.form, "Verdict": lambda v: v.by}
    decided = [
        r
        for cls in (Rating, Verdict)
        for r in store.all(cls)
        if "adjudicated@" in marked[cls.__name__](r) or "_adjudicated_" in marked[cls.__name__](r)
    ]
    assert decided and all(r.item_id == items[0] for r in decided)
    assert {g.item: g.settled for g in gold(db, "c")} == {
        items[0]: "adjudicated", items[1]: "unanimous", items[2]: "unanimous",
    }  # fmt: skip
    assert write_gold(db, "c", tmp_path / "gold.jsonl") == 3
    known = read_known(tmp_path / "gold.jsonl", kind)
    assert {k.purpose for k in known} == {"training"}
    assert len(known) == 3
