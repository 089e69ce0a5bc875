"""The command tree, for tests: any command or group by its words."""

from __future__ import annotations

import json
from typing import Any

import click
from click.testing import CliRunner

import scedit.commands
from scedit.command_table import walk


def command(words: str) -> click.Command:
    """A command or group, such as ``store dedup`` or ``split errata``.

    Raises:
        UsageError: there is none.
    """
    cli: click.Command = scedit.commands.cli
    for word in words.split():
        assert isinstance(cli, click.Group), words
        below = cli.get_command(click.Context(cli), word)
        assert below is not None, words
        cli = below
    return cli


def invoke(*words: object) -> str:
    """What a command line prints; an error of it is raised."""
    line = [str(word) for word in words]
    return CliRunner().invoke(scedit.commands.cli, line, standalone_mode=False, catch_exceptions=False).output


def all_commands() -> dict[str, click.Command]:
    """Every command and group by its words."""
    return walk(scedit.commands.cli)


def json_value(printed: str) -> Any:
    """The one value that a command printed with ``--json``.

    Raises:
        ValueError: there is more than one, something that is no JSON (NaN and Infinity among it), or nothing.
    """

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    return json.loads(printed, parse_constant=refuse)
