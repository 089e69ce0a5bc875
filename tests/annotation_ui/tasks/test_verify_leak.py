"""Verifying leak flags: only what a check quotes, and never what a person said."""

from __future__ import annotations

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks.script_questions import VerifyLeakFlag
from curation.store.store import Store
from schemas.verdicts import Label, Span, Verdict, verdict_key

TASK = VerifyLeakFlag()


def flag(item: str, words: str, *, by: str = "related_knowledge@1", label: Label = "unsure", why: str = "w") -> Verdict:
    spans = (Span(start=0, end=len(words), text=words),) if words else ()
    key = verdict_key(item_id=item, by=by)
    return Verdict(key=key, item_id=item, by=by, label=label, reason=why, spans=spans)


def prompt_ids(store: Store) -> list[str]:
    return [i.id for i in make_task("filter_question").items(store)]


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


def test_words_and_reasons_of_several_checks_are_shown_once_each(store: Store) -> None:
    item = prompt_ids(store)[0]
    store.put(
        [
            flag(item, "Lima", by="leak_in_prompt@1", why="it is named"),
            flag(item, "Peru", by="related_knowledge@1", why="it is near", label="drop"),
            flag(item, "Lima", by="other_check@1", why="it is named"),
        ]
    )
    (task,) = TASK.items(store)
    assert sorted(task.shown["flagged"].split(" … ")) == ["Lima", "Peru"]
    assert sorted(task.shown["why"].split("; ")) == ["it is named", "it is near"]


def test_a_flag_without_words_a_kept_item_and_a_person_s_verdict_are_no_work(store: Store) -> None:
    first, second, third = prompt_ids(store)[:3]
    person = "person:ann/filter_question@2"
    store.put([flag(first, ""), flag(second, "x", label="keep"), flag(third, "x", by=person, label="drop")])
    assert list(TASK.items(store)) == []


def test_other_words_need_naming(store: Store) -> None:
    answers = {"leak": "leaks", "reasons": ["other_words"]}
    assert TASK.form.faults(answers) == ["the reason 'other_words' needs a comment"]
    item = next(iter(make_task("filter_question").items(store)))
    verdict = TASK.records(item, {**answers, "comment": "'the Incas'"}, person="ann")[0]
    assert isinstance(verdict, Verdict) and verdict.label == "drop"
    assert "'the Incas'" in verdict.reason
