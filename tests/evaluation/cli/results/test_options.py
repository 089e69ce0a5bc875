from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from evaluation.cli.results import metrics_option, normalisation_option


@click.command()
@metrics_option
@normalisation_option
def shown(metrics: tuple[str, ...], normalisation: str | None) -> None:
    click.echo(f"{metrics} {normalisation}")


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([], "() None"),
        (["--metrics", " es , s_es,"], "('es', 's_es') None"),
        (["--metrics", ""], "() None"),
        (["--normalisation", "sum"], "() sum"),
    ],
)
def test_names_are_parted_and_nothing_is_none(words: list[str], wanted: str) -> None:
    assert CliRunner().invoke(shown, words).output.strip() == wanted


def test_another_normalisation_is_refused_with_what_is_allowed() -> None:
    refused = CliRunner().invoke(shown, ["--normalisation", "max"])
    assert refused.exit_code == 2 and "'mean', 'sum'" in refused.output
