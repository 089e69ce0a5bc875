"""What of a store's open answers is rated: singly in scope, beside the answer before the edit out of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.store.store import Store
from evaluation.judge.answers.from_run import open_answers, store_answers
from evaluation.judge.answers.inputs import AnswerInput, answer_inputs, texts_to_rate
from evaluation.judge.steps import JudgeInput
from schemas.core.errors import UserError
from schemas.events.open_answer import OpenAnswer
from schemas.ratings import CONSISTENCY, TENDENCY
from tests.support.evaluation.open_answers import RIGHT, SAME, WRONG, open_run, tendency_case
from tests.support.judge import fill_store

CASE = tendency_case()
INSIDE, OUTSIDE = (q.key for q in CASE.tendencies)
METHODS = {
    "none": {INSIDE: WRONG, OUTSIDE: SAME},
    "ice": {INSIDE: RIGHT, OUTSIDE: WRONG},
    "bm25": {INSIDE: "I'm sorry, but I can't help with that.", OUTSIDE: f"{SAME}\n"},
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "s.duckdb"
    with Store.open(path, create=True) as db:
        assert store_answers(open_run([CASE], METHODS), db) == 6
        assert store_answers(open_run([CASE], METHODS), db) == 6, "again adds nothing"
        assert len(list(db.all(OpenAnswer))) == 6
    return path


def test_answers_in_scope_with_the_edited_event_and_the_right_option(store: Path) -> None:
    with Store.open(store) as db:
        inputs = answer_inputs(db, TENDENCY)
    assert [(a.editor, a.edited, a.text) for a in inputs] == [
        ("bm25", True, METHODS["bm25"][INSIDE]),
        ("ice", True, RIGHT),
        ("none", False, WRONG),
    ]
    assert {(a.event, a.right, a.before_item) for a in inputs} == {(CASE.event.text, "They rise", None)}
    assert [a.refused for a in inputs] == [True, False, False] and {a.writer for a in inputs} == {"m@1"}


def test_pairs_out_of_scope_without_those_in_the_same_words(store: Path) -> None:
    with Store.open(store) as db:
        (pair,) = answer_inputs(db, CONSISTENCY)
    by_key = {a.answer.key: a.answer for a in open_answers(open_run([CASE], METHODS))}
    assert (pair.editor, pair.text, pair.before) == ("ice", WRONG, SAME)
    assert pair.item == by_key[f"ice-012345/{OUTSIDE}"].id
    assert pair.before_item == by_key[f"none-01234/{OUTSIDE}"].id and pair.rubric is CONSISTENCY


def test_scripts_come_first_and_a_rubric_can_be_named(store: Path, tmp_path: Path) -> None:
    with Store.open(store) as db:
        assert [a.rubric.name for a in texts_to_rate(db) if isinstance(a, AnswerInput)] == ["tendency"] * 3 + [
            "consistency"
        ]
        assert texts_to_rate(db, "script") == [] and len(texts_to_rate(db, "consistency")) == 1
    fill_store(tmp_path / "scripts.duckdb", facts=1)
    with Store.open(tmp_path / "scripts.duckdb") as db:
        assert all(isinstance(a, JudgeInput) for a in texts_to_rate(db)) and len(texts_to_rate(db)) == 2
        assert texts_to_rate(db, "tendency") == []


def test_an_answer_without_its_case_or_question_is_refused(tmp_path: Path) -> None:
    answer = open_answers(open_run([CASE], METHODS))[0].answer
    for phrase, change in (
        ({"case": "case/away"}, "the case 'case/away'"),
        ({"question": "q/away"}, "the question 'q/away'"),
    ):
        path = tmp_path / f"{change[4:8]}.duckdb"
        with Store.open(path, create=True) as db:
            db.put([CASE, answer.model_copy(update=phrase)])
            with pytest.raises(UserError, match=f"{change} of the answer .* is not in the store"):
                answer_inputs(db, TENDENCY)
