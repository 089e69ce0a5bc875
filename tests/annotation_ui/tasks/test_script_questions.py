"""Questions, texts up to the gap and the quality sample."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import skip_item
from annotation_ui.tasks.script_questions import (
    FilterQuestion,
    QualitySample,
    VerifyLeakFlag,
    edited_prompts,
    question_of,
)
from curation.quality.report import report
from curation.quality.sample import draw, keep_sample, samples
from curation.splits.split_file import Split, make_split
from curation.store.store import Store
from schemas.core.records import Record
from schemas.generated_scripts import GeneratedScript
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Label, Span, Verdict, verdict_key
from tests.annotation_ui.conftest import begin
from tests.support.small import small_split

TASK = FilterQuestion()


def test_an_item_ends_where_the_model_goes_on(store: Store) -> None:
    case = next(iter(small_split().cases))
    views = {i.id: i for i in TASK.items(store)}
    for prompt in case.prompts:
        item = views[prompt.id]
        assert item.shown["cut"] == prompt.text and not item.shown["cut"].endswith(" ")
        assert case.fact.new is not None
        assert item.shown["edit"].endswith(f": {case.fact.old.text} → {case.fact.new.text}")
        assert (item.case, item.stratum) == (case.fact.key, "P36 counterfactual")


def test_a_separator_that_is_more_than_a_space_is_shown(store: Store) -> None:
    case = next(iter(small_split().cases))
    odd = case.prompts[0].model_copy(update={"separator": "\n  ", "offset": len(case.prompts[0].text) + 3})
    store.put([odd])
    assert {i.id: i for i in TASK.items(store)}[odd.id].shown["cut"] == case.prompts[0].text + "\n"


def test_a_fact_without_an_edit_has_nothing_to_filter(store: Store) -> None:
    case = next(iter(small_split().cases))
    before = len(list(TASK.items(store)))
    plain: list[Record] = [case.fact.model_copy(update={"new": None, "change": "none"})]
    store.put(plain)
    assert len(list(TASK.items(store))) == before - len(case.prompts)


TASK_VERIFY_LEAK = VerifyLeakFlag()


def flag(item: str, words: str, *, by: str = "related_knowledge@1", label: Label = "unsure", why: str = "w") -> Verdict:
    spans = (Span(start=0, end=len(words), text=words),) if words else ()
    key = verdict_key(item_id=item, by=by)
    return Verdict(key=key, item_id=item, by=by, label=label, reason=why, spans=spans)


def prompt_ids(store: Store) -> list[str]:
    return [i.id for i in make_task("filter_question").items(store)]


def test_words_and_reasons_of_several_checks_are_shown_once_each(store: Store) -> None:
    item = prompt_ids(store)[0]
    store.put(
        [
            flag(item, "Lima", by="leak_in_prompt@1", why="it is named"),
            flag(item, "Peru", by="related_knowledge@1", why="it is near", label="drop"),
            flag(item, "Lima", by="other_check@1", why="it is named"),
        ]
    )
    (task,) = TASK_VERIFY_LEAK.items(store)
    assert sorted(task.shown["flagged"].split(" … ")) == ["Lima", "Peru"]
    assert sorted(task.shown["why"].split("; ")) == ["it is named", "it is near"]


def test_a_flag_without_words_a_kept_item_and_a_person_s_verdict_are_no_work(store: Store) -> None:
    first, second, third = prompt_ids(store)[:3]
    person = "person:ann/filter_question@3"
    store.put([flag(first, ""), flag(second, "x", label="keep"), flag(third, "x", by=person, label="drop")])
    assert list(TASK_VERIFY_LEAK.items(store)) == []


def test_other_words_need_naming(store: Store) -> None:
    answers = {"leak": "leaks", "reasons": ["other_words"]}
    assert TASK_VERIFY_LEAK.form.faults(answers) == ["the reason 'other_words' needs a comment"]
    item = next(iter(make_task("filter_question").items(store)))
    verdict = TASK_VERIFY_LEAK.records(item, {**answers, "comment": "'the Incas'"}, person="ann")[0]
    assert isinstance(verdict, Verdict) and verdict.label == "drop"
    assert "'the Incas'" in verdict.reason


def test_every_prompt_comes_with_its_own_fact_though_keys_do_not_sort_by_fact(tmp_path: Path) -> None:
    """Keys in which two facts take turns: each prompt still meets its own fact."""
    cases = list(small_split().cases)[:2]
    records: list[Record] = []
    for n, case in enumerate(cases):
        records.append(case.fact)
        records += [p.model_copy(update={"key": f"p/{k}/{n}"}) for k, p in enumerate(case.prompts)]
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put(records)
        pairs = [(fact.key, prompt.fact) for fact, prompt in edited_prompts(store)]
    assert len(pairs) == sum(len(c.prompts) for c in cases)
    assert all(row == pair for row, pair in pairs)
    assert {row for row, _ in pairs} == {c.fact.key for c in cases}


def test_the_question_is_the_published_one_else_the_first_line(store: Store) -> None:
    case = next(iter(small_split().cases))
    prompt = next(p for p in case.prompts if p.question)
    assert question_of(store, prompt) == next(q.text for q in case.questions if q.key == prompt.question)
    bare = prompt.model_copy(update={"question": None, "text": "How?\nStep 1: Go to"})
    assert question_of(store, bare) == "How?"
    misnamed = bare.model_copy(update={"question": case.fact.key})
    assert question_of(store, misnamed) == "How?", "a key of something else is no question"


def test_a_round_over_questions_of_a_store_without_scripts(db: RatingsDB, tmp_path: Path) -> None:
    with Store.open(tmp_path / "q.duckdb", create=True) as store:
        cases = list(small_split().cases)[:3]
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
        begin(db, store, "screen", "screen_question", "ann")
        for a in db.assignments("screen", "ann"):
            record = {"meaningful": "no", "depends": "yes", "changes": "yes", "reasons": ["not_asked"]}
            db.save("screen", "ann", a.item, record, form="screen_question@3")
        assert import_campaign(db, store, "screen").rejected == ()
        verdicts = [v for v in store.all(Verdict) if v.check == "screen_question"]
        assert {(v.item_id, v.label, v.reason) for v in verdicts} == {
            (i.id, "drop", "meaningful, not_asked") for i in items
        }


YES = {"question": "yes", "change": "yes", "cut": "yes"}
QUALITY = QualitySample()


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
    now = next(i for i in QUALITY.items(store) if i.related)
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
    before = {i.id: i for i in QUALITY.items(store)}
    assert {i: item.stratum for i, item in before.items()} == {d.item_id: d.stratum for d in sample.items}
    store.put([p.model_copy(update={"text": "Other"}) for p in store.all(ScriptPrompt)])
    assert {i.id: i for i in QUALITY.items(store)} == before, "the split stays as it is"


def test_a_case_is_judged_with_all_its_prompts(store: Store, frozen: Split) -> None:
    keep_sample(store, draw(frozen, percent=100, unit="case"))
    items = list(QUALITY.items(store))
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
            db.save("q", a.person, a.item, YES, form=QUALITY.form.label)
    left = [a.item for a in db.assignments("q", "eve")]
    skip_item(db, "q", "eve", left[0], "knowledge")
    import_campaign(db, store, "q")
    quality = report(store, samples(store)[0], resamples=10)
    assert (quality.missing, quality.unanswered) == ({"ann": 0, "bob": 0, "eve": len(left) - 1}, 0)
    for item in left[1:]:
        db.save("q", "eve", item, YES, form=QUALITY.form.label)
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
    items = [i for i in QUALITY.items(store) if i.id in prompts]
    assert items and all(not i.related and "before" not in i.shown for i in items)
    store.put([base.model_copy(update={"key": "g/d", "question": question_key, "model": "small", "edited": True})])
    assert all(len(i.related) == 2 for i in QUALITY.items(store) if i.id in prompts)


def test_only_the_second_answer_says_what_it_was_compared_with(store: Store) -> None:
    item = next(i for i in QUALITY.items(store) if i.related)
    records = {v.check: v for v in QUALITY.records(item, YES, person="ann") if isinstance(v, Verdict)}
    assert records["quality_change"].related == item.related
    assert [records[c].related for c in ("quality", "quality_question", "quality_cut")] == [(), (), ()]
