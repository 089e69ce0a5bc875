"""The commands run, report and editors, with a tiny random model in the place of the embedded one."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result

import scedit.commands
from curation.loaders import LOADERS
from curation.splits.split_file import write_split
from curation.store.store import Store
from evaluation.cli import run as commands
from evaluation.metrics import METRICS
from evaluation.models import language_model as lm
from evaluation.report.write import write_report
from evaluation.runs.config import load_config
from evaluation.runs.results import load_run
from evaluation.trackers import base
from schemas.core.errors import UserError
from tests.evaluation.trackers.test_trackers import Notebook
from tests.support.arithmetic import make_cases
from tests.support.commands import command
from tests.support.tiny import make

EDITORS = 'editors = ["none", "prompt", {name = "ft", params = {layer = 1, steps = 3}}]'


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_pictures: None) -> Iterator[Path]:
    """A folder with a configuration, a split file and a store; the model is a tiny Llama."""
    split = make_cases(3, 1)
    write_split(split, tmp_path / "split.jsonl")
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put_split(split)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # matrices this small only wait for each other's threads
    text = f'split = {{file = "{tmp_path}/split.jsonl"}}\nmodel = "tiny"\n{EDITORS}\nout = "{tmp_path}/run"\n'
    (tmp_path / "run.toml").write_text(text)
    monkeypatch.setattr(lm.LM, "load", classmethod(lambda cls, name, **more: make("llama")))
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    yield tmp_path
    torch.set_num_threads(threads)


def call(command, *words: object) -> Result:
    return CliRunner().invoke(command, [str(w) for w in words], catch_exceptions=False)


def test_run_then_report(place):
    result = call(commands.run, place / "run.toml")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines[2:5]] == ["none", "prompt", "ft"] and "n = 4" in lines[1]
    assert "over 4 cases" in lines[-1]
    assert "ft: 4 of 4 cases" in result.stderr
    output = call(commands.report, place / "run")
    assert (place / "run" / "report.html").exists()
    assert "no network" in output.stdout
    figures = [json.loads(x) for x in call(commands.report, place / "run", "--jsonl").stdout.splitlines()]
    assert {f["label"] for f in figures} == {"none", "prompt", "ft"}


def test_from_a_store_and_back_to_it(place):
    result = call(commands.run, place / "run.toml", "--store", place / "s.duckdb", "--split", "tiny", "--jsonl")
    runs = [json.loads(x)["run"] for x in result.stdout.splitlines()]
    with Store.open(place / "s.duckdb") as store:
        for run in runs:
            assert len(list(store.results(run))) == 4
        assert store.get(runs[0]).split == "tiny@1.0.0"


def test_results_of_a_split_file_go_to_a_store_when_asked(place):
    with Store.open(place / "other.duckdb", create=True):
        pass
    words = ("--split", place / "split.jsonl", "--store", place / "other.duckdb", "--editors", "none")
    call(commands.run, place / "run.toml", *words)
    with Store.open(place / "other.duckdb") as store:
        assert store.stats()["results"] == 4
        assert [s for s, _, _ in store.split_names()] == ["tiny@1.0.0"]


def test_a_locked_store_at_the_end_loses_nothing(place, monkeypatch):
    real = Store.open

    def locked(path, **more):
        if more.get("write"):
            raise UserError("the store is in use by process 7")
        return real(path, **more)

    monkeypatch.setattr(Store, "open", locked)
    words = (place / "run.toml", "--store", place / "s.duckdb", "--split", "tiny")
    with pytest.raises(UserError, match="the same command again feeds them"):
        call(commands.run, *words)
    monkeypatch.setattr(Store, "open", real)
    reloaded = [json.loads(x) for x in call(commands.run, *words, "--jsonl").stdout.splitlines()]
    assert {x["computed"] for x in reloaded} == {0}
    with Store.open(place / "s.duckdb") as store:
        assert store.stats()["results"] == 12


def test_dry_run_loads_no_model_and_writes_nothing(place, monkeypatch):
    def refuse(*words, **more):
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(lm.LM, "load", refuse)
    result = call(commands.run, place / "run.toml", "--dry-run").stdout
    assert "4 of 4 cases (" in result and "3 counterfactual" in result
    assert not (place / "run").exists()
    data = json.loads(call(commands.run, place / "run.toml", "--dry-run", "--limit", 2, "--jsonl").stdout)
    assert (data["cases"], data["of"], data["seconds"]) == (2, 4, None)
    assert data["targets"] > data["probes"] > 0


def test_too_many_failures_end_in_an_error(place, monkeypatch):
    from evaluation.editors.in_context.prompt import PromptEditor

    def broken(self, requests):
        raise RuntimeError("boom")

    monkeypatch.setattr(PromptEditor, "edit", broken)
    write_split(make_cases(12, 0), place / "split.jsonl")
    with pytest.raises(UserError, match="stopped early .prompt: 10 of 10 cases failed.*--retry-failed"):
        call(commands.run, place / "run.toml", "--editors", "prompt")
    assert "boom" in (call(commands.report, place / "run") and (place / "run" / "report.html").read_text())


def test_failures_are_counted_under_the_table_with_the_next_step(place, monkeypatch):
    from evaluation.editors.in_context.prompt import PromptEditor

    real = PromptEditor.edit
    monkeypatch.setattr(PromptEditor, "edit", lambda self, requests: requests.nothing)
    words = (place / "run.toml", "--editors", "prompt")
    result = CliRunner().invoke(commands.run, [str(w) for w in words])
    assert isinstance(result.exception, UserError) and "no case was finished by prompt" in str(result.exception)
    (line,) = (x for x in result.stdout.splitlines() if x.startswith("prompt: "))
    assert line.startswith("prompt: 4 cases failed; 4 with AttributeError: ") and "--retry-failed" in line
    assert "(tests/evaluation/cli/test_run.py, line " in line
    monkeypatch.setattr(PromptEditor, "edit", real)
    again = CliRunner().invoke(commands.run, [str(w) for w in words])
    assert again.exit_code == 1 and "--retry-failed" in again.stdout
    assert "4 failed (the same command with --retry-failed" in call(commands.run, *words, "--dry-run").stdout
    mended = call(commands.run, *words, "--retry-failed")
    assert mended.exit_code == 0 and "failed" not in mended.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["--editors", "rmoe"], "did you mean 'rome'", id="unknown method"),
        pytest.param(["--set", "nonsense"], "name=value", id="not a setting"),
        pytest.param(["--split", "absent.jsonl"], "neither shipped", id="absent split"),
        pytest.param(["--store", "absent.duckdb", "--split", "x"], "no such store", id="absent store"),
    ],
)
def test_mistakes_are_one_sentence(place, words, message):
    with pytest.raises(UserError) as error:
        call(commands.run, place / "run.toml", *words)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_editors_lists_methods_with_their_settings():
    result = call(commands.editors).stdout
    for name in ("none", "prompt", "ft", "ft_l", "rome"):
        assert f"\n{name}  " in "\n" + result
    data = [json.loads(x) for x in call(commands.editors, "rome", "--jsonl").stdout.splitlines()]
    assert data[0]["name"] == "rome" and data[0]["params"]["layer"] == {"type": "int", "default": "from the preset"}
    assert data[0]["params"]["corpus"]["type"] == "list of str or str or none"
    assert data[0]["params"]["template_lengths"]["type"] == "list of (int, int)"
    for code in ("Annotated", "Union", "typing", "~", "Ellipsis", "|", "FieldInfo", "NoneType"):
        assert code not in result, f"{code} is Python, not words"
    with pytest.raises(UserError, match="did you mean 'rome'"):
        call(commands.editors, "rmoe")


def test_metrics_lists_what_each_measures():
    text = call(commands.metrics).stdout
    assert "s_es  Script-based Efficacy Success: " in text and "higher is better; facts)" in text
    assert text.count("\n") == len(METRICS.names())
    (row,) = (json.loads(x) for x in call(commands.metrics, "ppl", "--jsonl").stdout.splitlines())
    assert (row["name"], row["takes"], row["better"], row["unit"]) == ("ppl", ["document"], "lower", "perplexity")
    with pytest.raises(UserError, match="did you mean 's_es' .*: scedit model metrics$"):
        call(commands.metrics, "s_ess")


def test_a_tracker_is_told_settings_progress_and_figures(place, monkeypatch):
    book = Notebook()
    monkeypatch.setattr(base, "open_trackers", lambda names: [book])
    plain = call(commands.run, place / "run.toml", "--out", place / "plain", "--editors", "none")
    monkeypatch.setenv("SCEDIT_CACHE", str(place / "no answers yet"))
    result = call(commands.run, place / "run.toml", "--editors", "none", "--tracker", "book")
    (begin, title, settings), *points, (end, figures, failed) = book.told
    assert result.stdout.splitlines()[0] == plain.stdout.splitlines()[0]
    assert (begin, title, settings["model"], end, failed) == ("begin", "run", "tiny", "finish", False)
    assert [points[n][1]["none/done"] for n in (0, -1)] == [0, 4] and "none/es/mean" in figures


@pytest.mark.parametrize(
    ("name", "words"),
    [("mlflow", "pip install mlflow"), ("mlfow", "did you mean 'mlflow'")],
)
def test_a_tracker_that_is_not_there_is_refused_before_a_model_is_loaded(place, monkeypatch, name, words):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    monkeypatch.setattr(lm.LM, "load", lambda *a, **k: pytest.fail("loaded"))
    with pytest.raises(UserError) as caught:
        call(commands.run, place / "run.toml", "--tracker", name)
    assert words in str(caught.value) and not (place / "run").exists()


@pytest.mark.parametrize("part", ["probes", "score", "loader"])
def test_an_exception_in_a_users_component_is_one_sentence_with_file_and_line(place, monkeypatch, capsys, part):
    """Without -v no traceback; the file named is that of the component, not the toolkit's."""

    def broken(self, *given, **more):
        return {}["b"]

    words = ["run", str(place / "run.toml"), "--editors", "none"]
    if part == "loader":
        monkeypatch.setattr(LOADERS, "get", lambda name: lambda *given: broken(None))
        words = ["data", "audit", str(place / "split.jsonl"), "--format", "jsonl"]
    else:
        monkeypatch.setattr(METRICS.get("es"), part, broken)
    monkeypatch.setattr(sys, "argv", ["scedit", *words])
    with pytest.raises(SystemExit) as ended:
        scedit.commands.main()
    lines = capsys.readouterr().err.splitlines()
    assert ended.value.code == 1 and "Traceback" not in "".join(lines)
    assert re.fullmatch(
        r"Error: KeyError: 'b' \(tests/evaluation/cli/test_run.py, line \d+\); mend that file, or add -v .*", lines[-1]
    )


def test_a_run_without_a_configuration_file(place, monkeypatch):
    monkeypatch.chdir(place)
    words = ("--model", "tiny", "--editors", "prompt,ft", "--set", "editors.ft.params.layer=1", "--limit", 2)
    words = (*words, "--set", 'metrics=["es"]')
    result = call(commands.run, *words, "--split", "mini")
    assert "runs/mini-tiny" in result.stdout
    written = load_config("runs/mini-tiny/run.toml")
    assert list(written.editors) == ["prompt", "ft"] and written.editors["ft"].params == {"layer": 1}
    assert (written.model, written.split.name, written.limit) == ("tiny", "mini", 2)
    again = [json.loads(x) for x in call(commands.run, "runs/mini-tiny/run.toml", "--jsonl").stdout.splitlines()]
    assert {x["found"] for x in again} == {2} and len(write_report("runs/mini-tiny").files) > 1
    call(commands.run, *words, "--split", place / "split.jsonl", "--out", "other")
    assert len(load_run("other").cases) == 2
    with pytest.raises(UserError, match="name a configuration file, or give --model and --editors; see: scedit run"):
        call(commands.run, "--split", "mini")


def test_parts_from_the_command_line(place):
    for n in (1, 2):
        call(commands.run, place / "run.toml", "--part", f"{n}/2", "--editors", "prompt")
    parts = [place / "run" / f"part-{n}-of-2" for n in (1, 2)]
    result = call(command("results merge"), *parts, "--out", place / "run")
    assert "4 cases of 2 parts. Next: scedit report" in result.stdout
    rows = call(commands.run, place / "run.toml", "--editors", "prompt", "--jsonl").stdout.splitlines()
    assert {json.loads(x)["found"] for x in rows} == {4}
