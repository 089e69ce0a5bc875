"""What commands that read a finished run are told alike: which of its metrics, and how they are normalised."""

from __future__ import annotations

from typing import Any, TypeVar

import click

F = TypeVar("F")


def metrics_option(command: F) -> F:
    """``--metrics``: the parameter ``metrics``, a tuple of names; empty where none is given."""
    option = click.option(
        "--metrics",
        metavar="A,B",
        default="",
        help="Only these metrics of the run.",
        callback=lambda context, option, value: tuple(n.strip() for n in value.split(",") if n.strip()),
    )
    return option(command)  # type: ignore[type-var]


def normalisation_option(command: F) -> F:
    """``--normalisation``: the parameter ``normalisation``; None where it is that of the run."""
    text = "Normalisation, if not that of the run."
    choice: Any = click.Choice(["mean", "sum"])
    return click.option("--normalisation", type=choice, help=text)(command)  # type: ignore[type-var]
