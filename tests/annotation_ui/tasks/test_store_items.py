"""What tasks read out of a store: facts with their prompts, whatever order and gaps there are."""

from __future__ import annotations

from pathlib import Path

from annotation_ui.tasks.script_questions import edited_prompts, question_of
from curation.shipped import mini_split
from curation.store.store import Store
from schemas.core.records import Record


def test_every_prompt_comes_with_its_own_fact_though_keys_do_not_sort_by_fact(tmp_path: Path) -> None:
    """Keys in which two facts take turns: each prompt still meets its own fact."""
    cases = list(mini_split().cases)[:2]
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


def test_prompts_of_facts_that_are_not_edited_are_left_out(tmp_path: Path) -> None:
    first, second = list(mini_split().cases)[:2]
    plain = first.fact.model_copy(update={"new": None, "change": "none"})
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([plain, second.fact, *first.prompts, *second.prompts])
        assert {fact.key for fact, _ in edited_prompts(store)} == {second.fact.key}


def test_the_question_is_the_published_one_else_the_first_line(store: Store) -> None:
    case = next(iter(mini_split().cases))
    prompt = next(p for p in case.prompts if p.question)
    assert question_of(store, prompt) == next(q.text for q in case.questions if q.key == prompt.question)
    bare = prompt.model_copy(update={"question": None, "text": "How?\nStep 1: Go to"})
    assert question_of(store, bare) == "How?"
    misnamed = bare.model_copy(update={"question": case.fact.key})
    assert question_of(store, misnamed) == "How?", "a key of something else is no question"
