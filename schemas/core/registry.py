"""Named components, loaded when asked for: a table maps a name to "module:Class" as text."""

from __future__ import annotations

import difflib
import importlib
from importlib.metadata import entry_points
from typing import Any

from schemas.core.errors import UserError


def suggest(name: str, known: list[str]) -> str | None:
    """The known name nearest to a mistyped one.

    Example:
        >>> suggest("rmoe", ["rome", "ft"])
        'rome'
    """
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return near[0] if near else None


class Registry:
    """A table of one kind of component. Others add theirs through the entry-point group ``scedit.<kind>``.

    Example:
        >>> Registry("editor", {"rome": "evaluation.editors.locate_edit.rome:Rome"}).names()
        ['rome']
    """

    def __init__(self, kind: str, table: dict[str, str]) -> None:
        self.kind = kind
        self._table = dict(table)
        self._extended = False

    def _all(self) -> dict[str, str]:
        if not self._extended:
            for point in entry_points(group=f"scedit.{self.kind}"):
                if point.name in self._table and self._table[point.name] != point.value:
                    raise UserError(
                        f"two packages register the {self.kind} '{point.name}'", fix="uninstall one of them"
                    )
                self._table[point.name] = point.value
            self._extended = True
        return self._table

    def names(self) -> list[str]:
        """Registered names in order of registration; loads nothing."""
        return list(self._all())

    def get(self, name: str) -> Any:
        """The component itself; imports its module.

        Raises:
            UserError: for an unknown name, with the nearest names and the whole list.
        """
        table = self._all()
        if name not in table:
            near = suggest(name, list(table))
            raise UserError(
                f"unknown {self.kind} '{name}'",
                allowed=", ".join(table),
                fix=f"did you mean '{near}'?" if near else None,
            )
        module, _, attribute = table[name].partition(":")
        return getattr(importlib.import_module(module), attribute)
