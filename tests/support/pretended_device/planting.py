"""Faults planted in copies of our functions: the copy is compiled from the changed source and stands in its place."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from types import ModuleType
from typing import Any

import pytest


def plant(monkeypatch: pytest.MonkeyPatch, owner: type | ModuleType, name: str, *, old: str, new: str) -> None:
    """Put a copy of ``owner.name`` with ``new`` for ``old`` in its place, in every module of ours that imported it.

    Lines keep their numbers, so a refusal names the line of the real file.

    Args:
        monkeypatch: Takes the copy away again.
        owner: A module or class of ours. ``name``: of its function or method.
        old: Text that stands in its source once. ``new``: of as many lines.
    """
    real = inspect.getattr_static(owner, name)
    function = inspect.unwrap(real.__func__ if isinstance(real, classmethod | staticmethod) else real)
    lines, first = inspect.getsourcelines(function)
    source = textwrap.dedent("".join(lines))
    assert source.count(old) == 1 and old.count("\n") == new.count("\n"), f"{name}: {source.count(old)} places"
    tree = ast.increment_lineno(ast.parse(source.replace(old, new)), first - 1)
    space: dict[str, Any] = {}
    exec(
        compile(tree, function.__code__.co_filename, "exec", dont_inherit=True, flags=_FUTURE),
        function.__globals__,
        space,
    )
    if isinstance(owner, type):
        monkeypatch.setattr(owner, name, space[name])
        return
    for module in [m for key, m in list(sys.modules.items()) if key.startswith("evaluation.") and m is not None]:
        if vars(module).get(name) is real:
            monkeypatch.setattr(module, name, space[name])


_FUTURE = __import__("__future__").annotations.compiler_flag
