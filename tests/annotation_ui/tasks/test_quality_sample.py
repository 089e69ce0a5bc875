"""The quality sample: drawn items only, and whether scripts were compared or imagined."""

from __future__ import annotations

import pytest

from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import skip_item
from annotation_ui.tasks.script_questions import QualitySample
from curation.quality.report import report
from curation.quality.sample import draw, keep_sample, samples
from curation.splits.split_file import Split, make_split
from curation.store.store import Store
from schemas.generated_scripts import GeneratedScript
from schemas.scripts import ScriptPrompt
from schemas.verdicts import Verdict
from tests.annotation_ui.conftest import begin
from tests.support.small import small_split

YES = {"question": "yes", "change": "yes", "cut": "yes"}
TASK = QualitySample()


def test_quality_shows_a_pair_where_there_is_one_and_says_when_not(store: Store) -> None:
    task = make_task("quality")
    yes = {"question": "yes", "change": "yes", "cut": "yes"}
    with_pair = [i for i in task.items(store) if i.related]
    tasks = [i for i in task.items(store) if not i.related]
    assert len(with_pair) == 6
    assert {"before", "after"} <= set(with_pair[0].shown)
    reasons = {
        len(i.related): next(
            v.reason
            for v in task.records(i, yes, person="ann")
            if isinstance(v, Verdict) and v.check == "quality_change"
        )
        for i in (with_pair[0], tasks[0])
    }
    assert "compared" in reasons[2]
    assert "hypothetically" in reasons[0]


def test_scripts_are_shown_as_the_model_wrote_them(store: Store) -> None:
    """Only parsed steps were shown: remarks, empty steps and loops vanished."""
    base = [g for g in store.all(GeneratedScript) if not g.sample]
    odd = "Note: it is in Paris\nStep 1:\x1b[2J\nStep 2: go"
    store.put([g.model_copy(update={"text": odd, "steps": ("go",)}) for g in base])
    now = next(i for i in TASK.items(store) if i.related)
    assert now.shown["before"] == now.shown["after"] == "Note: it is in Paris\nStep 1:\\u001b[2J\nStep 2: go"


@pytest.fixture
def frozen(store: Store) -> Split:
    split = make_split("frozen", small_split().cases[:6])
    store.put_split(split)
    return split


def test_the_sample_drawn_last_is_asked_as_its_split_has_it(store: Store, frozen: Split) -> None:
    for percent in (20, 40):
        sample = draw(frozen, percent=percent)
        keep_sample(store, sample)
    before = {i.id: i for i in TASK.items(store)}
    assert {i: item.stratum for i, item in before.items()} == {d.item_id: d.stratum for d in sample.items}
    store.put([p.model_copy(update={"text": "Other"}) for p in store.all(ScriptPrompt)])
    assert {i.id: i for i in TASK.items(store)} == before, "the split stays as it is"


def test_a_case_is_judged_with_all_its_prompts(store: Store, frozen: Split) -> None:
    keep_sample(store, draw(frozen, percent=100, unit="case"))
    items = list(TASK.items(store))
    assert [i.id for i in items] == [c.id for c in frozen.cases] and not any(i.related for i in items)
    case = frozen.cases[0]
    assert len(case.prompts) > 1 and all(p.text in items[0].shown["cut"] for p in case.prompts)
    assert items[0].shown["question"] == "\n\n".join(q.text for q in case.questions)


def test_the_report_waits_for_everybody_who_was_asked_and_can_judge_the_item(
    db: RatingsDB, store: Store, frozen: Split
) -> None:
    keep_sample(store, draw(frozen, percent=40))
    begin(db, store, "q", "quality", "ann", "bob", "eve", overlap=2)
    for a in db.assignments("q"):
        if a.person != "eve":
            db.save("q", a.person, a.item, YES, form=TASK.form.label)
    left = [a.item for a in db.assignments("q", "eve")]
    skip_item(db, "q", "eve", left[0], "knowledge")
    import_campaign(db, store, "q")
    quality = report(store, samples(store)[0], resamples=10)
    assert (quality.missing, quality.unanswered) == ({"ann": 0, "bob": 0, "eve": len(left) - 1}, 0)
    for item in left[1:]:
        db.save("q", "eve", item, YES, form=TASK.form.label)
    import_campaign(db, store, "q")
    assert report(store, samples(store)[0], resamples=10).complete


def test_the_pair_is_of_one_model_and_one_sample(store: Store) -> None:
    """An edited script of another model, or of another draw, is not set beside the unedited one."""
    base = next(g for g in store.all(GeneratedScript) if not g.edited)
    question_key = base.question.rsplit("/", 1)[0] + "/q2"
    store.put(
        [
            base.model_copy(update={"key": "g/a", "question": question_key, "model": "small"}),
            base.model_copy(update={"key": "g/b", "question": question_key, "model": "large", "edited": True}),
            base.model_copy(
                update={
                    "key": "g/c",
                    "question": question_key,
                    "model": "small",
                    "edited": True,
                    "sample": 1,
                    "editor": "x",
                }
            ),
        ]
    )
    prompts = {p.id for c in small_split().cases for p in c.prompts if p.question == question_key}
    items = [i for i in TASK.items(store) if i.id in prompts]
    assert items and all(not i.related and "before" not in i.shown for i in items)
    store.put([base.model_copy(update={"key": "g/d", "question": question_key, "model": "small", "edited": True})])
    assert all(len(i.related) == 2 for i in TASK.items(store) if i.id in prompts)


def test_only_the_second_answer_says_what_it_was_compared_with(store: Store) -> None:
    item = next(i for i in TASK.items(store) if i.related)
    records = {v.check: v for v in TASK.records(item, YES, person="ann") if isinstance(v, Verdict)}
    assert records["quality_change"].related == item.related
    assert [records[c].related for c in ("quality", "quality_question", "quality_cut")] == [(), (), ()]
