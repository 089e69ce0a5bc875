"""Public names at the package roots: lazy, complete, documented."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import pytest

from schemas.core.lazy import lazy_names
from tests.support import ROOT

PACKAGES = ("schemas", "curation", "construction", "evaluation", "annotation_ui")


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_is_there_and_listed(package: str) -> None:
    module = importlib.import_module(package)
    assert len(module.__all__) >= 5
    for name in module.__all__:
        assert getattr(module, name) is not None
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_lists_exactly_the_public_names(package: str) -> None:
    table = (ROOT / "docs" / "api.md").read_text(encoding="utf-8").partition("## All public names")[2]
    listed: dict[str, set[str]] = {}
    current = ""
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 3 and "`" in cells[2]:
            current = cells[0].strip("`") or current
            listed.setdefault(current, set()).update(re.findall(r"`(\w+)`", cells[2]))
    assert listed[package] == set(importlib.import_module(package).__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_public_name_hides_a_submodule(package: str) -> None:
    names = set(importlib.import_module(package).__all__)
    below = {path.stem if path.suffix == ".py" else path.name for path in (ROOT / package).iterdir()}
    assert not names & below


def test_importing_the_packages_imports_nothing_heavy() -> None:
    code = f"import sys, {', '.join(PACKAGES)}; print([m for m in ('torch', 'duckdb', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    evaluation = importlib.import_module("evaluation")
    with pytest.raises(AttributeError, match="no attribute 'make_editr'; did you mean 'make_editor'"):
        _ = evaluation.make_editr
    assert not hasattr(evaluation, "__path_of_nothing__")


def test_a_missing_attribute_of_the_module_is_not_hidden() -> None:
    get, _ = lazy_names("schemas", {"Gone": "schemas.facts:Gone"})
    with pytest.raises(AttributeError, match="Gone"):
        get("Gone")
