"""The import contracts of pyproject.toml hold, and a forbidden import planted in a copy breaks its contract."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support import ROOT
from tests.support.imports import PACKAGES, source_files

ALLOWED = "of construction, evaluation imports llm"
INSIDE = "curation, top to bottom"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources and their contracts, nothing else."""
    folder = tmp_path_factory.mktemp("tree")
    for path in source_files():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, folder / path)
    shutil.copyfile(ROOT / "pyproject.toml", folder / "pyproject.toml")
    return folder


def broken(folder: Path) -> list[str]:
    """Names of the contracts that do not hold there."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    env = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    process = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    matches = re.findall(r"^(.+) BROKEN(?: \(|$)", process.stdout, flags=re.MULTILINE)
    assert process.returncode == bool(matches), process.stdout + process.stderr
    return matches


def test_the_contracts_hold(copy: Path) -> None:
    assert broken(copy) == []


@pytest.mark.parametrize(
    ("where", "line", "contract"),
    [
        ("curation/stats/planted.py", "import construction.llm.client", "packages, top to bottom"),
        ("schemas/facts.py", "import curation.store.store", "packages, top to bottom"),
        ("evaluation/runs/planted.py", "import annotation_ui.tasks", "packages, top to bottom"),
        ("evaluation/judge/planted.py", "import construction.verifier.steps", ALLOWED),
        ("evaluation/judge/planted.py", "import construction.planted.module", ALLOWED),
        ("annotation_ui/tasks/planted.py", "import construction.llm.client", "annotation_ui uses no construction"),
        ("construction/llm/planted.py", "import construction.prompts", "construction, top to bottom; llm"),
        ("construction/llm/planted.py", "import construction.neighbours", "construction, top to bottom; llm"),
        ("curation/rules/planted.py", "import curation.cli.check", "commands are imported by nobody"),
        ("evaluation/cli/planted.py", "import curation.cli.check", "commands are imported by nobody"),
        ("curation/splits/planted.py", "import curation.store.store", INSIDE),
        ("evaluation/metrics/planted.py", "import evaluation.runs.plan", "evaluation, top to bottom"),
        ("annotation_ui/tasks/planted.py", "import annotation_ui.ratings", "annotation_ui, top to bottom"),
        ("schemas/core/planted.py", "import schemas.facts", "schemas, top to bottom"),
        ("curation/splits/planted.py", "def inside():\n    import curation.store.store", INSIDE),
        ("curation/splits/planted.py", "if TYPE_CHECKING:\n    import curation.store.store", INSIDE),
        ("curation/planted/__init__.py", "", INSIDE),
    ],
)
def test_a_planted_import_breaks_its_contract(copy: Path, where: str, line: str, contract: str) -> None:
    """At the top, in a function, and for type checking only; and a new folder has to be given its place."""
    file, new = copy / where, copy / "construction" / "planted"
    before = file.read_text(encoding="utf-8") if file.exists() else None
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{before or ''}\nfrom typing import TYPE_CHECKING\n{line}\n", encoding="utf-8")
    if "construction.planted" in line:
        new.mkdir()
        (new / "__init__.py").touch()
        (new / "module.py").touch()
    try:
        assert any(name.startswith(contract) for name in broken(copy))
    finally:
        file.unlink()
        shutil.rmtree(new, ignore_errors=True)
        if before is not None:
            file.write_text(before, encoding="utf-8")
        elif where.endswith("__init__.py"):
            shutil.rmtree(file.parent)


def test_every_package_has_its_layers_and_a_new_folder_needs_a_place() -> None:
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = data["tool"]["importlinter"]["contracts"]
    layer_contracts = {name: c for c in contracts if c["type"] == "layers" for name in c.get("containers", ())}
    assert set(layer_contracts) == set(PACKAGES)
    assert all(contract["exhaustive"] is True for contract in layer_contracts.values())
