"""The repository agrees with itself: one version, one date, the Python versions tested, hooks that exist."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from curation.files.model_packages import cache_dir
from tests.support import ROOT


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def parsed(name: str) -> Any:
    return yaml.load(read(name), yaml.BaseLoader)


PROJECT = tomllib.loads(read("pyproject.toml"))["project"]


def test_one_version_and_date() -> None:
    citation = parsed("CITATION.cff")
    assert citation["version"] == PROJECT["version"]
    released = re.search(r"^## (\d+\.\d+\.\d+) - (\d{4}-\d{2}-\d{2})$", read("CHANGELOG.md"), re.MULTILINE)
    assert released is not None
    assert released.groups() == (PROJECT["version"], citation["date-released"])


def test_changelog_opens_with_an_unreleased_heading() -> None:
    assert re.findall(r"^## (.+)$", read("CHANGELOG.md"), re.MULTILINE)[0] == "Unreleased"


def test_hosted_ci_tests_every_python_that_the_package_declares() -> None:
    jobs = parsed(".github/workflows/ci.yml")["jobs"]
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
    (repository,) = parsed(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        tool = hook["entry"].split()[0].removeprefix(".venv/bin/")
        assert f"$(BIN)/{tool}" in read("Makefile"), hook["entry"]


def test_issue_forms_ask_for_the_version() -> None:
    for name in ("bug", "different_number"):
        fields = {part["id"]: part for part in parsed(f".github/ISSUE_TEMPLATE/{name}.yml")["body"]}
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
