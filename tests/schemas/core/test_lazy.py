"""Public names at the package roots: lazy, complete, documented."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from schemas.core.lazy import lazy_names
from tests.support import ROOT

PACKAGES = ("schemas", "curation", "construction", "evaluation", "annotation_ui")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_on_the_page_and_hides_no_submodule(package: str) -> None:
    table = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").partition("## All public names")[2]
    listing: dict[str, set[str]] = {}
    current = ""
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and "`" in cells[2]:
            current = cells[0].strip("`") or current
            listing.setdefault(current, set()).update(re.findall(r"`(\w+)`", cells[2]))
    module = importlib.import_module(package)
    names = set(module.__all__)
    assert names == listing[package] <= set(dir(module))
    assert all(getattr(module, name) is not None for name in names)
    assert not names & {path.stem if path.suffix == ".py" else path.name for path in (ROOT / package).iterdir()}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_stub_names_what_the_table_names(package: str) -> None:
    """Type checkers read ``__init__.pyi``: the same names, from the same modules."""
    stub = ast.parse((ROOT / package / "__init__.pyi").read_text(encoding="utf-8"))
    targets = {
        alias.asname: f"{node.module}:{alias.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    module = importlib.import_module(package)
    assert targets == module._PUBLIC and None not in targets
    (values,) = [node.value for node in stub.body if isinstance(node, ast.Assign)]
    assert set(ast.literal_eval(values)) == set(targets)


@pytest.mark.slow
def test_a_type_checker_outside_sees_the_types_of_public_names(tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(
        "from schemas import Fact, find_mentions\nnumber: int = Fact\nreveal_type(find_mentions)\n"
    )
    command = [sys.executable, "-m", "mypy", str(tmp_path / "user.py")]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert 'type "type[Fact]", variable has type "int"' in process.stdout, process.stdout + process.stderr
    assert "schemas.facts.Entity" in process.stdout.partition("Revealed type is")[2]


def test_importing_the_packages_imports_nothing_heavy() -> None:
    code = f"import sys, {', '.join(PACKAGES)}; print([m for m in ('torch', 'duckdb', 'pydantic') if m in sys.modules])"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    evaluation = importlib.import_module("evaluation")
    with pytest.raises(AttributeError, match="no attribute 'make_editr'; did you mean 'make_editor'"):
        _ = evaluation.make_editr
    assert not hasattr(evaluation, "__path_of_nothing__")
    get, _ = lazy_names("schemas", {"Gone": "schemas.facts:Gone"})
    with pytest.raises(AttributeError, match="Gone"):
        get("Gone")
