"""How large the project is: statements of Python (``ast.stmt`` nodes) by folder, and words of documentation.

    python -m benchmarks.size                     every package, tests and benchmarks, against the targets
    python -m benchmarks.size --depth 2           folders inside the packages too
    python -m benchmarks.size --since main~20     what an earlier commit held, beside what the files hold now
    python -m benchmarks.size --kinds             how many statements import, describe, define or declare, and the rest

Statements are counted, not lines: putting more on one line changes nothing.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
TARGETS = {
    "evaluation": 20_500,
    "curation": 9_500,
    "construction": 6_800,
    "annotation_ui": 4_800,
    "schemas": 1_800,
    "tests": 40_000,
    "benchmarks": 3_600,
    "docs": 50_000,
}
"""Statements that each part should have at most; words for ``docs``."""


def count_statements(source: str) -> int:
    """Statements in a Python source text, nested ones included.

    Example:
        >>> count_statements("def f():\\n    return 1\\n")
        2
    """
    return sum(isinstance(node, ast.stmt) for node in ast.walk(ast.parse(source)))


def kind_of(node: ast.stmt) -> str:
    """What a statement does: ``import``, ``docstring``, ``definition``, ``field`` (a declared name), or ``other``."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return "import"
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return "definition"
    if isinstance(node, ast.AnnAssign):
        return "field"
    text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return "docstring" if text else "other"


def print_kinds() -> None:
    """The statements of every folder by what they do."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path, text in current_files():
        if path.suffix == ".py" and path.parts[0] in TARGETS and path.parts[0] != "docs":
            nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt))
            counts[path.parts[0]].update(map(kind_of, nodes))
    kinds = ("import", "docstring", "definition", "field", "other")
    print(f"{'folder':20}" + "".join(f"{kind:>12}" for kind in kinds))
    for folder, found in sorted(counts.items()):
        print(f"{folder:20}" + "".join(f"{found[kind]:>12,}" for kind in kinds))


def current_files() -> Iterator[tuple[PurePosixPath, str]]:
    """Tracked Python and Markdown files as they are in the working tree."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in names.split("\0"):
        if name.endswith((".py", ".md")) and (ROOT / name).is_file():
            yield PurePosixPath(name), (ROOT / name).read_text(encoding="utf-8")


def files_of_commit(commit: str) -> Iterator[tuple[PurePosixPath, str]]:
    """Python and Markdown files of a commit."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            content = files.extractfile(member) if member.name.endswith((".py", ".md")) else None
            if content is not None:
                yield PurePosixPath(member.name), content.read().decode()


def measure(files: Iterator[tuple[PurePosixPath, str]], *, depth: int) -> Counter[str]:
    """Statements by folder, every folder down to ``depth`` included; words of ``docs`` under its name."""
    sizes: Counter[str] = Counter()
    for path, text in files:
        if path.suffix == ".md":
            amount = len(text.split()) if path.parts[0] == "docs" else 0
        else:
            amount = count_statements(text) if path.parts[0] != "docs" else 0
        for level in range(1, min(depth, len(path.parts) - 1) + 1):
            if amount:
                sizes["/".join(path.parts[:level])] += amount
    return sizes


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--depth", type=int, default=1, help="levels of folders to list")
    parser.add_argument("--since", metavar="COMMIT", help="compare with this commit")
    parser.add_argument("--kinds", action="store_true", help="count statements by what they do")
    options = parser.parse_args()
    if options.kinds:
        print_kinds()
        return
    now = measure(current_files(), depth=options.depth)
    then = measure(files_of_commit(options.since), depth=options.depth) if options.since else Counter[str]()
    print(f"{'folder':40}{'before' if options.since else '':>9}{'now':>9}{'target':>9}")
    for folder in sorted({*now, *then}):
        before = f"{then[folder]:,}" if options.since else ""
        target = f"{TARGETS[folder]:,}" if folder in TARGETS else ""
        print(f"{folder:40}{before:>9}{now[folder]:>9,}{target:>9}")


if __name__ == "__main__":
    main()
