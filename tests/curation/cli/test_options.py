"""The shared options: names, one JSON value or lines, and what a command that fails half-way leaves."""

from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner, Result

from curation.cli.options import (
    TEXTS,
    editors_option,
    json_options,
    limit_option,
    names_of,
    store_option,
)
from schemas.core.errors import UserError


@click.command()
@editors_option()
@limit_option(also="things.")
@store_option(required=False)
@json_options
def tool(editors: tuple[str, ...], limit: int | None, store_path: object, as_json: bool) -> None:
    if not as_json:
        click.echo(f"{editors} {limit}")
        return
    for n, name in enumerate(editors):
        if name == "fail":
            raise UserError("half-way")
        click.echo(json.dumps({"n": n, "name": f"{name}\n{{"}))


def call(*words: str) -> Result:
    return CliRunner().invoke(tool, words)


@pytest.mark.parametrize(
    ("values", "names"),
    [
        (["a,b"], ("a", "b")),
        (["a", "b"], ("a", "b")),
        ([" a , b,", "a"], ("a", "b")),
        ([], ()),
    ],
)
def test_names_may_be_divided_by_commas_or_given_again(values: list[str], names: tuple[str, ...]) -> None:
    assert names_of(tuple(values)) == names
    assert call(*[x for v in values for x in ("--editors", v)]).output == f"{names} None\n"


@pytest.mark.parametrize("value", ["", ",", " , "])
def test_an_option_that_names_nothing_is_refused(value: str) -> None:
    result = call("--editors", value)
    assert result.exit_code == 2 and "names no method" in result.output


@pytest.mark.parametrize("names", ["", "a", "a,b", "a,b,c"])
def test_json_is_one_value_and_jsonl_is_lines(names: str) -> None:
    words = ["--editors", names] if names else []
    rows = [json.loads(line) for line in call(*words, "--jsonl").output.splitlines()]
    assert json.loads(call(*words, "--json").output) == rows
    assert [r["name"] for r in rows] == [f"{n}\n{{" for n in names.split(",") if n]


def test_a_failure_closes_the_array_and_one_before_the_first_row_prints_nothing() -> None:
    late = call("--editors", "a,fail", "--json")
    assert isinstance(late.exception, UserError) and json.loads(late.stdout)[0]["n"] == 0
    early = call("--editors", "fail", "--json")
    assert isinstance(early.exception, UserError) and early.stdout == ""


def test_both_forms_at_once_are_refused() -> None:
    result = call("--json", "--jsonl")
    assert result.exit_code == 2 and "give --json or --jsonl, not both" in result.output


def test_standard_output_is_restored() -> None:
    import sys

    before = sys.stdout
    call("--editors", "fail", "--json")
    assert sys.stdout is before


@pytest.mark.parametrize("limit", ["0", "-1", "many"])
def test_a_limit_is_a_positive_number(limit: str) -> None:
    assert call("--limit", limit).exit_code == 2


def test_texts_are_sentences() -> None:
    assert all(name.startswith("--") and text[0].isupper() and text[-1] in ".):" for name, text in TEXTS.items())
