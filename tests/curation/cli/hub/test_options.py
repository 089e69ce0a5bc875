"""Options and output of every command that sends files."""

from __future__ import annotations

import json

import click
from click.testing import CliRunner

from curation.cli.hub.options import hub_options, show_files
from curation.export.hub import HubUpload

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
