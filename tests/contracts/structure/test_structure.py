"""Folders, files and functions stay small, modules do not import each other in a circle, a class name is used once."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

import pytest

from tests.support import ROOT
from tests.support.imports import PACKAGES, circle, folder_graph, import_graph, module_of, parsed, source_files

SOURCE = (*PACKAGES, "benchmarks")
MAX_FILES, MAX_LINES, MAX_FUNCTION = 20, 600, 60


def tracked_files(*folders: str, root: Path = ROOT) -> list[PurePosixPath]:
    """Files of these folders that belong to the repository: tracked, or new and not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders]
    text = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
    return sorted({PurePosixPath(name) for name in text.split("\0") if name and (root / name).is_file()})


def crowded_folders() -> set[str]:
    """Folders of more than 20 files, ``__init__.py`` and data included."""
    sizes = Counter(str(path.parent) for path in tracked_files(*SOURCE, "tests"))
    return {folder for folder, size in sizes.items() if size > MAX_FILES}


def modules_in_circles() -> set[str]:
    """Modules that import each other in a loop, wherever the import stands."""
    return set(circle(import_graph(*SOURCE)))


def folders_in_circles() -> set[str]:
    """Folders (at every depth, with the modules beside them) whose modules import each other in a loop."""
    graph, results = import_graph(), set[str]()
    for depth in range(1, max(name.count(".") for name in graph) + 1):
        results.update(circle(folder_graph(graph, depth)))
    return results


def repeated_classes() -> set[str]:
    """Names of classes that more than one module defines at its top, private ones included."""
    places: dict[str, set[str]] = defaultdict(set)
    for path in source_files():
        for node in parsed(path).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].add(module_of(path))
    return {name for name, modules in places.items() if len(modules) > 1}


def long_files() -> set[str]:
    """Python files of more than 600 lines, tests included."""
    files = [path for path in tracked_files(*SOURCE, "tests", "docs") if path.suffix == ".py"]
    return {str(path) for path in files if len((ROOT / path).read_text(encoding="utf-8").splitlines()) > MAX_LINES}


def long_functions() -> set[str]:
    """Functions of more than 60 lines, as ``path:name``."""
    results = set()
    for path in source_files():
        for node in ast.walk(parsed(path)):
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if function and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION:
                results.add(f"{path.as_posix()}:{node.name}")
    return results


RULES: Mapping[str, Callable[[], set[str]]] = {
    "crowded_folders": crowded_folders,
    "modules_in_circles": modules_in_circles,
    "folders_in_circles": folders_in_circles,
    "repeated_classes": repeated_classes,
    "long_files": long_files,
    "long_functions": long_functions,
}
"""Every rule by name; what each returns must be empty."""


MEND = {
    "crowded_folders": "split the folder by subject",
    "modules_in_circles": "move what both need to a third module, or take a Protocol",
    "folders_in_circles": "move the definition to the folder below",
    "repeated_classes": "name one of the classes by what is special to it",
    "long_files": "split the file by subject",
    "long_functions": "split the function",
}


@pytest.mark.parametrize("rule", RULES)
def test_nothing_breaks_a_rule(rule: str) -> None:
    names = sorted(RULES[rule]())
    assert not names, f"{rule}: {MEND[rule]}: {', '.join(names)}"
