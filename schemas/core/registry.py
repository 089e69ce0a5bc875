"""Named components, found among what is installed and loaded when asked for.

A package declares its components in its pyproject.toml, ours as anybody's:

    [project.entry-points."scedit.editor"]
    rome = "evaluation.editors.locate_edit.rome:Rome"
"""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from importlib.metadata import Distribution, EntryPoint, distributions
from operator import attrgetter
from typing import Any

from schemas.core.errors import UserError

_INSTALL = "install {} again: make setup, or pip install -e ."


def entry_points(*, group: str) -> list[EntryPoint]:
    """What installed packages declare in a group ``scedit.<kind>``; they are looked through once a process.

    A folder that comes to ``sys.path`` later is looked through too; a package that is installed into a folder that was
    looked through already is found by the next process.
    """
    return [point for point in _own_entry_points(tuple(sys.path)) if point.group == group]


@lru_cache(maxsize=1)
def _own_entry_points(path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """The entry points of every group of ours, of what is installed in the folders of ``sys.path``.

    A checkout may hold the ``egg-info`` that an earlier installation left in it. Python finds that first when it runs
    in the checkout, and would not look further: what is installed goes before it.
    """
    chosen: dict[str, Distribution] = {}
    for package in distributions():
        if "scedit." in (package.read_text("entry_points.txt") or ""):
            other = chosen.setdefault(package.name.casefold(), package)
            if other.read_text("WHEEL") is None and package.read_text("WHEEL") is not None:
                chosen[package.name.casefold()] = package
    points = (point for package in chosen.values() for point in package.entry_points)
    return tuple(point for point in points if point.group.startswith("scedit."))


def suggest(name: str, known: list[str]) -> str | None:
    """The known name nearest to a mistyped one; None where none is alike.

    Example:
        >>> suggest("rmoe", ["rome", "ft"]), suggest("nope", ["collapse", "s_bo"])
        ('rome', None)
    """
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return near[0] if near else None


def check_choice(name: str, known: Iterable[str], what: str) -> None:
    """Refuse a name that is not known, with the nearest one.

    Raises:
        UserError: such a name.
    """
    names = list(known)
    if name not in names:
        near = suggest(name, names)
        fix = f"did you mean '{near}'?" if near else None
        raise UserError(f"unknown {what} '{name}'", allowed=", ".join(names), fix=fix)


class Registry:
    """All components of one kind, by name: what installed packages declare in the entry-point group ``scedit.<kind>``.

    Args:
        kind: The kind, as in the group's name.
        shipped: Names that come with this toolkit, in the order in which they are listed and run. Others follow in
            alphabetical order. One that no installed package declares means that the installation is out of date.
        listing: The command that lists them all, where they are too many for a message.

    Example:
        >>> "rome" in Registry("editor").names()
        True
    """

    def __init__(
        self,
        kind: str,
        shipped: Sequence[str] = (),
        *,
        listing: str | None = None,
    ) -> None:
        self.kind, self._shipped, self._listing = kind, tuple(shipped), listing
        self._added: dict[str, Any] = {}

    def add(self, name: str, component: Any) -> None:
        """A component of this process alone, such as a class written in a notebook; added again, it is replaced.

        Raises:
            UserError: an installed package has the name.
        """
        if name in self._points:
            raise UserError(f"the {self.kind} '{name}' is there already", fix="give yours another name")
        self._added[name] = component

    def is_added(self, name: str) -> bool:
        """Whether it is a component of this process alone."""
        return name in self._added

    @cached_property
    def _points(self) -> dict[str, EntryPoint]:
        points: dict[str, EntryPoint] = {}
        for point in entry_points(group=f"scedit.{self.kind}"):
            other = points.setdefault(point.name, point)
            if (_package(other), other.value) != (_package(point), point.value):
                raise UserError(
                    f"two packages register the {self.kind} '{point.name}': {_package(other)} ({other.value}) and "
                    f"{_package(point)} ({point.value})",
                    fix="uninstall one of them",
                )
        missing = [name for name in self._shipped if name not in points]
        if missing:
            raise UserError(
                f"the installed scedit is older than its code: no {self.kind} '{missing[0]}'", fix=_INSTALL.format("it")
            )
        return {name: points[name] for name in (*self._shipped, *sorted(points.keys() - set(self._shipped)))}

    def names(self) -> list[str]:
        """Registered names, ours first and in our order; loads nothing.

        Raises:
            UserError: a name is registered twice, or the installation is out of date.
        """
        return [*self._points, *self._added]

    def get(self, name: str) -> Any:
        """The component itself, by its name; imports its module.

        Raises:
            UserError: for an unknown name, with the nearest names, and the whole list or the command that shows it; or
                what is registered is not where the installed package says.
        """
        if name in self._added:
            return self._added[name]
        if self._listing is None:
            check_choice(name, self.names(), self.kind)
        elif name not in self._points:
            raise self._unknown_error(name)
        point = self._points[name]
        try:
            module = importlib.import_module(point.module)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{point.module}.".startswith(f"{error.name}."):
                raise
            raise self._moved_error(point) from None
        try:
            return attrgetter(point.attr)(module)
        except AttributeError:
            raise self._moved_error(point) from None

    def _unknown_error(self, name: str) -> UserError:
        nearest = [f"'{n}'" for n in difflib.get_close_matches(name, self.names(), n=3)]
        fix = f"did you mean {' or '.join(nearest)}? All of them: " if nearest else "all of them: "
        return UserError(f"unknown {self.kind} '{name}'", fix=f"{fix}{self._listing}")

    def _moved_error(self, point: EntryPoint) -> UserError:
        what = f"{_package(point)} registers the {self.kind} '{point.name}' as {point.value}, which is not there"
        return UserError(what, fix=_INSTALL.format(_package(point)))


def _package(point: EntryPoint) -> str:
    """The package that declares a component."""
    return point.dist.name if point.dist is not None else point.module.partition(".")[0]
