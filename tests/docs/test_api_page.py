"""The page on the Python API, and the lines of Python in the README: they run as pasted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import DOCS, blocks, run_doctests
from tests.support import ROOT

PAGE = DOCS / "api.md"


def test_examples_run() -> None:
    assert run_doctests(PAGE) >= 20


@pytest.mark.model
def test_an_edit_flips_the_fact_and_not_the_script(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = blocks(PAGE, "python")
    exec(compile(example.text, "api.md", "exec"), {})
    fact, script = (eval(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{"))
    assert fact["Polar"] - fact["Garmin"] > 4
    assert script["Garmin"] - script["Polar"] > 6


@pytest.mark.slow
@pytest.mark.model
def test_the_lines_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (example,) = blocks(ROOT / "README.md", "python")
    names: dict[str, Any] = {}
    exec(compile(example.text, "README.md", "exec"), names)
    means = names["run"].summary().pivot(index="method", columns="metric", values="mean")
    assert means.loc["prompt", "es"] == 1.0 and means.loc["ft", "s_es"] < 0.4
