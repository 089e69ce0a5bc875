from __future__ import annotations

from pathlib import Path

import pytest

from curation.store.store import Store
from evaluation.judge.answers.from_run import open_answers, store_answers
from schemas.core.errors import UserError
from tests.support.evaluation.open_answers import RIGHT, WRONG, open_run, tendency_case

CASE = tendency_case()
INSIDE = CASE.tendencies[0].key


def test_answers_are_named_by_method_and_question_and_equal_when_read_again() -> None:
    run = open_run([CASE], {"none": {INSIDE: WRONG}, "ice": {INSIDE: RIGHT}})
    first, second = open_answers(run), open_answers(run)
    assert [a.answer.id for a in first] == [a.answer.id for a in second] and len({a.answer.id for a in first}) == 2
    assert [(a.answer.editor, a.answer.edited, a.answer.text) for a in first] == [
        ("none", False, WRONG),
        ("ice", True, RIGHT),
    ]
    assert first[0].answer.event == CASE.event.key and first[0].answer.model == "m@1"


def test_failed_cases_have_no_answer_and_a_run_without_any_is_refused(tmp_path: Path) -> None:
    run = open_run([CASE], {"none": {INSIDE: WRONG}})
    failed_result = run.editors[0].results[CASE.key].model_copy(update={"error": "out of memory"})
    variant = run._replace(editors=(run.editors[0]._replace(results={CASE.key: failed_result}),))
    assert open_answers(variant) == []
    with (
        Store.open(tmp_path / "s.duckdb", create=True) as store,
        pytest.raises(UserError, match="no open answer") as error,
    ):
        store_answers(variant, store)
    assert "ev_open_local" in str(error.value)
