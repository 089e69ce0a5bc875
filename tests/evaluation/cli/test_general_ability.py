"""The command ``model general-ability``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.splits.split_file import write_split
from evaluation.cli.model import general_ability as command
from evaluation.models import language_model as lm
from evaluation.runs.general_ability import _read
from schemas.core.errors import UserError
from tests.evaluation.runs.test_general_ability import by_hand, needs_harness, recorded, tiny_task
from tests.support.arithmetic import make_cases
from tests.support.commands import json_value
from tests.support.tiny import make


@needs_harness
def test_the_command_tells_before_and_after(tmp_path, monkeypatch):
    task = tiny_task(tmp_path, monkeypatch)
    monkeypatch.setattr(lm.LM, "load", classmethod(lambda cls, name, **more: make("llama")))
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "ability.json"
    words = ["--tasks", "tiny_capitals", "--editors", "ft", "--edits", "2", "--include", str(task), "--out", str(out)]
    result = CliRunner().invoke(command, [str(config(tmp_path)), *words, "--json"], catch_exceptions=False)
    (line,) = json_value(result.stdout)
    assert (line["method"], line["edits"], line["task"], line["documents"]) == ("ft", 2, "tiny_capitals", 4)
    assert line["before"] == by_hand(make("llama"))
    assert json.loads(out.read_text())["ability"] == [line]


def test_json_is_one_value_whatever_the_harness_prints(tmp_path, monkeypatch):
    """Results in the harness's shape, recorded; it prints as it likes."""
    results = iter([recorded([1.0, 0.0, 1.0]), recorded([0.0, 0.0, 1.0])])

    def measure(*args, **options):
        print("Running loglikelihood requests")
        return _read(next(results))

    monkeypatch.setattr("evaluation.runs.general_ability._measure_abilities", measure)
    monkeypatch.setattr(lm.LM, "load", classmethod(lambda cls, name, **more: make("llama")))
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    words = [str(config(tmp_path)), "--tasks", "t", "--editors", "ft", "--json"]
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    (row,) = json_value(result.stdout)
    assert (row["method"], row["task"], row["documents"]) == ("ft", "t", 3)
    assert row["difference"] == pytest.approx(-1 / 3) and "Running" in result.stderr


def test_the_command_refuses_methods_that_the_run_has_not(tmp_path):
    with pytest.raises(UserError, match="CONFIG has no method 'rome'"):
        words = [str(config(tmp_path)), "--tasks", "any", "--editors", "rome"]
        CliRunner().invoke(command, words, catch_exceptions=False)


def config(folder: Path) -> Path:
    """A run's configuration on a split of a few cases."""
    write_split(make_cases(3, 0), folder / "split.jsonl")
    path = folder / "run.toml"
    ft = '{name = "ft", params = {layer = 1, steps = 3}}'
    split = f'split = {{file = "{folder}/split.jsonl"}}'
    path.write_text(f'{split}\nmodel = "tiny"\neditors = ["none", {ft}]\nout = "{folder}/run"\n')
    return path
