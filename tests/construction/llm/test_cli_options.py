from __future__ import annotations

import json

import click
import pytest
from click.testing import CliRunner

from construction.llm.cli_options import calls_in_words, model_options, refuse_unanswered
from schemas.core.errors import UserError


def test_every_asking_command_gets_one_access():
    @click.command()
    @click.option("--other", default=1)
    @model_options
    def ask(access, other):
        click.echo(json.dumps([access.model, access.rpm, access.max_cost, access.batch, access.key_name, other]))

    result = CliRunner().invoke(ask, ["--model", "m", "--rpm", "60", "--max-cost", "2", "--batch", "--other", "7"])
    assert json.loads(result.output) == ["m", 60.0, 2.0, True, "OPENAI_API_KEY", 7]
    assert CliRunner().invoke(ask, ["--rpm", "0"]).exit_code == 2


def test_an_estimate_in_words_counts_correctly_and_has_dollars_only_where_a_price_is_known():
    assert calls_in_words(1, 1, 0, None) == "1 call, about 1 token in and 0 out"
    assert calls_in_words(0, 12345, 1000, 0.0) == "0 calls, about 12,345 tokens in and 1,000 out, $0.0000"


def test_a_command_with_calls_unanswered_ends_in_an_error():
    refuse_unanswered(0, "text")
    with pytest.raises(UserError, match="1 rating without an answer so far; give the same command again"):
        refuse_unanswered(1, "rating")
    with pytest.raises(UserError, match="2 texts without"):
        refuse_unanswered(2, "text")
