"""The command ``demo`` with its steps recorded instead of run: ``make demo`` runs them."""

from __future__ import annotations

import shlex
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import scedit
from curation.loaders import load
from evaluation.cli.demo import FACTS, demo
from schemas.core.errors import UserError
from tests.support.commands import command


class Recorder(click.Group):
    """A root that runs the demo and writes down every other command line."""

    def __init__(self, fail: str = "") -> None:
        super().__init__("scedit", commands={"demo": demo})
        self.lines: list[list[str]] = []
        self.fail = fail

    def main(self, args=None, **more):  # type: ignore[no-untyped-def, override]
        if args and args[0] != "demo":
            self.lines.append(args)
            if args[:2] == self.fail.split():
                raise UserError("the split would have no case")
            return None
        return super().main(args, **more)


def walked(out: Path, fail: str = "") -> tuple[Recorder, str]:
    root = Recorder(fail)
    done = CliRunner().invoke(root, ["demo", "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0
    return root, done.output


def test_every_step_is_a_command_that_parses_and_is_shown_before_it_runs(tmp_path: Path) -> None:
    root, output = walked(tmp_path / "d")
    assert [line[0] for line in root.lines] == ["construct", "split", "split", "run", "report"]
    for line in root.lines:
        assert f"$ scedit {' '.join(line)}" in output
        words = " ".join(line[:2]) if " ".join(line[:2]) in scedit.COMMANDS else line[0]
        found = command(words)
        found.make_context(words, line[len(words.split()) :])  # raises where an option is unknown


def test_what_it_writes_can_be_read_and_is_kept_when_changed(tmp_path: Path) -> None:
    out = tmp_path / "d"
    walked(out)
    facts = load(out / "facts.jsonl").facts
    assert [f.key for f in facts[:6]] == sorted(FACTS, key=[f.key for f in facts].index) and len(facts) > 6
    table = tomllib.loads((out / "run.toml").read_text(encoding="utf-8"))
    assert table["out"] == f"{out}/run" and table["limit"] == {"counterfactual": 9, "temporal": 3}
    (out / "run.toml").write_text("changed = true\n")
    walked(out)
    assert (out / "run.toml").read_text() == "changed = true\n", "the user's changes stay"


def test_the_commands_that_it_ends_with_exist(tmp_path: Path) -> None:
    _, output = walked(tmp_path / "d")
    ending = output.partition("Done.")[2]
    assert f"scedit store stats --store {tmp_path}/d/store.duckdb" in ending
    line = shlex.split(ending.partition("scedit ")[2].partition("\n")[0])
    command("store stats").make_context("stats", line[2:])


def test_nothing_to_freeze_is_said_and_the_demo_goes_on(tmp_path: Path) -> None:
    root, output = walked(tmp_path / "d", fail="split freeze")
    assert "Nothing to freeze: the split would have no case" in output and root.lines[-1][0] == "report"


def test_a_step_that_fails_ends_the_demo(tmp_path: Path) -> None:
    root = Recorder(fail="split add")
    with pytest.raises(UserError, match="no case"):
        CliRunner().invoke(root, ["demo", "--out", str(tmp_path / "d")], catch_exceptions=False)
    assert root.lines[-1][:2] == ["split", "add"]
