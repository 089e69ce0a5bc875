"""The house keeps its order: small folders, files and functions, no circles, one class a name, tests in their place."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from tests.support import structure
from tests.support.imports import circles, folder_graph

MEND = {
    "crowded_folders": "split the folder by subject",
    "modules_in_circles": "move what both need to a third module, or take a Protocol",
    "folders_in_circles": "move the definition to the folder below",
    "repeated_classes": "name one of the classes by what is special to it",
    "long_files": "split the file by subject",
    "long_functions": "split the function",
    "tests_without_module": "name the test after the module it is about, or move it to the package's scenarios/",
    "modules_without_test": "write tests/<path>/test_<module>.py",
}


def test_every_rule_says_how_it_is_kept() -> None:
    assert set(MEND) == set(structure.RULES) == set(structure.read_open())


@pytest.mark.parametrize("rule", structure.RULES)
def test_nothing_new_breaks_a_rule(rule: str) -> None:
    new_names = sorted(structure.RULES[rule]() - set(structure.read_open()[rule]))
    assert not new_names, f"{rule}: {MEND[rule]}: {', '.join(new_names)}"


@pytest.mark.parametrize("rule", structure.RULES)
def test_the_list_of_what_is_open_holds_nothing_that_is_mended(rule: str) -> None:
    text = structure.read_open()[rule]
    assert text == sorted(set(text)), f"{rule}: the list is sorted and names a thing once"
    resolved_names = sorted(set(text) - structure.RULES[rule]())
    assert not resolved_names, f"{rule}: run python -m tests.support.structure: mended: {', '.join(resolved_names)}"


def test_the_list_only_shrinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is mended is taken off; what is new is not put on."""
    monkeypatch.setattr(structure, "OPEN", tmp_path / "open.toml")
    monkeypatch.setattr(structure, "RULES", {"long_files": lambda: {"new.py", "old.py"}})
    structure.OPEN.write_text('long_files = ["mended.py", "old.py"]\n')
    assert structure.shrink() == ["long_files: mended.py"]
    assert structure.read_open() == {"long_files": ["old.py"]}
    assert structure.shrink() == []


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}, "c": {"a"}}, [["a", "b"]]),
        ({"a": {"b"}, "b": {"c"}, "c": {"a"}}, [["a", "b", "c"]]),
    ],
)
def test_circles(graph: dict[str, set[str]], expected: list[list[str]]) -> None:
    assert circles(graph) == expected


def test_a_circle_of_folders_without_a_circle_of_modules() -> None:
    graph = {"p.a.one": {"p.b.one"}, "p.b.one": set[str](), "p.b.two": {"p.a.two"}, "p.a.two": set[str]()}
    assert circles(graph) == []
    assert circles(folder_graph(graph, 2)) == [["p.a", "p.b"]]


@pytest.mark.parametrize(
    ("test", "module"),
    [
        ("tests/p/f/test_score.py", "p/f/score.py"),
        ("tests/p/f/test_score_killed.py", "p/f/score.py"),
        ("tests/p/f/test_score_table.py", "p/f/score_table.py"),
        ("tests/p/f/test_f.py", "p/f/__init__.py"),
        ("tests/p/f/test_scores.py", None),
        ("tests/p/test_score.py", None),
    ],
)
def test_where_a_test_stands(test: str, module: str | None) -> None:
    modules = {PurePosixPath("p/f/score.py"), PurePosixPath("p/f/score_table.py")}
    assert structure.mirrored(PurePosixPath(test), modules) == (PurePosixPath(module) if module else None)
