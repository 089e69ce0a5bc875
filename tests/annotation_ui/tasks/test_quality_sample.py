"""The quality sample: drawn items only, and whether scripts were compared or imagined."""

from __future__ import annotations

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks.script_questions import QualitySample
from curation.quality.sample import draw, keep_sample
from curation.shipped import mini_split
from curation.store.store import Store
from schemas.generated_scripts import GeneratedScript
from schemas.verdicts import Verdict

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


def test_where_a_sample_was_drawn_nothing_else_is_asked(store: Store) -> None:
    all_ = {i.id: i for i in TASK.items(store)}
    sample = draw(mini_split(), percent=40)
    keep_sample(store, sample)
    item = {i.id: i for i in TASK.items(store)}
    stratums = {d.item_id: d.stratum for d in sample.items}
    assert set(item) == set(stratums) & set(all_) and 0 < len(item) < len(all_)
    assert all(item[i].stratum == stratums[i] for i in item)


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
    prompts = {p.id for c in mini_split().cases for p in c.prompts if p.question == question_key}
    items = [i for i in TASK.items(store) if i.id in prompts]
    assert items and all(not i.related and "before" not in i.shown for i in items)
    store.put([base.model_copy(update={"key": "g/d", "question": question_key, "model": "small", "edited": True})])
    assert all(len(i.related) == 2 for i in TASK.items(store) if i.id in prompts)


def test_only_the_second_answer_says_what_it_was_compared_with(store: Store) -> None:
    item = next(i for i in TASK.items(store) if i.related)
    records = {v.check: v for v in TASK.records(item, YES, person="ann") if isinstance(v, Verdict)}
    assert records["quality_change"].related == item.related
    assert [records[c].related for c in ("quality", "quality_question", "quality_cut")] == [(), (), ()]
