"""The command tree, for tests: any command or group by its words."""

from __future__ import annotations

import click

import scedit
from curation.cli.command_table import walk


def command(words: str) -> click.Command:
    """A command or group, such as ``store dedup`` or ``split errata``.

    Raises:
        UsageError: there is none.
    """
    cli: click.Command = scedit.cli
    for word in words.split():
        assert isinstance(cli, click.Group), words
        below = cli.get_command(click.Context(cli), word)
        assert below is not None, words
        cli = below
    return cli


def all_commands() -> dict[str, click.Command]:
    """Every command and group by its words."""
    return walk(scedit.cli)
