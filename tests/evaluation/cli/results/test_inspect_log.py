"""``scedit results inspect-log``."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from evaluation.cli.results import inspect_log as command
from schemas.core.errors import UserError
from tests.support.report.read_report import finished


def test_logs_of_two_runs_and_the_same_in_json(tmp_path: Path) -> None:
    runs = [str(finished(tmp_path / name, metrics=["s_es"], limit=n)) for n, name in enumerate(("one", "two"), 2)]
    result = CliRunner().invoke(command, [*runs, "--out", str(tmp_path / "t")], catch_exceptions=False)
    files = sorted((tmp_path / "t").iterdir())
    assert result.exit_code == 0 and len(files) == result.stdout.count(" samples\n") > 2
    said = CliRunner().invoke(command, [*runs, "--out", str(tmp_path / "u"), "--json"], catch_exceptions=False)
    for line in json.loads(said.stdout):
        assert len(json.loads(Path(line["file"]).read_text())["samples"]) == line["samples"]


def test_the_same_run_twice_leaves_nothing(tmp_path: Path) -> None:
    run, out = finished(tmp_path / "one", metrics=["s_es"], limit=2), tmp_path / "t"
    result = CliRunner().invoke(command, [str(run), str(run), "--out", str(out)])
    assert isinstance(result.exception, UserError) and "name each run once" in str(result.exception)
    assert not out.exists()
