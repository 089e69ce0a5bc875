"""What the structural rules count, and the list of what is still open: ``tests/contracts/structure_open.toml``.

    python -m tests.support.structure         takes what is mended off the list; adds nothing

The list names each place where a rule does not hold yet. It can only shrink: something new that breaks a rule is an
error, and so is something on the list that holds by now.
"""

from __future__ import annotations

import ast
import subprocess
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath

from tests.support import ROOT
from tests.support.imports import PACKAGES, circles, folder_graph, import_graph, module_of, parsed, source_files

OPEN = ROOT / "tests" / "contracts" / "structure_open.toml"
SOURCE = (*PACKAGES, "benchmarks")
MAX_FILES, MAX_LINES, MAX_FUNCTION = 15, 350, 50
UNMIRRORED = ("contracts", "support", "docs", "build", "benchmarks")
"""Folders of tests/ that are about no single module; so is ``scenarios`` in every package."""


def tracked_files(*folders: str, root: Path = ROOT) -> list[PurePosixPath]:
    """Files of these folders that belong to the repository: tracked, or new and not ignored."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders]
    text = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
    return sorted({PurePosixPath(name) for name in text.split("\0") if name and (root / name).is_file()})


def crowded_folders() -> set[str]:
    """Folders of more than 15 files, ``__init__.py`` and data included."""
    sizes = Counter(str(path.parent) for path in tracked_files(*SOURCE, "tests"))
    return {folder for folder, size in sizes.items() if size > MAX_FILES}


def modules_in_circles() -> set[str]:
    """Modules that import each other in a loop, wherever the import stands."""
    return set[str]().union(*circles(import_graph(*SOURCE)))


def folders_in_circles() -> set[str]:
    """Folders (at every depth, with the modules beside them) whose modules import each other in a loop."""
    graph, results = import_graph(), set[str]()
    modules = modules_in_circles()
    for depth in range(1, max(name.count(".") for name in graph) + 1):
        results |= set[str]().union(*circles(folder_graph(graph, depth))) - modules
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
    """Python files of more than 350 lines, tests included."""
    files = [path for path in tracked_files(*SOURCE, "tests", "docs", "scedit.py") if path.suffix == ".py"]
    return {str(path) for path in files if len((ROOT / path).read_text(encoding="utf-8").splitlines()) > MAX_LINES}


def long_functions() -> set[str]:
    """Functions of more than 50 lines, as ``path:name``."""
    results = set()
    for path in (*source_files(), Path("scedit.py")):
        for node in ast.walk(parsed(path)):
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            if function and (node.end_lineno or 0) - node.lineno >= MAX_FUNCTION:
                results.add(f"{path.as_posix()}:{node.name}")
    return results


def mirrored(test: PurePosixPath, modules: set[PurePosixPath]) -> PurePosixPath | None:
    """The module that a test file stands for: ``test_<module>.py`` or ``test_<module>_<more>.py`` at the same path.

    ``test_<folder>.py`` in a folder stands for what its ``__init__.py`` defines.

    Example:
        >>> journal = PurePosixPath("curation/files/journal.py")
        >>> mirrored(PurePosixPath("tests/curation/files/test_journal_killed.py"), {journal}) == journal
        True
    """
    folder, stem = PurePosixPath(*test.parts[1:-1]), test.stem.removeprefix("test_")
    fitting = [m for m in modules if m.parent == folder and f"{stem}_".startswith(f"{m.stem}_")]
    of_folder = folder / "__init__.py" if stem == folder.name else None
    return max(fitting, key=lambda m: len(m.stem), default=of_folder)


def _tests_and_modules() -> tuple[list[PurePosixPath], set[PurePosixPath]]:
    tests = [
        path
        for path in tracked_files("tests")
        if path.name.startswith("test_")
        and path.suffix == ".py"
        and path.parts[1] not in UNMIRRORED
        and "scenarios" not in path.parts
    ]
    return tests, {PurePosixPath(p.as_posix()) for p in source_files() if p.name != "__init__.py"}


def tests_without_module() -> set[str]:
    """Test files of a package that mirror no module, and so are found by nobody who looks for them."""
    tests, modules = _tests_and_modules()
    return {str(test) for test in tests if mirrored(test, modules) is None}


def modules_without_test() -> set[str]:
    """Modules with no test file at the mirrored path (``__init__.py`` apart)."""
    tests, modules = _tests_and_modules()
    return {str(module) for module in modules - {mirrored(test, modules) for test in tests}}


RULES: Mapping[str, Callable[[], set[str]]] = {
    "crowded_folders": crowded_folders,
    "modules_in_circles": modules_in_circles,
    "folders_in_circles": folders_in_circles,
    "repeated_classes": repeated_classes,
    "long_files": long_files,
    "long_functions": long_functions,
    "tests_without_module": tests_without_module,
    "modules_without_test": modules_without_test,
}
"""What each table of the list holds, and what counts it."""


def read_open() -> dict[str, list[str]]:
    """The list of what is still open, by rule."""
    return tomllib.loads(OPEN.read_text(encoding="utf-8"))


def shrink() -> list[str]:
    """Write the list again without what is mended; what is new stays off it. Returns what was taken off."""
    outcome, texts, lines = read_open(), [], []
    lines.append("# What does not hold yet of tests/contracts/structure/test_structure.py. It can only shrink:")
    lines.append("# `python -m tests.support.structure` takes off what is mended.")
    for rule, count in RULES.items():
        listing = set(outcome.get(rule, ()))
        stale_names = sorted(listing & count())
        texts += [f"{rule}: {name}" for name in sorted(listing - set(stale_names))]
        lines += [f"{rule} = [", *(f'  "{name}",' for name in stale_names), "]"] if stale_names else [f"{rule} = []"]
    OPEN.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return texts
