from __future__ import annotations

import json

import click
from click.testing import CliRunner

from construction.llm.cli_options import model_options


def test_every_asking_command_gets_one_access():
    @click.command()
    @click.option("--other", default=1)
    @model_options
    def ask(access, other):
        click.echo(json.dumps([access.model, access.rpm, access.max_cost, access.batch, access.key_name, other]))

    result = CliRunner().invoke(ask, ["--model", "m", "--rpm", "60", "--max-cost", "2", "--batch", "--other", "7"])
    assert json.loads(result.output) == ["m", 60.0, 2.0, True, "OPENAI_API_KEY", 7]
    assert CliRunner().invoke(ask, ["--rpm", "0"]).exit_code == 2
