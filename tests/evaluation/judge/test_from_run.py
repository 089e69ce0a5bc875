"""Where scripts to judge are: the store itself, or one that a run's texts are put into."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.shipped import mini_split
from curation.store.store import Store
from evaluation.judge.inputs import RUN_STORE, open_answers, script_inputs, scripts_store, store_answers
from schemas.core.errors import UserError
from schemas.generated_scripts import GeneratedScript
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, go, make_config
from tests.support.evaluation.open_answers import RIGHT, WRONG, open_run, tendency_case
from tests.support.evaluation.runner_of import runner_of

TEXTS = ["script_format"]


def run(out: Path, **more: object) -> Path:
    go(out, **{"split": mini_split(), "metrics": TEXTS, "limit": 2, "kinds": ["counterfactual"], **more})  # type: ignore[arg-type]
    return out


def scripts(path: Path) -> list[GeneratedScript]:
    with Store.open(path) as store:
        return list(store.all(GeneratedScript))


@pytest.mark.parametrize("name", ["s.duckdb", "not/there.duckdb"])
def test_a_file_stands_for_itself(tmp_path: Path, name: str) -> None:
    assert scripts_store(tmp_path / name) == tmp_path / name
    assert not (tmp_path / name).exists(), "whoever opens it says what is wrong with it"


def test_a_run_gets_a_store_with_all_that_judging_needs(tmp_path: Path) -> None:
    folder = run(tmp_path / "run")
    path = scripts_store(folder)
    assert path == folder / RUN_STORE
    with Store.open(path) as store:
        inputs = script_inputs(store)
    cases = mini_split().cases
    assert {a.editor for a in inputs} == {"none", "push"} and len({a.case for a in inputs}) == 2
    assert all(a.fact in [c.fact for c in cases] for a in inputs)


def test_again_adds_only_what_is_new(tmp_path: Path) -> None:
    folder = run(tmp_path / "run")
    before = scripts(scripts_store(folder))
    assert scripts(scripts_store(folder)) == before
    run(folder, limit=3)
    after = scripts(scripts_store(folder))
    assert len(after) == len(before) * 3 // 2 and {s.id for s in before} < {s.id for s in after}


@pytest.mark.parametrize("names", ["feed", "split"])
def test_the_store_that_the_run_fed_gets_them(tmp_path: Path, names: str) -> None:
    store = tmp_path / "mine.duckdb"
    with Store.open(store, create=True) as db:
        db.put_split(mini_split())
    fields = {"feed": str(store)} if names == "feed" else {"split": {"store": str(store), "name": "mini"}}
    folder = tmp_path / "run"
    config = make_config(folder, metrics=TEXTS, limit=2, kinds=["counterfactual"], **fields)
    runner_of(config, mini_split(), scorer=ArithmeticLM(), make=ArithmeticEditor).run()
    assert scripts_store(folder) == store and len(scripts(store)) > 0 and not (folder / RUN_STORE).exists()


def test_what_is_no_run_or_has_no_texts(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not the folder of a run") as error:
        scripts_store(tmp_path)
    assert error.value.where == str(tmp_path)
    plain = run(tmp_path / "plain", metrics=["es"])
    with pytest.raises(UserError, match="no scripts were written"):
        scripts_store(plain)
    assert not (plain / RUN_STORE).exists()


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
