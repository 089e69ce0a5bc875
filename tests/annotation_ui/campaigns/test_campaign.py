"""From the store to people and back: nothing lost, nothing twice, nothing seen that would bias."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.agreement.judgements import live_judgements, stored_judgements
from annotation_ui.agreement.report import agreement_report
from annotation_ui.campaigns.answer_import import RaterAnswer, import_answers, import_campaign
from annotation_ui.campaigns.campaign import (
    CampaignOptions,
    assign_items,
    create_campaign,
    make_task,
    next_item,
    rater_progress,
    read_control_items,
    wrong_fields,
)
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks import TASKS
from curation.stats.bootstrap import Resampling
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from schemas.ratings import Rating
from schemas.verdicts import Span, Verdict, verdict_key

TASK = "rate_script"


def answer(n: int) -> dict[str, Any]:
    return {"coherence": n % 7 + 1, "consistency": 7, "completeness": (n * 3) % 7 + 1}


def work(db: RatingsDB, name: str, person: str, count: int = 10**6) -> int:
    done = 0
    while done < count and (a := next_item(db, name, person)) is not None:
        form = db.campaign(name).form
        db.save(name, person, a.item, answer(sum(map(ord, a.item)) + len(person)), form=form, seconds=4.0)
        done += 1
    return done


@pytest.fixture
def ready(db: RatingsDB, store: Store) -> RatingsDB:
    for name in ("ann", "bob", "chloe"):
        people.invite(db, name)
    create_campaign(db, store, "pilot", make_task(TASK), CampaignOptions(overlap=2, batch=4))
    assign_items(db, "pilot")
    return db


@pytest.mark.parametrize("name", [n for n in TASKS.names() if n != "verify_leak"])
def test_every_task_shows_what_its_form_shows_and_no_more(name: str, store: Store) -> None:
    task = make_task(name)
    items = list(task.items(store))
    assert items == list(task.items(store))
    assert len(items) == (12 if task.level == "ordinal" else 24)
    for item in items:
        needed = {s.name for s in task.form.shows if not s.optional}
        assert needed <= set(item.shown) <= {s.name for s in task.form.shows}
        good = {f.name: "yes" if f.kind == "yes_no" else 4 for f in task.form.asked()}
        records = task.records(item, good, person="ann")
        assert {r.item_id for r in records} == {item.id}  # type: ignore[attr-defined]
        assert len({r.key for r in records}) == len(records)


def test_executability_sees_the_script_and_nothing_else(store: Store) -> None:
    assert {tuple(i.shown) for i in make_task("rate_executability").items(store)} == {("script",)}


def test_ratings_show_neither_method_nor_model_nor_tag(store: Store) -> None:
    for item in make_task(TASK).items(store):
        text = json.dumps(dict(item.shown))
        assert not any(word in text for word in ("tiny", "rome", "none", '"pre', '"post'))
        assert item.shown["counts"] in item.shown["script"]  # as the fixture writes them
        new, old = item.shown["new"], item.shown["old"]
        assert item.shown["fact"].endswith(new), "Coherence asks for the new fact, whoever wrote the script"
        assert item.shown["counts"] in (new, old) and (old in item.shown["script"]) != (new in item.shown["script"])


def test_leak_flags_carry_the_quote(store: Store) -> None:
    prompt = next(iter(make_task("filter_question").items(store)))
    text = prompt.shown["cut"].split()[0]
    by = "related_knowledge@1"
    flag = Verdict(
        key=verdict_key(item_id=prompt.id, by=by), item_id=prompt.id, by=by, label="unsure", reason="it says so",
        spans=(Span(start=0, end=len(text), text=text),),
    )  # fmt: skip
    store.put([flag])
    (item,) = make_task("verify_leak").items(store)
    assert item.id == prompt.id
    assert item.shown["flagged"] == text


def test_quality_shows_a_pair_where_there_is_one_and_says_when_not(store: Store) -> None:
    task = make_task("quality")
    yes = {"question": "yes", "change": "yes", "cut": "yes"}
    with_pair = [i for i in task.items(store) if i.related]
    without = [i for i in task.items(store) if not i.related]
    assert len(with_pair) == 6
    assert {"before", "after"} <= set(with_pair[0].shown)
    reasons = {
        len(i.related): next(
            v.reason
            for v in task.records(i, yes, person="ann")
            if isinstance(v, Verdict) and v.check == "quality_change"
        )
        for i in (with_pair[0], without[0])
    }
    assert "compared" in reasons[2]
    assert "hypothetically" in reasons[0]


def test_a_whole_round(ready: RatingsDB, store: Store) -> None:
    assert sum(work(ready, "pilot", p) for p in ("ann", "bob", "chloe")) == 24
    found = {s.person: s for s in rater_progress(ready, "pilot")}
    assert all(s.done == s.assigned == 8 and s.seconds == 4.0 for s in found.values())
    got = import_campaign(ready, store, "pilot")
    assert (got.answers, got.new, got.rejected) == (24, 72, ())
    again = import_campaign(ready, store, "pilot")
    assert (again.answers, again.new) == (24, 0)
    few = Resampling(50)
    live = agreement_report(live_judgements(ready, "pilot"), make_task(TASK), resampling=few)
    assert agreement_report(stored_judgements(store, make_task(TASK)), make_task(TASK), resampling=few) == live
    line = store.lineage(next(iter(store.all(Rating))).id)[0]
    assert line.stage == "annotation"
    assert line.detail["form"] == "rate_script@2" and line.detail["probability"] == 1.0


def test_a_changed_answer_replaces_the_earlier_one_in_the_store(ready: RatingsDB, store: Store) -> None:
    work(ready, "pilot", "ann", 1)
    import_campaign(ready, store, "pilot")
    (before,) = ready.current_answers("pilot")
    ready.save("pilot", "ann", before.item, {**(before.answers or {}), "coherence": 7}, form=before.form)
    got = import_campaign(ready, store, "pilot")
    assert got.superseded == 1
    values = {r.aspect: r.value for r in store.all(Rating)}
    assert values["coherence"] == 7 and len(values) == 3


def test_synthetic_people_are_told_apart_everywhere(ready: RatingsDB, store: Store) -> None:
    with pytest.raises(UserError, match="begin with 'synthetic-'"):
        people.invite(ready, "robot", synthetic=True)
    with pytest.raises(UserError, match="begin with 'synthetic-'"):
        people.invite(ready, "synthetic-robot")
    people.invite(ready, "synthetic-robot", synthetic=True)
    assign_items(ready, "pilot")
    assert work(ready, "pilot", "synthetic-robot") > 0
    import_campaign(ready, store, "pilot")
    ratings = list(store.all(Rating))
    assert all(r.rater == "person:synthetic-robot" for r in ratings)
    assert all(store.lineage(r.id)[0].detail["synthetic"] is True for r in ratings)
    assert agreement_report(live_judgements(ready, "pilot"), make_task(TASK)).synthetic == ("synthetic-robot",)


def test_the_gate_refuses_and_reports(ready: RatingsDB, store: Store) -> None:
    task = make_task(TASK)
    item = next(iter(task.items(store)))

    def given(answers: dict[str, Any], **more: Any) -> RaterAnswer:
        base = {"item": item, "person": "ann", "form": "rate_script@2", "saved_at": "t", "seconds": None, "origin": "x"}
        return RaterAnswer(answers=answers, **{**base, **more})  # type: ignore[arg-type]

    good = answer(1)
    bad = [
        given({**good, "coherence": 9}),
        given({"coherence": 3}),
        given(good, form="rate_script@9"),
        given(good, item=item.model_copy(update={"id": "f" * 20})),
    ]
    got = import_answers(store, task, [*bad, given(good)])
    assert (got.answers, got.new) == (1, 3)
    assert [r.why for r in got.rejected] == [
        "'coherence' is 9; allowed: 1 to 7",
        "'consistency' has no answer (and 1 more faults)",
        "given to the form rate_script@9, the task now has rate_script@2",
        "the store has no such item",
    ]


def test_somebody_who_joins_later_takes_work_over(ready: RatingsDB) -> None:
    work(ready, "pilot", "ann", 2)
    people.invite(ready, "dan")
    made, taken = assign_items(ready, "pilot")
    assert made == taken > 0
    loads = {s.person: s.assigned for s in rater_progress(ready, "pilot")}
    assert loads["dan"] >= 4 and sum(loads.values()) == 24


def test_more_items_are_shared_out_and_nothing_is_asked_twice(ready: RatingsDB, store: Store) -> None:
    work(ready, "pilot", "ann")
    before = ready.assignments("pilot")
    create_campaign(ready, store, "pilot", make_task(TASK), CampaignOptions(overlap=2, batch=4))
    assert assign_items(ready, "pilot") == (0, 0)
    assert ready.assignments("pilot") == before


def test_training_and_attention_items_are_answered_by_all_and_imported_by_none(
    db: RatingsDB, store: Store, tmp_path: Path
) -> None:
    shown = {"fact": "f", "counts": "a", "new": "a", "old": "b", "question": "q", "script": "s"}
    lines = [
        {"purpose": p, "id": f"known-{p}", "shown": shown, "expected": {"coherence": 7}, "because": "it names a"}
        for p in ("training", "attention")
    ]
    path = tmp_path / "known.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    people.invite(db, "ann")
    task = make_task(TASK)
    known = read_control_items(path, task)
    create_campaign(db, store, "pilot", task, CampaignOptions(overlap=1), known=known)
    assign_items(db, "pilot")
    first = next_item(db, "pilot", "ann")
    assert first is not None and first.item == "known-training"
    work(db, "pilot", "ann")
    (mine,) = rater_progress(db, "pilot")
    assert mine.training == (1, 1)
    assert mine.attention[1] == 1
    assert mine.assigned == 12
    got = import_campaign(db, store, "pilot")
    assert got.answers == 12 and not got.rejected
    placed = db.item("pilot", "known-attention")
    assert wrong_fields(placed, task, {"coherence": 6}) == []
    assert wrong_fields(placed, task, {"coherence": 5}) == ["coherence"]
    assert wrong_fields(placed, task, {}) == ["coherence"]


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
    shown = {"fact": "f", "counts": "a", "new": "a", "old": "b", "question": "q", "script": "s"}
    line = {"purpose": "training", "id": "k", "shown": shown, "expected": {"coherence": 7}, **change}
    path = tmp_path / "known.jsonl"
    path.write_text("\n" + json.dumps(line))
    with pytest.raises(DataError, match="line 2") as error:
        read_control_items(path, make_task(TASK))
    assert message in str(error.value)


def test_known_items_may_hold_the_line_ends_of_unicode(tmp_path: Path) -> None:
    shown = {"fact": "f", "counts": "a", "new": "a", "old": "b", "question": "q", "script": "one\u2028two\u0085three"}
    line = {"purpose": "training", "id": "k", "shown": shown, "expected": {"coherence": 7}}
    path = tmp_path / "known.jsonl"
    path.write_text(json.dumps(line, ensure_ascii=False), encoding="utf-8")
    (item,) = read_control_items(path, make_task(TASK))
    assert item.shown == shown


def test_known_items_in_another_encoding_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "known.jsonl"
    path.write_bytes('{"id": "\xe9"}'.encode("latin-1"))
    with pytest.raises(DataError, match="not readable as UTF-8"):
        read_control_items(path, make_task(TASK))


def test_a_sampled_campaign_records_its_probabilities(db: RatingsDB, store: Store) -> None:
    people.invite(db, "ann")
    create_campaign(db, store, "s", make_task("filter_question"), CampaignOptions(overlap=1, percent=50, least=0))
    placed = db.items("s")
    assert len(placed) == 12
    assert {p.probability for p in placed.values()} == {0.5}
    assert db.campaign("s").settings["population"] == 24


def test_refusals(db: RatingsDB, store: Store) -> None:
    with pytest.raises(UserError, match="the store has nothing for 'verify_leak'"):
        create_campaign(db, store, "x", make_task("verify_leak"), CampaignOptions())
    create_campaign(db, store, "y", make_task(TASK), CampaignOptions())
    with pytest.raises(UserError, match="needs as many people, there are 0"):
        assign_items(db, "y")
    with pytest.raises(UserError, match="unknown task 'rate'"):
        make_task("rate")
    with pytest.raises(UserError, match="cannot be chosen by 'few'"):
        create_campaign(db, store, "z", make_task(TASK), CampaignOptions(only="few"))
