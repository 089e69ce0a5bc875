"""The digest of a class from a notebook changes with its code, and with what it uses of its own cell."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.editors.own_code import code_digest

CELL = """
import functools
PREFIX = "a"
TABLE = (1, (2, 3))
memo = {}

def helper(text, loud=False, *, more=0):
    memo[str(text)] = 1
    return [PREFIX + one for one in text]

class Base:
    def edit(self, requests):
        return helper(requests)

class Mine(Base):
    rate = 0.5

    @functools.cache
    def size(self):
        return len(TABLE) if "y" in {"y", "z"} else 2

    @property
    def notes(self):
        return super().notes
"""


def made(cell: str) -> type:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(cell, names)
    return names["Mine"]


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("class Base", "# a comment\n\nclass Base", True),
        ("import functools", "import functools, os\nother = 3", True),
        ("rate = 0.5", "rate = 0.4", False),
        ("super().notes", "super().other", False),
        ("else 2", "else 3", False),
        ('"y" in {"y", "z"}', '"y" in {"y", "w"}', False),
        ("return helper(requests)", "return helper(requests[:1])", False),
        ("loud=False", "loud=True", False),
        ("PREFIX + one", "one + PREFIX", False),
        ('PREFIX = "a"', 'PREFIX = "b"', False),
        ("(2, 3)", "(2, 4)", False),
        ("more=0", "more=1", False),
        ("memo = {}", "memo = {1: 2}", True),
    ],
)
def test_a_change_of_the_code_changes_the_digest(old: str, new: str, same: bool) -> None:
    assert old in CELL
    assert (code_digest(made(CELL)) == code_digest(made(CELL.replace(old, new)))) == same


def test_what_a_class_takes_from_the_function_around_it_counts() -> None:
    def make(prefix: str) -> type:
        class Mine:
            def edit(self) -> str:
                return prefix

        return Mine

    assert code_digest(make("a")) == code_digest(make("a")) != code_digest(make("b"))
