"""Everything registered can be loaded, is described, and follows the contract of its kind."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest

from annotation_ui.tasks import TASKS
from construction.checks import CHECKS
from construction.documents.checks import PROBE_CHECKS
from construction.events.checks import EVENT_CHECKS
from curation.checks.store_checks import STORE_CHECKS
from curation.export.formats import EXPORTERS
from curation.loaders import LOADERS
from evaluation.editors import EDITORS
from evaluation.metrics import METRICS
from evaluation.runs.validity_variants import VARIANTS
from evaluation.simplify import SIMPLIFIERS
from evaluation.trackers import TRACKERS
from schemas.core.errors import UserError
from schemas.core.registry import Registry
from tests.support import ROOT
from tests.support.imports import PACKAGES, parsed, source_files

OURS = (CHECKS, EVENT_CHECKS, PROBE_CHECKS, STORE_CHECKS, EDITORS, EXPORTERS, LOADERS, METRICS, SIMPLIFIERS, TASKS)
OURS += (TRACKERS, VARIANTS)
REGISTRIES = {r.kind: r for r in OURS}


def components() -> Iterator[tuple[str, str]]:
    for kind, registry in REGISTRIES.items():
        for name in registry.names():
            yield kind, name


@pytest.mark.parametrize(("kind", "name"), list(components()))
def test_every_name_loads_and_is_described(kind: str, name: str) -> None:
    component = REGISTRIES[kind].get(name)
    assert callable(getattr(component, "write", component))
    assert (component.__doc__ or "").strip(), f"{kind} {name} says nothing of itself"


@pytest.mark.parametrize("registry", list(REGISTRIES.values()), ids=list(REGISTRIES))
def test_a_mistyped_name_is_answered_with_the_near_one(registry: Registry) -> None:
    name = registry.names()[0]
    with pytest.raises(UserError, match=f"did you mean '{name}'"):
        registry.get(name + "x")


@pytest.mark.parametrize("registry", list(REGISTRIES.values()), ids=list(REGISTRIES))
def test_names_are_unique_and_plain(registry: Registry) -> None:
    names = registry.names()
    assert len(set(names)) == len(names)
    assert all(n == n.lower() and " " not in n for n in names)


DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]


def test_what_is_declared_is_what_is_registered_in_its_order() -> None:
    """Where this fails, pyproject.toml was changed and not installed again: make setup."""
    our_names = {kind: [n for n in r.names() if n in DECLARED[f"scedit.{kind}"]] for kind, r in REGISTRIES.items()}
    assert {f"scedit.{kind}": names for kind, names in our_names.items()} == {g: list(t) for g, t in DECLARED.items()}


@pytest.mark.parametrize("package", [name for name in PACKAGES if name != "scedit"])  # its table of commands is text
def test_no_package_names_a_component_of_another_as_text(package: str) -> None:
    """Import contracts do not see text: each package declares its own components."""
    others = "|".join(set(PACKAGES) - {package})
    pattern = re.compile(rf"^({others})(\.\w+)+:\w+$")
    for path in source_files(package):
        texts = [n.value for n in ast.walk(parsed(path)) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        assert not [text for text in texts if pattern.match(text)], path


def test_listing_names_imports_no_model_library() -> None:
    heavy = ("torch", "transformers", "streamlit", "sklearn")
    modules = "construction.checks curation.checks.store_checks curation.export.formats curation.loaders"
    modules += " construction.events.checks"
    modules += " evaluation.editors evaluation.metrics annotation_ui.tasks"
    code = (
        f"import sys, importlib, schemas.core.registry as r\nfor m in {modules.split()!r}:\n"
        "    for one in vars(importlib.import_module(m)).values():\n"
        "        if isinstance(one, r.Registry): assert one.names()\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert process.stdout.strip() == "[]"
