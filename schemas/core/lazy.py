"""Public names of a package that are imported when they are first used, so that importing the package costs nothing."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, table: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose public names stand in a table (PEP 562).

    The table is text, as in a registry: it makes no import, and no import circle.

    Args:
        package: The package's ``__name__``.
        table: Public name to ``"module:attribute"``.

    Example:
        >>> get, names = lazy_names("schemas", {"Fact": "schemas.facts:Fact"})
        >>> get("Fact").__name__, "Fact" in names()
        ('Fact', True)
    """

    def get(name: str) -> Any:
        if name not in table:
            near = difflib.get_close_matches(name, table, n=1)
            hint = f"; did you mean '{near[0]}'?" if near and not name.startswith("_") else ""
            raise AttributeError(f"module '{package}' has no attribute '{name}'{hint}", name=name)
        module, _, attribute = table[name].partition(":")
        return getattr(importlib.import_module(module), attribute)

    def names() -> list[str]:
        return sorted({*vars(importlib.import_module(package)), *table})

    return get, names
