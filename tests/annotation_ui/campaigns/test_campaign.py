"""From the store to people and back: nothing lost, nothing twice, nothing seen that would bias."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation_ui.agreement.report import live_judgements
from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import (
    CampaignOptions,
    assign_items,
    campaign_options,
    campaign_task,
    campaigns_of_group,
    closed_items,
    create_campaign,
    draw_sample,
    make_task,
    rater_progress,
    waiting_for,
)
from annotation_ui.campaigns.control_items import RaterControlItem, read_control_items, wrong_fields
from annotation_ui.label_studio.validation import task_data
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item, skip_item
from annotation_ui.tasks.base import TaskItem
from curation.store.store import Store
from schemas.core.errors import DataError, UserError
from schemas.ratings import Rating
from schemas.scripts import ScriptPrompt
from tests.annotation_ui.cli.conftest import call
from tests.annotation_ui.conftest import TASK, begin, work


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


def test_more_items_are_shared_out_and_nothing_is_asked_twice(ready: RatingsDB, store: Store) -> None:
    work(ready, "pilot", "ann")
    before = ready.assignments("pilot")
    create_campaign(ready, store, "pilot", make_task(TASK), CampaignOptions(overlap=2, batch=4))
    assert assign_items(ready, "pilot") == (0, 0)
    assert ready.assignments("pilot") == before


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
    task = make_task(TASK)
    begin(db, store, "pilot", TASK, "ann", known=read_control_items(path, task))
    first = next_item(db, "pilot", "ann")
    assert first is not None and (db.item("pilot", first.item).expected or {})["name"] == "known-training"
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
    for wrong in ({"percent": 0.0}, {"percent": -1.0}, {"only": "few"}):
        with pytest.raises(ValueError, match=f"1 validation error.*\n{next(iter(wrong))}"):
            CampaignOptions.model_validate(wrong)


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


def test_answers_to_a_text_that_changed_are_told_and_do_not_count_for_the_new_one(db: RatingsDB, store: Store) -> None:
    begin(db, store, "c", "filter_question", "ann")
    answers = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}
    for a in db.assignments("c", "ann"):
        db.save("c", "ann", a.item, answers, form="filter_question@3")
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


def test_a_campaign_keeps_what_is_not_given_again(db: RatingsDB, store: Store) -> None:
    task = make_task("filter_question")
    first = {"overlap": 3, "batch": 7, "consent": "I agree", "number": 5, "percent": None, "spans": True, "group": ""}
    create_campaign(db, store, "pilot", task, campaign_options(db, "pilot", first))
    defaults = dict.fromkeys(first) | {"spans": False, "group": "", "percent": 50.0}
    options = campaign_options(db, "pilot", defaults)
    assert (options.overlap, options.batch, options.consent, options.spans) == (3, 7, "I agree", True)
    assert (options.percent, options.number) == (50.0, None), "one size replaces the other"
    with pytest.raises(UserError, match="neither grows nor shrinks"):
        create_campaign(db, store, "pilot", task, options)
    create_campaign(db, store, "pilot", task, options.model_copy(update={"percent": 100.0, "number": 5}))
    assert [f.kind for f in campaign_task(db, "pilot").form.fields].count("spans") == 1
    assert campaign_options(db, "other", {}) == CampaignOptions()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n\t", "the consent text is empty"),
        ("W\x00e\x00", "no plain text; save it as UTF-8"),
        ("We keep \ufffd", "no plain text"),
        ("\ud800", "no plain text"),
        ("x" * 100_001, "has 100001 characters; allowed: at most 100000"),
    ],
)
def test_a_consent_text_that_nobody_could_read_is_refused(db: RatingsDB, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        campaign_options(db, "pilot", {"consent": text})
    assert len(str(caught.value)) < 300 and str(caught.value).encode()


@pytest.mark.parametrize("content", [b"", b"\n", b"\xef\xbb\xbf", "Wir".encode("utf-16"), "Wir für".encode("latin-1"),
                                     "We".encode("utf-16-le")])  # fmt: skip
def test_a_file_without_a_consent_text_asks_nobody_for_nothing(
    db: RatingsDB, store: Store, tmp_path: Path, content: bytes
) -> None:
    """An empty file was taken for no option: people rated without having been asked."""
    path = tmp_path / "consent.txt"
    path.write_bytes(content)
    store.close()
    with pytest.raises(UserError, match="consent text is"):
        call("new", "pilot", "--task", "rate_script", "-s", store.path, "-r", db.path, "--consent", path)
    assert db.campaigns() == []


def test_marks_cannot_be_asked_for_later(db: RatingsDB, store: Store) -> None:
    task = make_task("filter_question")
    create_campaign(db, store, "pilot", task, CampaignOptions())
    with pytest.raises(UserError, match="made without marked words"):
        create_campaign(db, store, "pilot", task, CampaignOptions(spans=True))


def units(*sizes: int, first: int = 0) -> list[TaskItem]:
    """Items of strata of these sizes."""
    return [
        TaskItem(id=f"s{s}-{n:04}", case=f"c{n}", stratum=f"s{s}", shown={})
        for s, size in enumerate(sizes)
        for n in range(first, first + size)
    ]


def test_a_sample_is_stratified_seeded_and_knows_its_probabilities() -> None:
    all_items = units(25, 25, 25, 25)
    tenth = CampaignOptions(percent=10)
    draw = draw_sample(all_items, tenth, name="x")
    assert len(draw) == 10
    assert {d.probability for d in draw} == {0.1}
    assert draw == draw_sample(list(reversed(all_items)), tenth, name="x")
    assert draw != draw_sample(all_items, tenth, name="y")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.integers(0, 3), st.data())
def test_a_number_is_that_number_and_probabilities_add_up_to_it(
    sizes: list[int], least: int, data: st.DataObject
) -> None:
    lowest = max(1, sum(min(least, n) for n in sizes))
    number = data.draw(st.integers(lowest, sum(sizes)))
    draw = draw_sample(units(*sizes), CampaignOptions(number=number, least=least), name="x")
    assert len(draw) == number
    of_stratum = {d.item.stratum: d.probability for d in draw}
    assert all(p is not None and 0 < p <= 1 for p in of_stratum.values())
    counts = Counter(d.item.stratum for d in draw)
    if least:  # every stratum is there, so that the probabilities of all items are known
        expected = sum(n * (of_stratum[f"s{s}"] or 0) for s, n in enumerate(sizes))
        assert expected == pytest.approx(number)
    assert all(counts[f"s{s}"] >= min(least, n) for s, n in enumerate(sizes))


def test_numbers_that_cannot_be_drawn_are_refused_with_what_can() -> None:
    with pytest.raises(UserError, match="allowed: 3 to 30"):
        draw_sample(units(10, 10, 10), CampaignOptions(number=2), name="x")
    with pytest.raises(UserError, match="allowed: 1 to 30"):
        draw_sample(units(10, 10, 10), CampaignOptions(number=31, least=0), name="x")


Make = Callable[..., Any]
FIRST, THEN = "rate_executability", "rate_script"


@pytest.fixture
def make(db: RatingsDB, store: Store) -> Make:
    people.invite(db, "ann")

    def made(name: str, task: str, **more: Any) -> dict[str, float | None]:
        known_facts = more.pop("known", ())
        options = CampaignOptions(**{"overlap": 1, "group": "paper", **more})
        create_campaign(db, store, name, make_task(task), options, known=known_facts)
        return {i: p.probability for i, p in db.items(name).items() if p.purpose == "real"}

    return made


def test_all_aspects_are_asked_of_the_same_scripts(make: Make) -> None:
    first = make("exec", FIRST, number=5, least=0)
    assert len(first) == 5 and make("rest", THEN) == first
    with pytest.raises(UserError, match="leave out --percent and --number"):
        make("more", THEN, number=6)


def test_a_sample_neither_grows_nor_shrinks(make: Make) -> None:
    before = make("exec", FIRST, number=5, least=0)
    for size in ({"number": 8}, {"number": 3}, {"percent": 50.0}):
        with pytest.raises(UserError, match="neither grows nor shrinks; draw a second one"):
            make("exec", FIRST, least=0, **size)
    assert make("exec", FIRST, number=5, least=0) == before


def test_another_group_and_no_group_draw_on_their_own(db: RatingsDB, make: Make) -> None:
    makes = [make("exec", FIRST, number=5, least=0), make("b", FIRST, number=5, least=0, group="second")]
    makes.append(make("c", FIRST, number=5, least=0, group=""))
    assert len({tuple(sorted(d)) for d in makes}) == 3
    assert campaigns_of_group(db, "") == []


def test_executability_comes_first_and_is_closed_afterwards(db: RatingsDB, make: Make) -> None:
    make("exec", FIRST, number=5, least=0)
    make("rest", THEN)
    with pytest.raises(UserError, match="'exec' comes before 'rest' and is not assigned"):
        assign_items(db, "rest")
    assign_items(db, "exec")
    assign_items(db, "rest")
    assert waiting_for(db, db.campaign("rest"), "ann") == "exec"
    assert waiting_for(db, db.campaign("exec"), "ann") is None
    assert waiting_for(db, db.campaign("rest"), "bob") is None, "nothing of the first is bob's"
    for a in db.assignments("exec", "ann"):
        db.save("exec", "ann", a.item, {"executability": 3}, form="rate_executability@3")
    assert waiting_for(db, db.campaign("rest"), "ann") is None
    order = [a.item for a in db.assignments("rest", "ann")]
    assert closed_items(db, db.campaign("exec"), "ann") == {order[0]}, "it may be on the screen already"
    work(db, "rest", "ann", 2)
    skip_item(db, "rest", "ann", order[2], "language")
    assert closed_items(db, db.campaign("exec"), "ann") == set(order[:4])
    assert closed_items(db, db.campaign("rest"), "ann") == set()


def test_executability_cannot_be_asked_afterwards(db: RatingsDB, make: Make) -> None:
    make("rest", THEN)
    assign_items(db, "rest")
    work(db, "rest", "ann", 1)
    with pytest.raises(UserError, match="'rate_executability' comes before 'rate_script'"):
        make("exec", FIRST)


def test_a_script_with_a_known_answer_is_not_rated(db: RatingsDB, make: Make) -> None:
    make("look", FIRST, group="")
    value = dict(next(iter(db.items("look").values())).item.shown)
    items = [RaterControlItem(purpose="training", id="t", shown=value, expected={"executability": 7})]
    draw = make("exec", FIRST, known=items, group="other")
    assert len(draw) == 11
    assert value not in [dict(p.item.shown) for p in db.items("exec").values() if p.purpose == "real"]
    gold = RaterControlItem(purpose="training", id=f"gold-{next(iter(draw))}", shown={"script": "x"}, expected={})
    with pytest.raises(UserError, match="is rated in this campaign"):
        make("exec", FIRST, known=[gold], group="other")


@pytest.mark.parametrize("task", ["rate_executability", "rate_script", "quality", "filter_question"])
def test_nothing_in_a_task_s_data_tells_a_control_item(db: RatingsDB, store: Store, task: str) -> None:
    form = make_task(task)
    values = {s.name: "a text" for s in form.form.shows if not s.optional} | {"hint": "attention"}
    items = [RaterControlItem(purpose=p, id=f"{p}-1", shown=values, expected={}) for p in ("training", "attention")]
    begin(db, store, "c", task, "ann", known=items)
    data = {i: task_data(p.item, form.form) for i, p in db.items("c").items()}
    assert len({tuple(d) for d in data.values()}) == 1, "the same columns in the same order"
    assert all(re.fullmatch(r"[0-9a-f]{20}", d["scedit_item"]) for d in data.values())
    assert not any("attention" in str(d) or "training" in str(d) for d in data.values())
    purposes = [db.items("c")[a.item].purpose for a in db.assignments("c", "ann")]
    assert purposes.count("attention") == 1 and purposes[0] == "training"


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        ("compare_executability", {"shown": {"first": "Step 1: Go", "second": " \n"}}, "nothing is shown as 'second'"),
        ("compare_executability", {"shown": {"first": "Step 1: Go"}}, "nothing is shown as 'second'"),
        ("compare_executability", {"expected": {"executability": "both"}}, "allowed: first, second, tie, cannot_judge"),
        ("compare_executability", {"expected": {"executability": ["tie"]}}, "allowed: first, second, tie"),
        ("compare_executability", {"expected": {"coherence": "tie"}}, "the form does not ask 'coherence'"),
        ("rate_executability", {"shown": {"script": ""}}, "nothing is shown as 'script'"),
        ("rate_executability", {"expected": {"executability": 8}}, "allowed: 1 to 7"),
        ("rate_executability", {"tolerance": -1}, "tolerance: .*greater than or equal to 0"),
        ("rate_executability", {"purpose": "real"}, "purpose: .*'training' or 'attention'"),
        ("rate_executability", {"extra": 1}, "unknown field"),
    ],
)
def test_a_line_that_is_no_control_item_is_refused_by_its_number(
    tmp_path: Path, task: str, change: dict[str, Any], message: str
) -> None:
    shown = {"script": "Step 1: Go", "first": "Step 1: Go", "second": "Step 1: Go"}  # the same script twice is a tie
    right = "tie" if task == "compare_executability" else 4
    good = {"purpose": "attention", "id": "a", "shown": shown, "expected": {"executability": right}}
    path = tmp_path / "known.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps(good | change) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        read_control_items(path, make_task(task))
    assert "line 2" in str(caught.value)
