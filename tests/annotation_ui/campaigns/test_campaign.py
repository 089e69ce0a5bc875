"""From the store to people and back: nothing lost, nothing twice, nothing seen that would bias."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.agreement.judgements import live_judgements
from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task, rater_progress
from annotation_ui.campaigns.control_items import read_control_items, wrong_fields
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from schemas.ratings import Rating
from schemas.scripts import ScriptPrompt
from tests.annotation_ui.conftest import TASK, work


def test_a_whole_round(ready: RatingsDB, store: Store) -> None:
    assert sum(work(ready, "pilot", p) for p in ("ann", "bob", "chloe")) == 24
    items = {s.person: s for s in rater_progress(ready, "pilot")}
    assert all(s.done == s.assigned == 8 and s.seconds == 4.0 for s in items.values())
    result = import_campaign(ready, store, "pilot")
    assert (result.answers, result.new, result.rejected) == (24, 72, ())
    import_result = import_campaign(ready, store, "pilot")
    assert (import_result.answers, import_result.new) == (24, 0)
    live = {(m.item, m.name, m.aspect): m.value for m in live_judgements(ready, "pilot")}
    assert {(r.item_id, r.rated_by.label, r.aspect): r.value for r in store.all(Rating)} == live
    line = store.lineage(next(iter(store.all(Rating))).id)[0]
    assert line.stage == "annotation"
    assert line.detail["form"] == "rate_script@4" and line.detail["probability"] == 1.0


def test_somebody_who_joins_later_takes_work_over(ready: RatingsDB) -> None:
    work(ready, "pilot", "ann", 2)
    people.invite(ready, "dan")
    assignments, withdrawn = assign_items(ready, "pilot")
    assert assignments == withdrawn > 0
    loads = {s.person: s.assigned for s in rater_progress(ready, "pilot")}
    assert loads["dan"] >= 4 and sum(loads.values()) == 24


def test_more_items_are_shared_out_and_nothing_is_asked_twice(ready: RatingsDB, store: Store) -> None:
    work(ready, "pilot", "ann")
    before = ready.assignments("pilot")
    create_campaign(ready, store, "pilot", make_task(TASK), CampaignOptions(overlap=2, batch=4))
    assert assign_items(ready, "pilot") == (0, 0)
    assert ready.assignments("pilot") == before


def _known_as(db: RatingsDB, item: str) -> str:
    return str((db.item("pilot", item).expected or {})["name"])


def test_training_and_attention_items_are_answered_by_all_and_imported_by_none(
    db: RatingsDB, store: Store, tmp_path: Path
) -> None:
    record = {"fact": "f", "counts": "a", "new": "a", "old": "b", "question": "q", "script": "s"}
    lines = [
        {"purpose": p, "id": f"known-{p}", "shown": record, "expected": {"coherence": 7}, "because": "it names a"}
        for p in ("training", "attention")
    ]
    path = tmp_path / "known.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    people.invite(db, "ann")
    task = make_task(TASK)
    control_items = read_control_items(path, task)
    create_campaign(db, store, "pilot", task, CampaignOptions(overlap=1), known=control_items)
    assign_items(db, "pilot")
    first = next_item(db, "pilot", "ann")
    assert first is not None and _known_as(db, first.item) == "known-training"
    work(db, "pilot", "ann")
    (progress,) = rater_progress(db, "pilot")
    assert progress.training == (1, 1)
    assert progress.attention[1] == 1
    assert progress.assigned == 12
    import_result = import_campaign(db, store, "pilot")
    assert import_result.answers == 12 and not import_result.rejected
    (campaign_items,) = [p for p in db.items("pilot").values() if p.purpose == "attention"]
    assert wrong_fields(campaign_items, task, {"coherence": 6}) == []
    assert wrong_fields(campaign_items, task, {"coherence": 5}) == ["coherence"]
    assert wrong_fields(campaign_items, task, {}) == ["coherence"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"purpose": "gold"}, "the purpose is 'gold'; allowed: training, attention"),
        ({"expected": {"coherence": 9}}, "allowed: 1 to 7"),
        ({"expected": {"beauty": 3}}, "the form does not ask 'beauty'"),
        ({"shown": {}}, "nothing is shown as 'counts'"),
        ({"extra": 1}, "unknown field"),
    ],
)
def test_faulty_known_items_are_refused_by_line(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    record = {"fact": "f", "counts": "a", "new": "a", "old": "b", "question": "q", "script": "s"}
    line = {"purpose": "training", "id": "k", "shown": record, "expected": {"coherence": 7}, **change}
    path = tmp_path / "known.jsonl"
    path.write_text("\n" + json.dumps(line))
    with pytest.raises(DataError, match="line 2") as error:
        read_control_items(path, make_task(TASK))
    assert message in str(error.value)


def test_known_items_may_hold_the_line_ends_of_unicode(tmp_path: Path) -> None:
    record = {"fact": "f", "counts": "a", "new": "a", "old": "b", "question": "q", "script": "one\u2028two\u0085three"}
    line = {"purpose": "training", "id": "k", "shown": record, "expected": {"coherence": 7}}
    path = tmp_path / "known.jsonl"
    path.write_text(json.dumps(line, ensure_ascii=False), encoding="utf-8")
    (item,) = read_control_items(path, make_task(TASK))
    assert item.shown == record


def test_known_items_in_another_encoding_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "known.jsonl"
    path.write_bytes('{"id": "\xe9"}'.encode("latin-1"))
    with pytest.raises(DataError, match="not UTF-8 text"):
        read_control_items(path, make_task(TASK))


def test_a_sampled_campaign_records_its_probabilities(db: RatingsDB, store: Store) -> None:
    people.invite(db, "ann")
    create_campaign(db, store, "s", make_task("filter_question"), CampaignOptions(overlap=1, percent=50, least=0))
    campaign_items = db.items("s")
    assert len(campaign_items) == 12
    assert {p.probability for p in campaign_items.values()} == {0.5}
    assert db.campaign("s").settings["population"] == 24


def test_refusals(db: RatingsDB, store: Store) -> None:
    with pytest.raises(UserError, match="the store has nothing for 'verify_leak'"):
        create_campaign(db, store, "x", make_task("verify_leak"), CampaignOptions())
    with pytest.raises(UserError, match="nothing for 'rate_answer'; put a run's open answers into a store first"):
        create_campaign(db, store, "x", make_task("rate_answer"), CampaignOptions())
    create_campaign(db, store, "y", make_task(TASK), CampaignOptions())
    with pytest.raises(UserError, match="needs as many people, there are 0"):
        assign_items(db, "y")
    with pytest.raises(UserError, match="unknown task 'rate'"):
        make_task("rate")
    with pytest.raises(UserError, match="cannot be chosen by 'few'"):
        create_campaign(db, store, "z", make_task(TASK), CampaignOptions(only="few"))


@pytest.mark.parametrize("change", [{"title": "Other words"}, {"version": 9}])
def test_a_form_that_changes_in_mid_campaign_is_refused_everywhere(
    ready: RatingsDB, store: Store, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    work(ready, "pilot", "ann", 2)
    before = live_judgements(ready, "pilot")
    cls = type(make_task(TASK))
    form = cls.form
    monkeypatch.setattr(cls, "form", form.model_copy(update=change))
    for action in (
        lambda: assign_items(ready, "pilot"),
        lambda: live_judgements(ready, "pilot"),
        lambda: create_campaign(ready, store, "pilot", make_task(TASK), CampaignOptions(overlap=2)),
    ):
        with pytest.raises(UserError, match="make a new campaign"):
            action()
    if "version" in change:
        import_result = import_campaign(ready, store, "pilot")
        assert import_result.answers == 0 and len(import_result.rejected) == 2
    else:
        with pytest.raises(UserError, match="its version was not raised"):
            import_campaign(ready, store, "pilot")
    assert len(rater_progress(ready, "pilot")) == 3, "how far everybody was can still be seen"
    monkeypatch.setattr(cls, "form", form)
    assert live_judgements(ready, "pilot") == before


def test_answers_to_another_version_are_told_apart(ready: RatingsDB, store: Store) -> None:
    work(ready, "pilot", "ann", 2)
    ready.connection.execute("UPDATE revisions SET form = 'rate_script@1' WHERE id = 1")
    assert len({m.item for m in live_judgements(ready, "pilot")}) == 1
    assert len(import_campaign(ready, store, "pilot").rejected) == 1


def test_answers_to_a_text_that_changed_are_told_and_do_not_count_for_the_new_one(db: RatingsDB, store: Store) -> None:
    people.invite(db, "ann")
    create_campaign(db, store, "c", make_task("filter_question"), CampaignOptions(overlap=1))
    assign_items(db, "c")
    answers = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}
    for a in db.assignments("c", "ann"):
        db.save("c", "ann", a.item, answers, form="filter_question@2")
    first = next(iter(store.all(ScriptPrompt)))
    changed = first.model_copy(update={"text": f"{first.text}!", "offset": first.offset + 1})
    fact = store.get(first.fact)
    others = [p.id for p in store.all(ScriptPrompt) if p.fact != first.fact and p.id in db.items("c")]
    other_fact = store.get(store.get(others[0]).fact)
    store.put([changed, other_fact.model_copy(update={"prompt": f"Surely {other_fact.prompt}"})])
    got = import_campaign(db, store, "c")
    assert fact is not None and got.outdated >= 1
    assert not [v for v in store.verdicts([changed.id]) if v.judged_by is not None], "nobody judged the new text"
    assert [v for v in store.verdicts([first.id]) if v.judged_by is not None], "the answer is kept for the old one"
    assert {r.why for r in got.rejected} == {"the texts shown with it have changed since: ask again"}
    assert others[0] in {r.item for r in got.rejected}
