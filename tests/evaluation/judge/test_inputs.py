from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from curation.store.store import Store
from evaluation.judge.inputs import (
    RUN_STORE,
    answer_inputs,
    open_answers,
    sample_inputs,
    script_inputs,
    scripts_store,
    store_answers,
    texts_to_rate,
)
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.events.open_answer import OpenAnswer
from schemas.generated_scripts import GeneratedScript
from schemas.ratings import CONSISTENCY, TENDENCY
from schemas.scripts import ScriptQuestion
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, go, make_config
from tests.support.evaluation.open_answers import RIGHT, SAME, WRONG, open_run, tendency_case
from tests.support.evaluation.runner_of import runner_of
from tests.support.facts import make_fact
from tests.support.judge import ASK, fill_store, make_script
from tests.support.small import small_split

PERU = make_fact("Peru", "Lima", "Oslo", key="fact/peru")


QUESTION = ScriptQuestion(key="fact/peru/q1", fact="fact/peru", text="How to visit Peru?")


def store_of(path: Path, *records: Any) -> Store:
    store = Store.open(path, create=True)
    store.put(records)
    return store


def test_the_case_that_was_edited_goes_before_the_corrected_fact(tmp_path: Path) -> None:
    """Facts and questions get corrected; a script is judged by those that stood when it was made."""
    variant = QUESTION.model_copy(update={"text": "How did one visit Peru?"})
    case = Case(key="case/fact/peru", fact=PERU, questions=(variant,))
    fact = make_fact("Peru", "Lima", "Quito", key="fact/peru")
    with store_of(tmp_path / "s.duckdb", fact, QUESTION, case, make_script(PERU, "rome", ("Go",))) as store:
        (inputs,) = script_inputs(store)
    assert inputs.fact == PERU and inputs.question == "How did one visit Peru?"


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([QUESTION], "fact 'fact/peru'"),
        ([PERU], "question 'fact/peru/q1'"),
        ([make_fact("Peru", "Lima", None, key="fact/peru"), QUESTION], "not edited"),
    ],
    ids=["no fact", "no question", "a fact that is not edited"],
)
def test_what_is_lacking_is_named(tmp_path: Path, records: list[Any], message: str) -> None:
    with (
        store_of(tmp_path / "s.duckdb", make_script(PERU, "rome", ("Go",)), *records) as store,
        pytest.raises(UserError, match=message) as error,
    ):
        script_inputs(store)
    assert "generated/rome/fact/peru/q1" in str(error.value)


def test_a_sample_is_the_same_whatever_else_is_there():
    asks = [replace(ASK, item=f"i{n}") for n in range(50)]
    few = [a.item for a in sample_inputs(asks, 10)]
    assert len(few) == 10 and few == [a.item for a in sample_inputs(asks[::-1], 10)][::-1]
    assert few != [a.item for a in sample_inputs(asks, 10, number=1)] and len(sample_inputs(asks, None)) == 50
    assert set(few) >= {a.item for a in sample_inputs(asks, 10) if a.item in {b.item for b in asks[:25]}}


CASE = tendency_case()


INSIDE, OUTSIDE = (q.key for q in CASE.tendencies)


METHODS = {
    "none": {INSIDE: WRONG, OUTSIDE: SAME},
    "ice": {INSIDE: RIGHT, OUTSIDE: WRONG},
    "bm25": {INSIDE: "I'm sorry, but I can't help with that.", OUTSIDE: f"{SAME}\n"},
}


@pytest.fixture
def answers_store(tmp_path: Path) -> Path:
    path = tmp_path / "s.duckdb"
    with Store.open(path, create=True) as db:
        assert store_answers(open_run([CASE], METHODS), db) == 6
        assert store_answers(open_run([CASE], METHODS), db) == 6, "again adds nothing"
        assert len(list(db.all(OpenAnswer))) == 6
    return path


def test_answers_in_scope_with_the_edited_event_and_the_right_option(answers_store: Path) -> None:
    with Store.open(answers_store) as db:
        inputs = answer_inputs(db, TENDENCY)
    assert [(a.editor, a.edited, a.text) for a in inputs] == [
        ("bm25", True, METHODS["bm25"][INSIDE]),
        ("ice", True, RIGHT),
        ("none", False, WRONG),
    ]
    assert {(a.event, a.right, a.before_item) for a in inputs} == {(CASE.event.text, "They rise", None)}
    assert [a.refused for a in inputs] == [True, False, False] and {a.writer for a in inputs} == {"m@1"}


def test_pairs_out_of_scope_without_those_in_the_same_words(answers_store: Path) -> None:
    with Store.open(answers_store) as db:
        (pair,) = answer_inputs(db, CONSISTENCY)
    by_key = {a.answer.key: a.answer for a in open_answers(open_run([CASE], METHODS))}
    assert (pair.editor, pair.text, pair.before) == ("ice", WRONG, SAME)
    assert pair.item == by_key[f"ice-012345/{OUTSIDE}"].id
    assert pair.before_item == by_key[f"none-01234/{OUTSIDE}"].id and pair.rubric is CONSISTENCY


def test_scripts_come_first_and_a_rubric_can_be_named(answers_store: Path, tmp_path: Path) -> None:
    with Store.open(answers_store) as db:
        assert [a.rubric.name for a in texts_to_rate(db)] == ["tendency"] * 3 + ["consistency"]
        assert texts_to_rate(db, "script") == [] and len(texts_to_rate(db, "consistency")) == 1
    fill_store(tmp_path / "scripts.duckdb", facts=1)
    with Store.open(tmp_path / "scripts.duckdb") as db:
        assert {a.rubric.name for a in texts_to_rate(db)} == {"script"} and len(texts_to_rate(db)) == 2
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


TEXTS = ["script_format"]


def run(out: Path, **more: object) -> Path:
    go(out, **{"split": small_split(), "metrics": TEXTS, "limit": 2, "kinds": ["counterfactual"], **more})  # type: ignore[arg-type]
    return out


def scripts(path: Path) -> list[GeneratedScript]:
    with Store.open(path) as store:
        return list(store.all(GeneratedScript))


@pytest.mark.parametrize("names", ["feed", "split"])
def test_the_store_that_the_run_fed_gets_them(tmp_path: Path, names: str) -> None:
    store = tmp_path / "mine.duckdb"
    with Store.open(store, create=True) as db:
        db.put_split(small_split())
    fields = {"feed": str(store)} if names == "feed" else {"split": {"store": str(store), "name": "mini"}}
    folder = tmp_path / "run"
    config = make_config(folder, metrics=TEXTS, limit=2, kinds=["counterfactual"], **fields)
    runner_of(config, small_split(), scorer=ArithmeticLM(), make=ArithmeticEditor).run()
    assert scripts_store(folder) == store and len(scripts(store)) > 0 and not (folder / RUN_STORE).exists()


INSIDE = CASE.tendencies[0].key


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
