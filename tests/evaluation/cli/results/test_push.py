"""``scedit results push`` and ``scedit model push``: a dry run sends nothing, and refusals come first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from curation.export import hub
from evaluation.cli.results import push_model, push_results
from evaluation.saved_edits.save import save_edit
from schemas.core.errors import UserError
from tests.support.editors.saved_edits import cases, editor
from tests.support.report.texts_run import finished
from tests.support.tiny import make

RESULTS = {"README.md", "answers.parquet", "scores.parquet", "figures.parquet"}


def call(command: Any, *words: str) -> str:
    return str(CliRunner().invoke(command, list(words), catch_exceptions=False).stdout)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []

    def note(files: Any, repository: str, **options: Any) -> str:
        contents = {f.name: f.content if isinstance(f.content, bytes) else f.content.read_bytes() for f in files}
        calls.append((contents, repository, options))
        return "https://hub/commit/1"

    monkeypatch.setattr(hub, "push_files", note)
    return calls


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return save_edit(editor("ft", make("llama"), tmp_path / "m"), cases(1), tmp_path / "out", saved_as="deltas").folder


def test_results_dry_and_sent(tmp_path: Path, sent: list[Any]) -> None:
    run = finished(tmp_path / "mine", ["es"])
    dry = json.loads(call(push_results, str(run.folder), "me/r", "--dry-run", "--json"))
    assert set(dry["files"]) == RESULTS and dry["sent"] is False and not sent
    assert "https://hub/commit/1" in call(push_results, str(run.folder), "me/r", "--message", "m")
    ((contents, repository, options),) = sent
    assert set(contents) == RESULTS and repository == "me/r"
    assert options == {"kind": "dataset", "public": False, "message": "m"}


def test_a_saved_edit_dry_and_sent(saved: Path, sent: list[Any]) -> None:
    assert "nothing was sent to me/e" in call(push_model, str(saved), "me/e", "--dry-run") and not sent
    call(push_model, str(saved), "me/e", "--public")
    ((contents, _, options),) = sent
    assert contents == {p.name: p.read_bytes() for p in saved.iterdir()}
    assert options["kind"] == "model" and options["public"] is True


def test_what_cannot_be_sent(saved: Path, tmp_path: Path, sent: list[Any]) -> None:
    (tmp_path / "x.txt").write_text("x")
    for path, repository, match in (
        (saved, "me", "no name of a repository"),
        (tmp_path / "nowhere", "me/e", "no such file or folder"),
        (tmp_path / "x.txt", "me/e", "nothing here that can be sent"),
        (tmp_path, "me/e", "is no saved edit"),
    ):
        with pytest.raises(UserError, match=match):
            call(push_model, str(path), repository)
    with pytest.raises(UserError):
        call(push_results, str(tmp_path), "me/e", "--dry-run")
    assert not sent
