"""``scedit results item-analysis``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evaluation.cli.results import item_analysis as command
from tests.evaluation.report.test_html_page import finished
from tests.support.arithmetic import make_cases

METHODS = [{"name": "push", "label": f"push {n}", "params": {"strength": 0.2 * n}} for n in (1, 2, 3)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(finished(tmp_path_factory.mktemp("three"), editors=METHODS, split=make_cases(6, 0)))


def test_text_and_json_say_the_same(folder: Path) -> None:
    result = CliRunner().invoke(command, [str(folder), "--draws", "20"], catch_exceptions=False)
    assert result.exit_code == 0 and "S-ES, 6 cases in common, best first:" in result.stdout
    assert "S-NS, 6 cases in common" in result.stdout and "of 20 divisions" in result.stdout
    data = CliRunner().invoke(command, [str(folder), "--draws", "20", "--json"], catch_exceptions=False)
    s_es, s_ns = json.loads(data.stdout)
    assert (s_es["metric"], s_ns["metric"], s_es["cases"]) == ("s_es", "s_ns", 6)
    assert set(s_es["means"]) == {"push 1", "push 2", "push 3"}
    assert sum(s_es["items"]["passed_by"]) == s_es["items"]["items"] == 12
    assert f"no method passes {s_es['items']['passed_by'][0]}" in result.stdout


def test_too_few_methods_are_refused_with_what_to_do(tmp_path: Path) -> None:
    two = finished(tmp_path, editors=METHODS[:2], split=make_cases(4, 0))
    result = CliRunner().invoke(command, [str(two)])
    assert result.exit_code != 0 and "at least 3 methods" in str(result.exception)
