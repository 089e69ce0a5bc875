from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from evaluation.cli.reproduce import reproduce as command
from evaluation.reproduction.comparison import (
    published_tables,
)
from schemas.core.errors import UserError
from tests.support.report import published_figures

folder = published_figures.folder


def test_command_lists_shows_and_prints_json(folder):
    listed = CliRunner().invoke(command, [], catch_exceptions=False).stdout
    assert all(n in listed for n in published_tables())
    shown = CliRunner().invoke(command, ["scedit-table2", str(folder)], catch_exceptions=False).stdout
    assert "impossible interval, should be 0.53" in shown and "not comparable" in shown and "MISSING" in shown
    lines = CliRunner().invoke(command, ["scedit-table5", "--jsonl"], catch_exceptions=False).stdout.splitlines()
    data = [json.loads(x) for x in lines]
    assert [x["printed"]["value"] for x in data if "printed" in x] == [0.59, 0.35, -0.09, 0.25]
    assert any("need" in x for x in data)
    with pytest.raises(UserError, match="name the run too"):
        CliRunner().invoke(command, ["scedit-table3", "--store", "x.duckdb"], catch_exceptions=False)
