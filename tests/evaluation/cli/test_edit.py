"""The command edit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evaluation.models.language_model import LM
from scedit.commands import cli
from schemas.core.errors import UserError
from tests.support.commands import json_value
from tests.support.facts import peru_fact
from tests.support.tiny import make, shuffled


@pytest.fixture
def facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(LM, "load", lambda name, **_: make("llama"))
    (tmp_path / "corpus.txt").write_text("\n\n".join(shuffled(8)), encoding="utf-8")
    (tmp_path / "facts.jsonl").write_text(json.dumps(peru_fact().payload()) + "\n", encoding="utf-8")
    return str(tmp_path / "facts.jsonl")


def edit(*words: str, facts: str, method: str = "rome") -> Result:
    corpus = Path(facts).parent / "corpus.txt"
    texts = ["--set", f'corpus="{corpus}"', "--set", "steps=4", "--set", "template_lengths=[[3, 2]]"]
    settings = texts if method == "rome" else []
    return CliRunner().invoke(cli, ["edit", facts, "--editors", method, *settings, *words])


def test_an_edit_is_saved_and_told(facts: str, tmp_path: Path) -> None:
    result = edit("--save", str(tmp_path / "out"), "--save-as", "adapter", facts=facts)
    assert result.exit_code == 0, result.output
    assert (
        "1 fact edited into tiny-llama by rome" in result.output
        and "ES" in result.output
        and "README.md" in result.output
    )
    assert (tmp_path / "out" / "adapter_config.json").is_file()


def test_json_is_one_value(facts: str, tmp_path: Path) -> None:
    result = edit("--save", str(tmp_path / "out"), "--json", facts=facts)
    report = json_value(result.stdout)
    assert report["saved_as"] == "model" and report["facts"] == 1 and report["files"].keys() == {"model.safetensors"}
    assert {"es", "ps"} <= {s["metric"] for s in report["scores"]}


@pytest.mark.parametrize(
    ("words", "method", "message"),
    [
        ((), "romme", "did you mean 'rome'"),
        (("--set", "no_such=1"), "ft", "no_such: unknown field"),
        ((), "ike", "'ike' learns from declared cases, which this command does not take"),
        ((), "mend", "learnt from shipped, which shares the subject 'Peru'"),
        (("--model", "another"), "mend", "scedit model train --editors mend"),
    ],
)
def test_refused_before_a_model_is_loaded(
    words: tuple[str, ...], method: str, message: str, facts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LM, "load", lambda name, **_: pytest.fail("loaded"))
    result = edit("--save", str(tmp_path / "out"), *words, facts=facts, method=method)
    assert isinstance(result.exception, UserError) and message in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_a_taken_folder_is_refused_before_anything(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("kept")
    result = CliRunner().invoke(cli, ["edit", "absent.jsonl", "--editors", "ft", "--save", str(tmp_path / "out")])
    assert "something here already" in str(result.exception)
