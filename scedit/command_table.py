"""A tree of commands that is known without importing them: help is instant, a command is imported when it is called.

``scedit/commands.py`` holds the table; this file makes it a tree of click groups and is imported there alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import click


class Command(NamedTuple):
    """A command: where it is ("module:attribute") and the line that lists it."""

    target: str
    about: str


class Group(NamedTuple):
    """A group of commands: the line that lists it and an example line of one of its commands."""

    about: str
    example: str


Table = Mapping[str, Command | Group]


class LazyGroup(click.Group):
    """A group whose commands' names and one-line helps stand in a table.

    Args:
        name: Name of the group.
        table: All commands and groups of the tree by their words, such as ``"store dedup"``.
        path: The words that lead to this group.
        stages: Headings of the list of commands, with the names under each; one list without them.
        attrs: What ``click.Group`` takes.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        table: Table,
        path: str = "",
        stages: Mapping[str, Sequence[str]] | None = None,
        **attrs: Any,
    ) -> None:
        super().__init__(name, **attrs)
        self.table, self.path, self.stages = table, path, stages or {}
        start = f"{path} " if path else ""
        self.entries = {
            words.removeprefix(start): entry
            for words, entry in table.items()
            if words.startswith(start) and " " not in words.removeprefix(start)
        }

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table."""
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command, or make one group.

        Raises:
            UsageError: no such command; one sentence with the nearest name.
        """
        entry = self.entries.get(cmd_name)
        if entry is None and ctx.resilient_parsing:  # the shell asks for completions
            return None
        if entry is None:
            raise click.UsageError(self._unknown_command_text(cmd_name), ctx)
        if isinstance(entry, Group):
            path = f"{self.path} {cmd_name}".strip()
            return LazyGroup(
                cmd_name, table=self.table, path=path, help=entry.about, epilog=f"Example: scedit {entry.example}"
            )
        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        command.name = cmd_name
        return command

    def _unknown_command_text(self, name: str) -> str:
        from schemas.core.registry import suggest

        where = f" in 'scedit {self.path}'" if self.path else ""
        elsewhere = sorted((words for words in self.table if words.rpartition(" ")[2] == name), key=_depth)
        near = suggest(name, list(self.entries))
        if elsewhere:
            hint = f" There is 'scedit {elsewhere[0]}'."
        else:
            hint = f" Did you mean '{near}'?" if near else ""
        return f"No such command '{name}'{where}.{hint} Commands: {', '.join(self.entries)}."

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the lists from the table, not from the imported commands."""
        for heading, names in (self.stages or {"Commands": tuple(self.entries)}).items():
            with formatter.section(heading):
                formatter.write_dl([(name, self.entries[name].about) for name in names])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Names for the shell's completion, with their help from the table: nothing is imported."""
        from click.shell_completion import CompletionItem

        completions = [CompletionItem(n, help=e.about) for n, e in self.entries.items() if n.startswith(incomplete)]
        return completions + click.Command.shell_complete(self, ctx, incomplete)


def _depth(words: str) -> int:
    """How many groups a command stands in."""
    return words.count(" ")


def walk(group: click.Group) -> dict[str, click.Command]:
    """All commands and groups below a group by their words; imports them.

    Example:
        >>> tree = LazyGroup(table={"store": Group("Look into a store.", "store list fact -s my.duckdb")})
        >>> list(walk(tree))
        ['store']
    """
    ctx = click.Context(group)
    path = group.path if isinstance(group, LazyGroup) else ""
    commands: dict[str, click.Command] = {}
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        assert command is not None
        commands[f"{path} {name}".strip()] = command
        if isinstance(command, click.Group):
            commands |= walk(command)
    return commands
