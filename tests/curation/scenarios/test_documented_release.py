"""The documented release, by its commands: from candidate to 1.1.0 with people, errata and a false patch."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import scedit.commands
from curation.quality.sample import CRITERIA
from curation.splits.split_file import load_split
from schemas.core.errors import UserError
from tests.docs.pages import DOCS, blocks
from tests.support.filled_sheets import fill_sheet

PAGES = (DOCS / "deciding.md", DOCS / "releases.md")


def run(*words: object) -> str:
    call = [str(word) for word in words]
    result = CliRunner().invoke(scedit.commands.cli, call, standalone_mode=False, catch_exceptions=False)
    return result.stdout


def fill(folder: Path) -> None:
    """Every sheet of a folder, with yes to all."""
    for path in folder.glob("*.csv"):
        fill_sheet(path, dict.fromkeys(CRITERIA, "yes"))


@pytest.mark.slow
def test_the_commands_of_the_page_word_by_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In an empty folder outside the clone; people fill in the sheets, and one release is refused."""
    monkeypatch.chdir(tmp_path)
    first, answered, patch, more, last = [block.text.splitlines() for block in blocks(PAGES, "bash")]
    run_lines(first)
    with pytest.raises(UserError, match=r"waits for the quality sample .* \(answers missing: 11 that nobody was asked"):
        run("split", "release", "mine", "--store", "my.duckdb")
    with pytest.raises(UserError, match="have no answer"):
        run_lines(answered[:1])
    fill(Path("sheets"))
    run_lines(answered)
    header = load_split(Path("mine-1.0.0.jsonl")).header
    assert header["version"] == "1.0.0" and header["quality"]["samples"][0]["missing"] == {"ann": 0, "bob": 0, "eve": 0}

    assert "0 added, 24 dropped, 0 changed: a major change, version 2.0.0" in run_lines(patch[:2])
    with pytest.raises(UserError, match="hides a major change") as refused:
        run_lines(patch[2:])
    assert "--version 2.0.0" in str(refused.value)

    output = run_lines(more)
    change = re.search(r"(\d+) added, 0 dropped, \d+ changed: a minor change", output)
    assert "OUT, erratum drops the fact" in output and change
    more_cases = int(change[1])
    assert more_cases > 20
    fill(Path("sheets-1.1"))
    run_lines(last)
    split = load_split(Path("mine-1.1.0.jsonl"))
    assert (split.header["version"], split.header["release"]["before"]["version"]) == ("1.1.0", "1.0.0")
    assert split.header["cases"] == header["cases"] + more_cases
    assert [e["item"] for e in split.header["errata"]] == ["open/broadcaster-series/rugrats"]
    assert load_split(Path("release") / "mine.jsonl").header["header_digest"] == split.header["header_digest"]


def test_the_other_commands_of_the_page_run_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    freeze_, sample, errata, withdrawal, release = [block.text.splitlines() for block in blocks(PAGES, "")]
    assert "IN" in run_lines(freeze_)
    run_lines(sample[:-2])
    fill(Path("sheets"))
    assert "all: 1.000" in run_lines(sample[-2:])
    assert "added: drop open/river/basel/q-074c7956/s-0e5d6a24/p" in run_lines(errata)
    assert "withdrawn:" in run_lines(withdrawal)
    output = run_lines(release)
    assert "the same 50 cases" in output and "## mine 1.0.0 " in output
    header = load_split(Path("mine-1.0.0.jsonl")).header
    assert [e["action"] for e in header["errata"]] == ["drop", "withdraw"] and header["quality"]["samples"]


def run_lines(lines: list[str]) -> str:
    """Commands as a page prints them; what they said."""
    commands = [shlex.split(line, comments=True) for line in lines]
    assert all(words[0] == "scedit" for words in commands)
    return "".join(run(*words[1:]) for words in commands)
