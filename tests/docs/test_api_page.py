"""The page on the Python API, and the lines of Python in the README: they run as pasted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import DOCS, blocks, run_doctests
from tests.support import ROOT

PAGE = DOCS / "api.md"


def test_examples_run() -> None:
    assert run_doctests(PAGE) >= 20


@pytest.mark.model
def test_an_edit_flips_the_fact_and_not_the_script(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first, second, third = (block.text for block in blocks(PAGE, "python"))
    names: dict[str, object] = {}
    exec(compile(first, "api.md", "exec"), names)
    lines = capsys.readouterr().out.splitlines()
    fact, script = (eval(line) for line in lines if line.startswith("{"))
    assert fact["Nairobi"] - fact["Paris"] > 9
    assert script["Paris"] - script["Nairobi"] > 6
    exec(compile(second, "api.md", "exec"), names)
    scores, report = capsys.readouterr().out.strip().splitlines()[-2:]
    assert eval(scores)["es"] == 1.0 and eval(scores)["s_es"] == 0.0
    assert (tmp_path / report).stat().st_size > 10_000
    exec(compile(third, "api.md", "exec"), names)
    assert (tmp_path / "edited" / "README.md").is_file() and names["edit"].deltas[0].norm() > 0  # type: ignore[attr-defined]


def test_the_readme_shows_the_same_lines() -> None:
    (example,) = blocks(ROOT / "README.md", "python")
    assert example == blocks(PAGE, "python")[0]
    assert sum(bool(line.strip()) for line in example.text.splitlines()) <= 8
