"""The import graph of our own modules, read from the source: type-checking and in-function imports count as well."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.support import ROOT

PACKAGES = ("schemas", "curation", "construction", "evaluation", "annotation_ui", "scedit")


def source_files(*folders: str) -> list[Path]:
    """Python files of our packages (or of these folders), from the repository's root."""
    return sorted(p.relative_to(ROOT) for folder in folders or PACKAGES for p in (ROOT / folder).rglob("*.py"))


def module_of(path: Path) -> str:
    """Dotted name of a file: ``curation/files/journal.py`` is ``curation.files.journal``.

    Example:
        >>> module_of(Path("curation/files/__init__.py"))
        'curation.files'
    """
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


@cache
def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file, named from the repository's root; read once a process."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def import_graph(*folders: str) -> dict[str, set[str]]:
    """Which of our modules each module imports, anywhere in its text."""
    files = source_files(*folders)
    modules = {module_of(path) for path in files}
    graph = {}
    for path in files:
        importer, parents = module_of(path), (one if one in modules else one.rpartition(".")[0] for one in _named(path))
        graph[importer] = {module for module in parents if module in modules and module != importer}
    return graph


@cache
def _named(path: Path) -> tuple[str, ...]:
    """What a file's imports name: modules, and names in modules as ``module.name``."""
    names: list[str] = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return tuple(names)


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules (or folders) that import each other in a loop, the first one at the end too; empty without one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def folder_graph(graph: Mapping[str, set[str]], depth: int) -> dict[str, set[str]]:
    """The same arrows between folders: modules cut to their first ``depth`` names (packages count as folders)."""
    folders: dict[str, set[str]] = {}
    for module, targets in graph.items():
        importer = ".".join(module.split(".")[:depth])
        folders.setdefault(importer, set())
        for target in targets:
            text = ".".join(target.split(".")[:depth])
            if text != importer:
                folders[importer].add(text)
    return folders
