"""``scedit results table``."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from evaluation.cli.results import table as command
from schemas.core.errors import UserError
from tests.support.report.read_report import finished


def test_tables_of_two_runs_and_the_same_in_json(tmp_path: Path) -> None:
    runs = [str(finished(tmp_path / name, metrics=["s_es", "s_es_gen"])) for name in ("one", "two")]
    result = CliRunner().invoke(command, [*runs, "--out", str(tmp_path / "t")], catch_exceptions=False)
    assert result.exit_code == 0 and result.stdout.count(".parquet: ") == 3
    data = CliRunner().invoke(command, [*runs, "--out", str(tmp_path / "u"), "--json"], catch_exceptions=False)
    (said,) = json.loads(data.stdout)
    counts = said["rows"]
    for name, rows in counts.items():
        assert duckdb.sql(f"SELECT count(*) FROM '{tmp_path}/u/{name}.parquet'").fetchall() == [(rows,)]
        assert f"{name}.parquet: {rows:,} rows" in result.stdout
    assert duckdb.sql(f"SELECT DISTINCT run FROM '{tmp_path}/t/answers.parquet' ORDER BY 1").fetchall() == [
        ("one",),
        ("two",),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--metrics", "ps"], "the run has no metric 'ps'", id="a metric that the run has not"),
        pytest.param(["nowhere"], "not the folder of a run", id="no run"),
    ],
)
def test_refusals_write_nothing(tmp_path: Path, arguments: list[str], words: str) -> None:
    run, out = finished(tmp_path / "one", metrics=["s_es"]), tmp_path / "t"
    result = CliRunner().invoke(command, [str(run), *arguments, "--out", str(out)])
    assert isinstance(result.exception, UserError) and words in str(result.exception) and not out.exists()


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    run, out = finished(tmp_path / "one", metrics=["s_es"]), tmp_path / "t"
    out.mkdir()
    (out / "mine.txt").write_text("x")
    result = CliRunner().invoke(command, [str(run), "--out", str(out)])
    assert result.exit_code != 0 and [p.name for p in out.iterdir()] == ["mine.txt"]
