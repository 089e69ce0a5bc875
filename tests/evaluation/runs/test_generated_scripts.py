"""Scripts out of a run: records, files and stores that raters read."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation_ui.tasks.generated_scripts import read_scripts
from evaluation.runs.generated_scripts import scripts_of_run, write_scripts
from evaluation.runs.results import Run, load_run
from schemas.core.errors import UserError
from tests.support.arithmetic import go
from tests.support.small import small_split


@pytest.fixture
def run(tmp_path: Path) -> Run:
    go(tmp_path / "run", split=small_split(), metrics=["s_es_gen_question"], limit=3)
    return load_run(tmp_path / "run")


def test_records_say_whose_they_are(run: Run) -> None:
    scripts = [w.script for w in scripts_of_run(run)]
    assert len(scripts) == 3 * 4 * 2 and len({s.key for s in scripts}) == len({s.id for s in scripts}) == 24
    assert {(s.editor, s.edited) for s in scripts} == {("none", False), ("push", True)}
    assert {s.case for s in scripts} == set(run.cases)
    one = scripts[0]
    assert one.model == "arithmetic@1" and one.steps[0] == "Pack warm clothes" and not one.refused
    assert one.question.startswith(one.fact)


def test_a_script_with_a_line_end_of_unicode_reads_back(run: Run, tmp_path: Path) -> None:
    source = scripts_of_run(run, ["push"])[0]
    script = source.script.model_copy(update={"text": "Step 1: Go\u2028Step 2: Come\u0085"})
    write_scripts([source._replace(script=script)], tmp_path / "scripts.jsonl")
    assert read_scripts(tmp_path / "scripts.jsonl") == [script]


def test_what_cannot_be_taken_out(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no editor 'rome'.*none, push"):
        scripts_of_run(run, ["rome"])
    go(tmp_path / "plain", split=small_split(), metrics=["es"], limit=2)
    with pytest.raises(UserError, match="no scripts were written.*s_es_gen_question"):
        scripts_of_run(load_run(tmp_path / "plain"))
