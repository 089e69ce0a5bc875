"""The notebooks: the tutorial is run whole, the one for a GPU is checked against the types of what it calls."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.docs.pages import DOCS
from tests.support import ROOT

BOOKS = ("tutorial.ipynb", "paper.ipynb")


def code(name: str) -> list[str]:
    return [cell.source for cell in nbformat.read(DOCS / name, as_version=4).cells if cell.cell_type == "code"]


@pytest.mark.parametrize("name", BOOKS)
def test_a_notebook_is_kept_without_outputs(name: str) -> None:
    cells = nbformat.read(DOCS / name, as_version=4).cells
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in cells)
    assert cells[0].cell_type == "markdown" and cells[0].source.startswith("# ")


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(1800)
def test_the_tutorial_from_facts_to_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    book = nbformat.read(DOCS / "tutorial.ipynb", as_version=4)
    NotebookClient(book, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = "\n".join(str(cell.get("outputs", "")) for cell in book.cells)
    assert "mine@1.0.0" in shown and "The capital of Italy is Cairo" in shown
    assert (tmp_path / "runs/mine/report.html").stat().st_size > 20_000 and (tmp_path / "s_es.pdf").is_file()
    table = (tmp_path / "runs/mine/results.csv").read_text(encoding="utf-8")
    assert all(method in table for method in ("none", "prompt", "rome"))


@pytest.mark.slow
def test_every_call_of_a_notebook_is_one_that_there_is(tmp_path: Path) -> None:
    for name in BOOKS:
        (tmp_path / name).with_suffix(".py").write_text("\n".join(code(name)), encoding="utf-8")
    files = sorted(str(path) for path in tmp_path.glob("*.py"))
    command = [
        sys.executable,
        "-m",
        "mypy",
        *files,
    ]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0 and f"{len(BOOKS)} source files" in ended.stdout, ended.stdout
    (tmp_path / "wrong.py").write_text("import scedit\nscedit.load_run(7)\n", encoding="utf-8")
    ended = subprocess.run([*command[:3], str(tmp_path / "wrong.py")], cwd=ROOT, capture_output=True, text=True)
    assert 'has incompatible type "int"' in ended.stdout, ended.stdout
