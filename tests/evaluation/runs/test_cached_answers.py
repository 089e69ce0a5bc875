"""Answers of the unedited model are asked for once per model revision and precision, whatever the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.runs.cached_answers import CachedAnswers
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, answers, make_cases, make_config
from tests.support.evaluation.runner_of import runner_of


def run(out: Path, kept: Path, *, revision: str = "1", dtype: str = "float32", cases: int = 4, **more: object):
    lm = ArithmeticLM(revision=revision)
    config = make_config(out, dtype=dtype, **more)
    file = CachedAnswers.file_of(lm, dtype, kept)
    outcomes = runner_of(config, make_cases(cases, 0), scorer=lm, make=ArithmeticEditor, answers=file).run()
    return outcomes, len(lm.calls)


def test_another_run_asks_the_unedited_model_nothing(tmp_path):
    first, calls = run(tmp_path / "a", tmp_path / "kept")
    assert calls == 8, "four cases without an edit, four with"
    second, calls = run(tmp_path / "b", tmp_path / "kept", editors=[{"name": "push", "params": {"strength": 1}}])
    assert calls == 4
    assert answers(first[0].folder) == answers(second[0].folder)
    _, calls = run(tmp_path / "c", tmp_path / "kept", cases=6)
    assert calls == 2 + 6, "two cases are new"


@pytest.mark.parametrize("change", [{"revision": "2"}, {"dtype": "bfloat16"}])
def test_another_model_or_precision_is_asked_anew(change, tmp_path):
    run(tmp_path / "a", tmp_path / "kept")
    assert run(tmp_path / "b", tmp_path / "kept", **change)[1] == 8


def test_answers_of_another_attention_stand_apart(tmp_path):
    usual = CachedAnswers.file_of(ArithmeticLM(revision="r"), "float32", tmp_path)
    assert usual.name.startswith("answers-r-float32-scorer")
    eager = ArithmeticLM(revision="r")
    eager.other_attention = "eager"
    other = CachedAnswers.file_of(eager, "float32", tmp_path)
    assert other.name == usual.name.replace("float32", "float32-eager")


def test_a_damaged_file_costs_time_only(tmp_path):
    first, _ = run(tmp_path / "a", tmp_path / "kept")
    (path,) = (tmp_path / "kept").glob("answers-*.jsonl")
    path.write_bytes(b"{]\n" + path.read_bytes()[:200])
    second, calls = run(tmp_path / "b", tmp_path / "kept")
    assert calls > 4 and answers(first[0].folder) == answers(second[0].folder)
