"""Questions before scripts: which are asked, and what their verdicts are on."""

from __future__ import annotations

from pathlib import Path

from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.shipped import mini_split
from curation.store.store import Store
from schemas.scripts import Script, ScriptQuestion
from schemas.verdicts import Verdict, verdict_key


def test_a_round_over_questions_of_a_store_without_scripts(db: RatingsDB, tmp_path: Path) -> None:
    with Store.open(tmp_path / "q.duckdb", create=True) as store:
        cases = list(mini_split().cases)[:3]
        for case in cases:
            store.put(
                [
                    case.fact,
                    case.fact.model_copy(update={"key": f"{case.fact.key}/same", "new": None, "change": "none"}),
                ]
            )
            store.put([ScriptQuestion(key=f"q/{case.key}/{n}", fact=case.fact.key, text=f"How {n}?") for n in range(4)])
            store.put([ScriptQuestion(key=f"q/{case.key}/x", fact=f"{case.fact.key}/same", text="How not?")])
        first, second = [q for q in store.all(ScriptQuestion) if q.text != "How not?"][:2]
        key = verdict_key(item_id=first.id, by="question_form@1")
        store.put([Verdict(key=key, item_id=first.id, by="question_form@1", label="drop", reason="no question")])
        store.put([Script(key="s/1", question=second.key, steps=("Go there now",))])
        task = make_task("screen_question")
        items = list(task.items(store))
        assert len(items) == 12 - 2, "not what a check dropped, not what has a script, not of facts without an edit"
        assert all(set(i.shown) == {"edit", "question"} for i in items)
        people.invite(db, "ann")
        create_campaign(db, store, "screen", task, CampaignOptions(overlap=1))
        assign_items(db, "screen")
        for a in db.assignments("screen", "ann"):
            record = {"meaningful": "yes", "depends": "yes", "changes": "no", "reasons": ["duplicate"]}
            db.save("screen", "ann", a.item, record, form="screen_question@2")
        assert import_campaign(db, store, "screen").rejected == ()
        verdicts = [v for v in store.all(Verdict) if v.check == "screen_question"]
        assert {(v.item_id, v.label, v.reason) for v in verdicts} == {
            (i.id, "drop", "changes, duplicate") for i in items
        }
