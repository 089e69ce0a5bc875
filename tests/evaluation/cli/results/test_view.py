"""``scedit results view``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evaluation.cli.results import view as command
from schemas.core.errors import UserError
from tests.support.report.read_report import finished


def test_a_page_and_its_size(tmp_path: Path) -> None:
    run, out = finished(tmp_path / "one", metrics=["es_gen"]), tmp_path / "a.html"
    result = CliRunner().invoke(command, [str(run), "--out", str(out), "--json"], catch_exceptions=False)
    assert json.loads(result.stdout) == [{"out": str(out), "bytes": len(out.read_bytes())}]
    assert "MB" in CliRunner().invoke(command, [str(run), "--out", str(tmp_path / "b.html")]).stdout


@pytest.mark.parametrize(("run", "words"), [("one", "no text was written"), ("nowhere", "not the folder of a run")])
def test_refusals_write_nothing(tmp_path: Path, run: str, words: str) -> None:
    finished(tmp_path / "one", metrics=["es"])
    result = CliRunner().invoke(command, [str(tmp_path / run), "--out", str(tmp_path / "a.html")])
    assert isinstance(result.exception, UserError) and words in str(result.exception)
    assert not (tmp_path / "a.html").exists()
