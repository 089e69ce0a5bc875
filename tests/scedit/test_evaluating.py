"""Runs from Python: the same folder as the command makes, methods and splits in memory, tables, plots, reports."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

import scedit
from curation.shipped import shipped_split
from curation.splits.split_file import write_split
from evaluation import Editor, LowRankDelta, NoEdit, PromptEdit, WeightEdit
from evaluation.editors import EDITORS
from evaluation.metrics import METRICS
from evaluation.models.language_model import LM
from scedit.commands import cli
from schemas.core.errors import UserError
from tests.support.arithmetic import make_cases
from tests.support.tiny import make

FT = {"name": "ft", "params": {"layer": 1, "steps": 3}}


class Shove(Editor):
    """A rank-one change that no fact has asked for."""

    name = "shove"
    version = 1
    about = "a rank-one change"

    def edit(self, requests):
        weight = self.lm.layout.projection(1) + ".weight"
        rows, columns = self.lm.model.state_dict()[weight].shape[:: -1 if "c_proj" in weight else 1]
        return WeightEdit((LowRankDelta(weight, torch.ones(rows, 1), torch.ones(columns, 1)),))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, where the model of every name is a tiny Llama."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(LM, "load", classmethod(lambda cls, name, **more: make("llama")))
    return tmp_path


def answers(folder: Path) -> dict[str, list[object]]:
    """What was answered, by method; seconds and memory aside."""
    out = {}
    for path in sorted(folder.glob("*/journal.jsonl")):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        out[path.parent.name] = [(line["key"], line["value"]["answers"]) for line in lines]
    return out


def about(folder: Path) -> dict[str, object]:
    found = json.loads((folder / "run.json").read_text())
    config = {k: v for k, v in found["config"].items() if k not in ("out", "split")}
    runs = [(r["label"], r["run"]) for r in found["runs"]]
    return {"config": config, "runs": runs, "cases": found["cases"], "split": found["split_digest"]}


def test_it_is_the_run_of_the_command(place: Path) -> None:
    write_split(make_cases(3, 1), place / "split.jsonl")
    words = ["--model", "tiny", "--split", "split.jsonl", "--editors", "prompt,ft", "--out", "a"]
    words += ["--set", "editors.ft.params.layer=1", "--set", "editors.ft.params.steps=3"]
    outcome = CliRunner().invoke(cli, ["run", *words])
    assert outcome.exit_code == 0, outcome.output
    scedit.evaluate("tiny", "split.jsonl", ["prompt", FT], out="b", progress=False)
    scedit.evaluate(Path("tiny"), scedit.load_split("split.jsonl"), ["prompt", FT], out="c", progress=False)
    assert about(Path("a")) == about(Path("b")) == about(Path("c"))
    assert answers(Path("a")) == answers(Path("b")) == answers(Path("c")) and len(answers(Path("a"))) == 3
    again = CliRunner().invoke(cli, ["run", "c/run.toml", "--jsonl"])  # a split in memory is in the run's folder
    assert [json.loads(line)["computed"] for line in again.stdout.splitlines()] == [0, 0, 0]


@pytest.mark.parametrize("name", ["open:dev", "mini"])
def test_a_shipped_split_in_memory_is_known_by_its_name(name: str, place: Path) -> None:
    out = scedit.evaluate(
        "tiny", shipped_split(name), ["prompt"], metrics="es", limit=1, out="a", progress=False
    ).folder
    assert json.loads((out / "run.json").read_text())["config"]["split"]["name"] == name


def test_a_model_in_memory_and_a_method_of_ones_own(place: Path) -> None:
    lm = make("gpt2")
    split = make_cases(3, 1)
    first = scedit.evaluate(lm.model, split, [Shove, FT], tokenizer=lm.tokenizer, limit=2, progress=False)
    assert first.folder == Path("runs/tiny-gpt2") and "2 cases, none, shove, ft" in repr(first)
    table = first.summary().pivot(index="method", columns="metric", values="mean")
    assert set(table.index) == {"none", "shove", "ft"} and {"es", "s_es", "s_bo"} <= set(table.columns)
    scedit.evaluate(lm.model, split, [Shove, FT], tokenizer=lm.tokenizer, progress=False)  # two more cases
    whole = scedit.load_run("runs/tiny-gpt2")
    assert whole.frame(["es"]).groupby("method")["after"].count().to_dict() == {"none": 4, "shove": 4, "ft": 4}
    assert whole.frame()["after"].notna().any()
    with pytest.raises(UserError, match="needs its tokenizer"):
        scedit.evaluate(lm.model, split, ["ft"])
    with pytest.raises(UserError, match="the editor 'ft' is there already"):
        scedit.evaluate(lm.model, split, [type("Other", (Shove,), {"name": "ft"})], tokenizer=lm.tokenizer)
    assert "shove" in EDITORS.names()


def prefixed(text: str) -> type[Editor]:
    """A method as a notebook cell defines it, with what the cell says at the moment."""

    class Prefixed(Editor):
        name, version, about = "prefixed", 1, "a text before every prompt"

        def edit(self, requests):
            return PromptEdit(prefix=text)

    return Prefixed


def test_a_method_that_was_changed_is_computed_anew(place: Path) -> None:
    def computed() -> int:
        return sum(len(path.read_text().splitlines()) for path in Path("r").glob("prefixed*/journal.jsonl"))

    def run(text: str) -> scedit.Evaluation:
        return scedit.evaluate("tiny", make_cases(2, 0), prefixed(text), out="r", metrics="es", progress=False)

    first = run("Peru. ").frame()["after"].tolist()
    assert computed() == 2
    assert run("Peru. ").frame()["after"].tolist() == first and computed() == 2
    assert run("A city. ").frame()["after"].notna().all() and computed() == 4


def test_methods_by_label_are_names_tables_or_classes(place: Path) -> None:
    editors = {"long": {"name": "ft", "params": {"layer": 1, "steps": 2}}, "mine": prefixed("a "), "prompt": "prompt"}
    run = scedit.evaluate("tiny", make_cases(1, 0), editors, out="r", progress=False)
    assert set(run.summary()["method"]) == {"none", "long", "mine", "prompt"}


class Wordy(Editor):
    """It returns a text in the place of an edit."""

    name, version, about = "wordy", 1, "returns a text"

    def edit(self, requests):
        return "Peru"


def test_what_is_no_edit_fails_its_cases_with_a_sentence(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(UserError, match="no case was finished by wordy"):
        scedit.evaluate("tiny", make_cases(2, 0), [Wordy], out="r", progress=False)
    assert "edit() returned a str, which is no edit" in caplog.text


class Rude(Editor):
    """It changes the model itself."""

    name, version, about = "rude", 1, "changes the weights in place"

    def edit(self, requests):
        self.lm.model.get_parameter(self.lm.layout.projection(1) + ".weight").data.add_(1.0)
        return NoEdit()


def test_a_method_that_changes_the_model_itself_leaves_no_figures(place: Path) -> None:
    lm = copy.deepcopy(make("llama").model), make("llama").tokenizer
    with pytest.raises(UserError, match="'rude' changed the weights of the model itself"):
        scedit.evaluate(lm[0], make_cases(2, 0), ["prompt", Rude], tokenizer=lm[1], out="r", progress=False)
    assert {path.parent.name.partition("-")[0] for path in Path("r").glob("*/journal.jsonl")} == {"none", "prompt"}
    assert set(scedit.load_run("r").summary()["method"]) == {"none", "prompt"}


def test_a_run_with_a_metric_of_another_session(place: Path) -> None:
    own = type("Own", (METRICS.get("es"),), {"name": "own_es"})
    first = scedit.evaluate("tiny", make_cases(2, 0), ["prompt"], metrics=["es", own], out="r", progress=False)
    METRICS._added.clear()
    with pytest.raises(UserError, match="r: the run has a metric 'own_es', which is not known here"):
        scedit.load_run("r")
    assert scedit.load_run("r", metrics=[own]).summary().equals(first.summary())


IN_MEMORY = make("llama")
CASES = make_cases(2, 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": None}, "a NoneType is no causal language model"),
        ({"model": IN_MEMORY.model.model}, "load it with AutoModelForCausalLM"),
        ({"model": make("llama").model.to("meta")}, "on no device"),
        ({"model": "embedded"}, "another one is given"),
        ({"device": "cuda:3"}, "'device' says how a model is loaded"),
        ({"dtype": "float16"}, "'dtype' says how a model is loaded"),
        ({"layout": {"blocks": "x"}}, "'layout' says how a model is loaded"),
        ({"engine": "ray"}, "workers load a model by its name, and this one is in memory"),
        ({"model": "tiny", "tokenizer": None, "engine": "ray", "editors": Shove}, "workers do not know 'shove'"),
        ({"editors": None}, "editors: a NoneType is given"),
        ({"editors": [object()]}, "editors: a object is given"),
        ({"editors": [int]}, "the class int lacks Params"),
        ({"editors": [type("Bare", (Editor,), {"name": "bare"})]}, "Bare lacks about, edit"),
        ({"metrics": 1}, "metrics: a int is given"),
        ({"metrics": [Shove]}, "the class Shove lacks asks_for_texts"),
        ({"split": None}, "a NoneType is no split"),
        ({"split": CASES.cases}, "make_split"),
        ({"editors": ["rme"]}, "rome"),
        ({"editors": []}, "at least one method"),
        ({"split": "minni"}, "minni"),
        ({"limits": 2}, "did you mean 'limit'"),
        ({"metrics": ["s_ess"]}, "s_es"),
        ({"split": CASES._replace(all_cases=CASES.all_cases[:1])}, "its digest is of others"),
    ],
)
def test_wrong_arguments_from_python_are_one_sentence(
    place: Path, monkeypatch: pytest.MonkeyPatch, options: dict, words: str
) -> None:
    monkeypatch.setattr(LM, "load", classmethod(lambda cls, name, **more: pytest.fail("loaded")))
    good = {"model": IN_MEMORY.model, "tokenizer": IN_MEMORY.tokenizer, "split": CASES, "editors": ["prompt"]}
    with pytest.raises(UserError, match=re.escape(words)) as error:
        scedit.evaluate(**good | options, progress=False)
    assert "\n" not in str(error.value) and not list(place.rglob("journal.jsonl"))


def test_table_plot_and_report_have_the_same_figures(place: Path) -> None:
    run = scedit.evaluate("tiny", make_cases(6, 1), {"mine": FT}, out="r", progress=False)
    summary = run.summary().set_index(["method", "metric"])
    es = summary.loc[("mine", "es")]
    assert es["low"] <= es["mean"] <= es["high"] and es["n"] == 7
    run.plot("ES").save("es.pdf")
    assert Path("es.pdf").read_bytes().startswith(b"%PDF")
    drawn = run.plot("es").to_json()
    assert f'"mean": {100 * es["mean"]:.1f}'[:9] in drawn and '"method": "mine"' in drawn
    page = run.report("out/page.html")
    assert page == Path("out/page.html") and page.stat().st_size > 20_000
    with pytest.raises(UserError, match="did you mean 's_es'"):
        run.plot("s_esx")


def test_what_is_asked_of_a_finished_run(place: Path) -> None:
    run = scedit.evaluate("tiny", make_cases(1, 0), ["prompt"], out="r", metrics=["es", "s_bo"], progress=False)
    assert set(run.frame("es")["metric"]) == {"es"}
    assert all(run.summary()[name].dtype == float for name in ("mean", "low", "high"))  # also where none has a value
    with pytest.raises(UserError, match="did you mean 'against'"):
        run.report(againstt="r")
    with pytest.raises(UserError, match="unknown metric 'None'"):
        run.plot(None)
    with pytest.raises(UserError, match="None: not the folder of a run"):
        scedit.load_run(None)


def test_progress_is_a_bar_a_method(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scedit.evaluate("tiny", make_cases(2, 0), [FT], out="r")
    shown = capsys.readouterr().err
    assert "none: 100%" in shown and "ft: 100%" in shown and "2/2" in shown


def test_no_folder_of_a_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not the folder of a run"):
        scedit.load_run(tmp_path)
