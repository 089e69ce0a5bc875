"""The repository agrees with itself: one version, one date, the Python versions tested, hooks that exist."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from annotation_ui.tasks import TASKS
from construction.checks import CHECKS
from construction.documents.checks import PROBE_CHECKS
from construction.events.checks import EVENT_CHECKS
from curation.checks.store_checks import STORE_CHECKS
from curation.export.formats import EXPORTERS
from curation.files.model_packages import cache_dir
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


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def yaml_of(name: str) -> Any:
    return yaml.load(read(name), yaml.BaseLoader)


PROJECT = tomllib.loads(read("pyproject.toml"))["project"]


def test_one_version_and_date() -> None:
    citation = yaml_of("CITATION.cff")
    assert citation["version"] == PROJECT["version"]
    released = re.search(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})$", read("CHANGELOG.md"), re.MULTILINE)
    assert released is not None
    assert released.groups() == (PROJECT["version"], citation["date-released"])


def test_changelog_opens_with_an_unreleased_heading() -> None:
    assert re.findall(r"^## (.+)$", read("CHANGELOG.md"), re.MULTILINE)[0] == "Unreleased"


def test_hosted_ci_tests_every_python_that_the_package_declares() -> None:
    jobs = yaml_of(".github/workflows/ci.yml")["jobs"]
    versions = jobs["test"]["strategy"]["matrix"]["python"]
    assert versions == ["3.11", "3.12", "3.13"]
    declarations = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert declarations == versions and PROJECT["requires-python"] == f">={versions[0]}"
    assert any(step.get("run") == "make test" for step in jobs["test"]["steps"])


def test_hosted_ci_runs_make_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), re.MULTILINE))
    commands = re.findall(r"run: make (.+)", read(".github/workflows/ci.yml"))
    words = {word for line in commands for word in line.split() if "=" not in word}
    assert words and words <= targets


def test_hooks_are_local_and_call_the_tools_of_make_lint() -> None:
    (repository,) = yaml_of(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        tool = hook["entry"].split()[0].removeprefix(".venv/bin/")
        assert f"$(BIN)/{tool}" in read("Makefile"), hook["entry"]


def test_issue_forms_ask_for_the_version() -> None:
    for name in ("bug", "different_number"):
        fields = {part["id"]: part for part in yaml_of(f".github/ISSUE_TEMPLATE/{name}.yml")["body"]}
        assert fields["version"]["validations"]["required"] == "true"


def test_the_development_tools_have_fixed_versions() -> None:
    fixed = {line.partition("==")[0].lower() for line in read("constraints.txt").splitlines()}
    for requirement in PROJECT["optional-dependencies"]["dev"]:
        assert re.split(r"[>=<\[]", requirement)[0].lower() in fixed, requirement


def test_tests_and_their_processes_write_into_no_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from curation.files.model_packages import cache_dir; print(cache_dir())"
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert Path(process.stdout.strip()) == cache_dir() == Path(os.environ["SCEDIT_CACHE"])
    cache_folder = cache_dir().resolve()
    monkeypatch.delenv("SCEDIT_CACHE")
    assert cache_folder != cache_dir().resolve()


def test_every_file_of_a_package_goes_into_the_wheel() -> None:
    """Files beside the code are named in pyproject.toml; a folder of code is a package, which it finds by itself."""
    setuptools = tomllib.loads(read("pyproject.toml"))["tool"]["setuptools"]
    paths = {
        path
        for package, patterns in setuptools["package-data"].items()
        for pattern in patterns
        for path in (ROOT / package.replace(".", "/")).glob(pattern)
    }
    for top in setuptools["packages"]["find"]["include"]:
        files = [p for p in (ROOT / top.rstrip("*")).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
        assert files
        for path in files:
            assert path in paths if path.suffix != ".py" else (path.parent / "__init__.py").is_file(), path


def test_the_imported_packages_are_ours() -> None:
    """PyPI has packages that install the same flat names: ours must stand beside our own root module."""
    home = Path(importlib.import_module("scedit").__file__ or "").parent.parent
    for name in PACKAGES:
        assert Path(importlib.import_module(name).__file__ or "").parent.parent == home


@pytest.mark.parametrize("package", ["schemas", "curation", "construction", "evaluation", "annotation_ui"])
def test_public_functions_take_a_path_as_text_too(package: str) -> None:
    """Notebooks name files by texts. Classes that only readers of formats subclass are called with paths by us."""
    module = importlib.import_module(package)
    refusing = []
    for name in module.__all__:
        thing = getattr(module, name)
        functions = [(name, thing)] if inspect.isfunction(thing) else []
        if inspect.isclass(thing) and name not in ("Loader", "FormatReader", "Store"):
            functions.append((f"{name}.__init__", thing.__init__))
        for called, function in functions:
            annotations = {p.name: str(p.annotation) for p in inspect.signature(function).parameters.values()}
            refusing += [f"{called}: {p}" for p, kind in annotations.items() if "Path" in kind and "str" not in kind]
    assert not refusing


def test_a_store_is_opened_and_copied_by_text(tmp_path: Path) -> None:
    from curation import Store

    with Store.open(str(tmp_path / "a.duckdb"), create=True) as store:
        store.copy_to(str(tmp_path / "b.duckdb"))
    assert (tmp_path / "b.duckdb").is_file()


# Everything registered can be loaded, is described, and follows the contract of its kind.
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
