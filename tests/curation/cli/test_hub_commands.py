"""Commands that send files to a hub."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from curation.cli.hub import hub_options, push, show_files
from curation.export import hub
from curation.export.hub import HubUpload
from curation.export.publish import publish
from curation.shipped import mini_split
from curation.splits.split_file import make_split
from schemas.core.errors import UserError

FILES = [HubUpload("README.md", b"card"), HubUpload("a.bin", b"x" * 2000)]


@click.command()
@hub_options
def _send(public: bool, message: str, dry_run: bool, as_json: bool) -> None:
    show_files(FILES, f"me/{message}", None if dry_run else "https://hub/1", public=public, as_json=as_json)


def call(*words: str) -> str:
    return CliRunner().invoke(_send, list(words), catch_exceptions=False).stdout


def test_lines() -> None:
    assert call().splitlines() == [
        "           4  README.md",
        "       2,000  a.bin",
        "2 files, 2,004 bytes: https://hub/1",
    ]
    assert call("--dry-run", "--message", "m").splitlines()[-1] == "2 files, 2,004 bytes: nothing was sent to me/m"


def test_json() -> None:
    told = {"repository": "me/Release", "files": {"README.md": 4, "a.bin": 2000}}
    assert json.loads(call("--json", "--public")) == {**told, "public": True, "sent": True, "commit": "https://hub/1"}
    assert json.loads(call("--json", "--dry-run")) == {**told, "public": False, "sent": False, "commit": None}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return publish(make_split("two", mini_split().cases[:2]), tmp_path / "r", formats=("split",)).folder


def test_a_dry_run_lists_and_sends_nothing(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "push_release", lambda *a, **k: pytest.fail("sent"))
    words = [str(release), "me/two", "--dry-run"]
    result = CliRunner().invoke(push, words, catch_exceptions=False)
    data = json.loads(CliRunner().invoke(push, [*words, "--json"], catch_exceptions=False).stdout)
    assert data["files"] == {p.name: p.stat().st_size for p in release.iterdir()} and data["sent"] is False
    assert all(name in result.stdout for name in data["files"]) and "nothing was sent to me/two" in result.stdout


def test_what_is_sent_and_where(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(hub, "push_release", lambda *a, **k: calls.append((a, k)) or "https://hub/1")
    result = CliRunner().invoke(push, [str(release), "me/two", "--public", "--message", "m"], catch_exceptions=False)
    assert calls == [((release, "me/two"), {"public": True, "message": "m"})] and "https://hub/1" in result.stdout


def test_refusals_come_before_anything_is_sent(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "push_release", lambda *a, **k: pytest.fail("sent"))
    (release / "mine.txt").write_text("x")
    for words in ([str(release), "me/two"], [str(release), "two"], [str(release.parent), "me/two"]):
        assert isinstance(CliRunner().invoke(push, words).exception, UserError)
