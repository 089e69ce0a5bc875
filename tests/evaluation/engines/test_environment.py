from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evaluation.engines import environment as module
from evaluation.engines.environment import environment
from tests.support.tiny import make


def test_the_environment_names_no_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result = environment("cuda")
    assert result["device"] == "cuda" and result["packages"]["torch"] and platform.node() not in json.dumps(result)
    monkeypatch.setattr(module, "_PACKAGES", ("torch", "no-such-package-here"))
    assert environment()["packages"]["no-such-package-here"] is None
    assert module._git(tmp_path) is None, "an installed package has no checkout"
    (tmp_path / ".git").mkdir()
    assert module._git(tmp_path) is None, "nor has a folder that only looks like one"


def test_two_gpus_can_be_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = {
        "cuda:0": SimpleNamespace(name="Card A", major=9, minor=0, total_memory=150_000_000_000),
        "cuda:1": SimpleNamespace(name="Card B", major=8, minor=6, total_memory=24_000_000_000),
    }
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", cards.__getitem__)
    requests: list[tuple[str, ...]] = []

    def run(words: tuple[str, ...], **options: Any) -> subprocess.CompletedProcess[str]:
        requests.append(words)
        if words[0] != "nvidia-smi":
            raise OSError("no git here")
        return subprocess.CompletedProcess(words, 0, stdout="580.65\n580.65\n")

    monkeypatch.setattr(subprocess, "run", run)
    one, other = environment("cuda:0")["accelerator"], environment("cuda:1")["accelerator"]
    assert (one["name"], one["capability"], one["memory_bytes"]) == ("Card A", "9.0", 150_000_000_000)
    assert (other["name"], other["capability"]) == ("Card B", "8.6")
    assert one["driver"] == "580.65" and one["count"] == 2 and one["tf32"] in (True, False)
    assert environment("cuda:0")["peak_memory"] == "allocated on the device"
    assert environment("cpu")["accelerator"] is None, "a card that is not used does not count"
    assert environment("cuda:0")["git"] is None


def test_attention_is_on_record() -> None:
    weights = make("llama").model
    weights.config._attn_implementation = "eager"
    assert environment("cpu", weights=weights)["attention"] == "eager"
    assert environment("cpu")["attention"] is None
