"""The tutorial, command by command, in an empty folder; a scripted endpoint writes in place of a paid one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS, blocks
from tests.support import ROOT
from tests.support.construction.verified import readings
from tests.support.scripted_server import ScriptedServer, author

PAGE = DOCS / "tutorial.md"


def commands() -> list[str]:
    return [block.text for block in blocks(PAGE, "bash")]


def shell(command: str, folder: Path, **variables: str) -> str:
    """Run a block as bash does, with ``scedit`` being this checkout; what it prints."""
    bin_folder = folder.parent / "bin"
    bin_folder.mkdir(exist_ok=True)
    launcher = bin_folder / "scedit"
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m scedit "$@"\n', encoding="utf-8")
    launcher.chmod(0o755)
    env = {**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}", **variables}
    process = subprocess.run(["bash", "-euc", command], cwd=folder, env=env, capture_output=True, text=True)
    assert process.returncode == 0, f"{command}\n{process.stdout}\n{process.stderr}"
    return process.stdout


def test_every_block_of_commands_is_one_that_runs() -> None:
    kinds = {block.info for block in blocks(PAGE)}
    assert kinds == {"bash"} and len(commands()) == 7


def test_the_facts_are_read_without_a_problem(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    process = shell(commands()[0], folder)
    assert "4" in process and "problem" not in process.lower().replace("no problem", "").replace("0 problems", "")


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(1800)
def test_from_a_csv_to_a_report(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    known = {"Italy": "Rome", "Canada": "Ottawa", "Mona Lisa": "Leonardo da Vinci", "iPhone": "Apple"}

    def answer(payload: dict[str, Any]) -> str:
        reads = '"readings"' in payload["messages"][0]["content"]
        return readings(payload, known=known) if reads else author(payload)

    with ScriptedServer(answer) as server:
        for command in commands():
            if "export OPENAI_API_KEY" not in command:
                shell(command, folder, ENDPOINT=server.url, MODEL="scripted", OPENAI_API_KEY="none")
    assert (folder / "mine.jsonl").read_text(encoding="utf-8").count("\n") >= 3
    table = (folder / "runs/mine/results.csv").read_text(encoding="utf-8")
    assert all(method in table for method in ("none", "prompt", "ft"))
    assert (folder / "runs/mine/report.html").stat().st_size > 20_000
