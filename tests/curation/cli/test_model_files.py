"""The command ``model fetch``."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit.commands
from curation.files import local_models
from curation.files.artifact_cache import sha256
from schemas.core.errors import ModelError, UserError


@pytest.fixture
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was fetched: by a function in place of ours, that reports two parts."""
    names: list[str] = []

    def fetch(name: str, *, on_progress: object) -> Path:
        names.append(name)
        for count in (0, 1, 2):
            on_progress(count, 2)  # type: ignore[operator]
        path = tmp_path / "m.gguf"
        path.write_bytes(b"GGUF" + name.encode())
        return path

    monkeypatch.setattr(local_models, "fetch", fetch)
    return names


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(scedit.commands.cli, ["model", "fetch", *words])
    return result.exit_code, str(result.exception) if isinstance(result.exception, UserError) else result.output


def test_local_is_fetched_where_nothing_is_named(fetched: list[str], tmp_path: Path) -> None:
    code, output = run()
    assert code == 0 and fetched == ["local"]
    assert str(tmp_path / "m.gguf") in output and sha256(tmp_path / "m.gguf") in output
    assert output.count("Qwen2.5-Coder-1.5B-Instruct (local, Q4_K_M)") == 1


def test_a_hub_file_is_told_by_its_label(fetched: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_models, "gguf_of", lambda name: tmp_path / "m.gguf")
    code, output = run("hf:o/r/x.gguf")
    assert code == 0 and "o/r/x.gguf (GGUF, " in output


def test_a_failure_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(name: str, *, on_progress: object) -> Path:
        raise ModelError("the package cannot be downloaded: no network", fix="the same command goes on")

    monkeypatch.setattr(local_models, "fetch", fail)
    code, output = run("local")
    assert code == 1 and "no network; the same command goes on" in output


def test_what_cannot_be_fetched_is_refused() -> None:
    code, output = run("gpt-4.1")
    assert code == 1 and "allowed: embedded, local or hf:" in output
