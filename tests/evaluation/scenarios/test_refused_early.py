"""What a person typed wrong is refused before a model is loaded, and in a dry run: every method, metric and regime."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from curation.splits.split_file import write_split
from evaluation.editors import EDITORS
from evaluation.editors.presets import check_options
from evaluation.models import language_model
from schemas.core.errors import UserError
from tests.support.arithmetic import make_cases
from tests.support.commands import command

DRY = ([], ["--dry-run"])
WRONG: dict[str, Any] = {"int": "two", "float": "big", "bool": "perhaps", "str": [1], "tuple": 5, "list": 5, "dict": 5}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(language_model.LM, "load", refuse)
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    write_split(make_cases(3, 1), tmp_path / "split.jsonl")
    path = tmp_path / "run.toml"
    text = f'split = {{file = "{tmp_path}/split.jsonl"}}\nmodel = "embedded"\n'
    path.write_text(f'{text}editors = ["none", "rome"]\nout = "{tmp_path}/run"\n')
    return path


def refusal(words: str, *line: str) -> str:
    result = CliRunner().invoke(command(words), list(line))
    assert isinstance(result.exception, UserError), (words, line, result.output, result.exception)
    text = str(result.exception)
    assert "\n" not in text and len(text) < 800
    return text


def test_unknown_and_wrong_options_of_every_method(config: Path) -> None:
    for method in EDITORS.names():
        words = ("run", str(config), "--set", f'editors={{x={{name="{method}"}}}}', "--set")
        assert refusal(*words, "editors.x.params.zzz=1").startswith("editors.x.params: zzz: unknown field")
        kinds = {n: getattr(f.annotation, "__name__", "") for n, f in EDITORS.get(method).Params.model_fields.items()}
        for name, kind in [(n, k) for n, k in kinds.items() if k in WRONG][:1]:
            setting = f"editors.x.params.{name}={str(WRONG[kind]).replace(chr(39), chr(34))}"
            message = refusal(*words, setting)
            assert message.startswith("editors.x.params: ") and name in message


@pytest.mark.parametrize("more", DRY, ids=["run", "dry run"])
def test_a_dry_run_refuses_what_a_run_refuses(config: Path, more: list[str]) -> None:
    assert "did you mean 'layer'?" in refusal("run", str(config), "--set", "editors.rome.params.layers=[3]", *more)
    assert "sizes are 1 or more" in refusal("run", str(config), "--set", 'regime={name="batch",size=0}', *more)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("editors.rome.params.layer=x", "layer: Input should be a number, not a text"),
        ("editors.rome.name=rmoe", "did you mean 'rome'"),
        ('metrics=["es","sx"]', "unknown metric 'sx'"),
        ("normalisation=median", "normalisation: Input should be 'mean' or 'sum'"),
        ("regime=bach", "regime.name: Input should be"),
        ('regime={ name = "batch" }', "'batch' takes one size"),
        ('regime={ name = "sequential", size = [1, -1] }', "sizes are 1 or more"),
        ('regime={ name = "sequential", score = "never" }', "regime.score: Input should be"),
        ('regime={ name = "single", size = 2 }', "'single' takes no size"),
        ('regime={ name = "batch", size = "4" }', "regime.size: Input should be a number, not a text"),
        ('regime={ name = "batch", size = 2, score = "end" }', "score is for 'sequential'; 'batch' is scored once"),
        ("limit=0", "limit: Input should be greater than or equal to 1"),
        ("limit={ temporal = -1 }", "limit.temporal: Input should be greater than or equal to 0"),
        ("generation.max_tokens=0", "generation.max_tokens"),
        ("generation.max_tokns=9", "generation.max_tokns: unknown field"),
        ("engine.group=0", "group: Input should be greater than or equal to 1"),
        ("device=3", "device: Input should be a valid string"),
        ("dtype=float8", "dtype: Input should be"),
    ],
)
def test_other_settings_of_a_run(config: Path, setting: str, message: str) -> None:
    assert message in refusal("run", str(config), "--set", setting)


@pytest.mark.parametrize("more", DRY, ids=["run", "dry run"])
@pytest.mark.parametrize(("method", "option"), [("memit", "layers=[3,99]"), ("ft", "layer=[0,30]")])
def test_layers_that_the_model_does_not_have(config: Path, method: str, option: str, more: list[str]) -> None:
    editor = ("--set", f'editors={{x={{name="{method}"}}}}', "--set", f"editors.x.params.{option}")
    message = refusal("run", str(config), *editor, *more)
    assert message.startswith("editors.x.params: the model has no layer ") and "allowed: 0 to 29" in message


@pytest.mark.parametrize("more", DRY, ids=["run", "dry run"])
@pytest.mark.parametrize(
    ("method", "option"),
    [("rome", 'moments="no.safetensors"'), ("memit", 'corpus=["no.txt"]'), ("boost", 'corpus="no.txt"')],
)
def test_files_that_are_not_there(config: Path, method: str, option: str, more: list[str]) -> None:
    editor = ("--set", f'editors={{x={{name="{method}"}}}}', "--set", f"editors.x.params.{option}")
    assert refusal("run", str(config), *editor, *more).startswith("editors.x.params: there is no file 'no.")


def test_files_of_others_and_unused_ones_are_not_asked_for(config: Path) -> None:
    """A dataset of the hub, a corpus beside ready statistics, statistics that are not used, files of a cluster."""
    (config.parent / "pack.safetensors").write_bytes(b"")
    pack = json.dumps(str(config.parent / "pack.safetensors"))
    for method, option, more in [
        ("memit", 'corpus="hub:some/text"', []),
        ("memit", f'moments={pack},corpus="no.txt"', []),
        ("rome", 'covariance=false,corpus="no.txt"', []),
        ("rome", 'corpus="no.txt"', ["--engine", "ray"]),
    ]:
        words = [str(config), "--set", f'editors={{x={{name="{method}",params={{{option}}}}}}}', "--dry-run", *more]
        result = CliRunner().invoke(command("run"), words)
        assert result.exit_code == 0, (method, option, result.output, result.exception)


def test_a_device_that_nobody_has_is_refused_in_a_dry_run_one_of_another_machine_is_not(config: Path) -> None:
    assert "unknown device 'gpu7'" in refusal("run", str(config), "--set", "device=gpu7", "--dry-run")
    result = CliRunner().invoke(command("run"), [str(config), "--set", "device=cuda:7", "--dry-run"])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--workers", "2"), "workers is for engine = 'ray', and this run's engine is 'fast'"),
        (("--set", "engine={ name = 'simple', address = 'ray://x:1' }"), "address is for engine = 'ray'"),
        (("--set", "engine={ name = 'simple', group = 2 }"), "group is for engine = 'fast' or 'ray'"),
    ],
)
def test_settings_of_another_engine_are_refused(config: Path, words: tuple[str, ...], said: str) -> None:
    assert said in refusal("run", str(config), "--dry-run", *words)


def test_the_last_layer_is_accepted_and_an_unknown_model_is_said_to_be_unchecked(config: Path) -> None:
    last = ("run", str(config), "--set", "editors={x={name='rome'}}", "--set", "editors.x.params.layer=29", "--dry-run")
    result = CliRunner().invoke(command(last[0]), list(last[1:]))
    assert result.exit_code == 0 and "not checked" not in result.output, result.output
    far = ("--set", "model=nobody/has-this", "--set", "editors.x.params.layer=99")
    result = CliRunner().invoke(command(last[0]), [*last[1:], *far])
    assert result.exit_code == 0, result.output
    assert "Layer numbers are not checked yet: the configuration of 'nobody/has-this'" in result.output


def test_layers_of_other_commands(config: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    message = refusal("model tune", "--editors", "rome", "--split", "mini", "--set", "layer=30", "--out", out)
    assert "no layer 30; allowed: 0 to 29" in message
    message = refusal("model train", "--editors", "mend", "--support", "shipped", "--set", "layers=[30]", "--out", out)
    assert "no layer 30; allowed: 0 to 29" in message
    message = refusal("model covariance compute", "--layers", "28-30")
    assert "no layers '28-30'; allowed: 0 to 29" in message


def test_other_commands_that_load_a_model(config: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    for method in ("rome", "ft"):
        message = refusal("model tune", "--editors", method, "--split", "mini", "--set", "zzz=1", "--out", out)
        assert "zzz: unknown field" in message
    message = refusal("model train", "--editors", "mend", "--support", "shipped", "--set", "zzz=1", "--out", out)
    assert "zzz: unknown field" in message
    config.write_text(config.read_text().replace('"rome"]', '{name = "rome", params = {layers = [3]}}]'))
    message = refusal("model general-ability", str(config), "--tasks", "any", "--editors", "rome")
    assert "did you mean 'layer'?" in message
    assert "names no layers" in refusal("model covariance compute", "--layers", "4-x")


@pytest.mark.parametrize("model", ["embedded", "gpt2-xl", "a-model-nobody-tuned"])
def test_presets_themselves_are_accepted(model: str) -> None:
    for method in EDITORS.names():
        check_options(method, model, {}, where=method)
