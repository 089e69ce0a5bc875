"""Folders, files and functions stay small, modules do not import each other in a circle, a class name is used once."""

from __future__ import annotations

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
}


@pytest.mark.parametrize("rule", structure.RULES)
def test_nothing_breaks_a_rule(rule: str) -> None:
    names = sorted(structure.RULES[rule]())
    assert not names, f"{rule}: {MEND[rule]}: {', '.join(names)}"


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
