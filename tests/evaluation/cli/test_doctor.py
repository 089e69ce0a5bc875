from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit.commands
from evaluation.models.language_model import LM
from tests.support.tiny import make


def saved(lm: LM, folder: Path) -> Path:
    lm.model.save_pretrained(folder)
    lm.tokenizer.save_pretrained(folder)
    return folder


def invoke(*args: object) -> tuple[int, str]:
    result = CliRunner().invoke(scedit.commands.cli, [str(a) for a in args], catch_exceptions=False)
    return result.exit_code, result.output


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    folder = saved(make("gemma2"), tmp_path / "m")
    status, text = invoke("model", "doctor", folder, "--device", "cpu")
    assert status == 0 and "works; " in text and "stored [out, in]" in text
    status, text = invoke("model", "doctor", folder, "--device", "cpu", "--dtype", "bfloat16", "--json")
    report = json.loads(text)
    assert status == 0 and report["works"] and report["findings"][0]["facts"]["dtype"] == "bfloat16"


def test_command_says_why_a_model_cannot_be_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    status, text = invoke("model", "doctor", tmp_path / "absent")
    assert status == 1 and "cannot be used" in text and "does not work: 1 of 1" in text
    status, text = invoke("model", "doctor", tmp_path / "absent", "--json")
    assert status == 1 and json.loads(text)["works"] is False


def test_a_layout_from_a_file(tmp_path: Path) -> None:
    folder, file = saved(make("gpt2"), tmp_path / "m"), tmp_path / "my.toml"
    file.write_text('[layout]\nlike = "gpt2"\nmlp_out = "mlp.c_proj"\n')
    status, text = invoke("model", "doctor", folder, "--layout", file)
    assert status == 0 and "Out: mlp.c_proj" in text
    file.write_text('[layout]\nlike = "gpt2"\nmlp_out = "mlp.w2"\n')
    status, text = invoke("model", "doctor", folder, "--layout", file)
    assert status == 1 and "layout.mlp_out" in text and "no module 'mlp.w2'" in text
