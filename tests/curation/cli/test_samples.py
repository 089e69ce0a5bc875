"""The commands of ``scedit split sample``, from the draw to the release."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from curation.cli.releases import release as release_command
from curation.loaders.importer import import_split
from curation.quality.sample import CRITERIA
from curation.quality.sheets import write_sheet
from curation.shipped import mini_split
from curation.splits.split_file import make_split
from schemas.core.errors import UserError
from tests.support.commands import command as command_of

MINI = make_split("mini", mini_split().cases[:30])
PROMPTS = {p.id: c.key for c in MINI.cases for p in c.prompts}
sample_command = command_of("split sample")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("base") / "s.duckdb"
    import_split(MINI, path, origin="test")
    return path


def run(command_: Any, *args: object) -> str:
    call = [str(a) for a in args]
    return CliRunner().invoke(command_, call, catch_exceptions=False, standalone_mode=False).output


def test_commands_up_to_the_release(base: Path, tmp_path: Path) -> None:
    store = shutil.copy(base, tmp_path / "s.duckdb")
    people = ("--person", "ann", "--person", "bob")
    call = ("draw", "mini", "-s", store, "--out", tmp_path / "sheets", "--format", "csv", *people)
    data = json.loads(run(sample_command, *call, "--json"))
    assert sum(data["strata"].values()) == data["items"] == -(-len(PROMPTS) // 10)
    assert run(sample_command, *call).startswith(f"sample {data['sample']}"), "the same command draws the same"
    with pytest.raises(UserError, match=r"waits for the quality sample .* \(answers missing: ann \d+, bob \d+\)"):
        run(release_command, "mini", "-s", store)
    paths = [tmp_path / "sheets" / f"{p}.csv" for p in ("ann", "bob")]
    for path in paths:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = [{**r, **dict.fromkeys([c.name for c in CRITERIA], "yes")} for r in csv.DictReader(file)]
        path.unlink()
        write_sheet(rows, path)
    assert f"{data['items']} items by ann, 0 not accepted" in run(sample_command, "import", *paths, "-s", store)
    output = run(sample_command, "report", "-s", store, "--resamples", 50)
    assert "all: 1.000" in output and "AC1" in output and "prevalence of yes 1.000" in output
    header = json.loads(run(release_command, "mini", "-s", store, "--version", "1.0.1", "--json"))
    assert header["quality"]["samples"][0]["acceptance"]["all"]["value"] == 1.0
    with pytest.raises(UserError, match="cannot be a person's name"):
        run(sample_command, *call, "--person", "Ann Lee")
