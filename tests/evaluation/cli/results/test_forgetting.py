from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from evaluation.cli.results import forgetting as command
from tests.support.arithmetic import go
from tests.support.report.fading import run


def test_command(tmp_path: Path) -> None:
    run(tmp_path)
    result = CliRunner().invoke(command, [str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0 and "\N{MINUS SIGN}50.0" in result.stdout.splitlines()[3]
    outcome = CliRunner().invoke(command, [str(tmp_path), "--jsonl", "--metrics", "es"], catch_exceptions=False)
    lines = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [line["lost"]["mean"] for line in lines] == [0.0, 0.0, -0.5]
    everything = lines[2]["all"]
    assert {k: everything[k] for k in ("mean", "half_width_95", "cases")} == {
        "mean": 0.0,
        "half_width_95": None,
        "cases": 4,
    }
    assert everything["low_95"] is everything["high_95"] is None, "four cases are too few for an interval"


def test_metrics_over_written_texts_are_read_as_they_were_asked(tmp_path: Path) -> None:
    """Their probes depend on how the run had texts written."""
    run(tmp_path, metrics=["es", "s_es_gen"], generation={"step_tokens": 7})
    result = CliRunner().invoke(command, [str(tmp_path), "--jsonl"], catch_exceptions=False)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert {line["metric"] for line in lines} == {"es", "s_es_gen"}
    assert all(line["all"]["mean"] is not None for line in lines)


def test_a_run_of_several_batch_sizes(tmp_path: Path) -> None:
    go(tmp_path, metrics=["es"], regime={"name": "batch", "size": [1, 3]})
    result = CliRunner().invoke(command, [str(tmp_path)], catch_exceptions=False)
    head, *rows, last = result.stdout.splitlines()
    assert "made together" in head and "with the fewest" in head and "every size has" in last
    assert [row.split()[:3] for row in rows] == [["push", "es", "1"], ["push", "es", "3"]]
    assert rows[0].split()[-2:] == ["\N{EN DASH}"] * 2 and rows[1].rstrip().endswith("]"), "not with itself"
    outcome = CliRunner().invoke(command, [str(tmp_path), "--jsonl"], catch_exceptions=False)
    assert [json.loads(line)["edits"] for line in outcome.stdout.splitlines()] == [1, 3]


def test_the_model_itself_along_a_sequence(tmp_path: Path) -> None:
    run(tmp_path)
    shown = CliRunner().invoke(command, [str(tmp_path), "--states"], catch_exceptions=False).stdout.splitlines()
    assert shown[0].split()[:3] == ["Method", "Edits", "Perplexity"] and [line.split()[1] for line in shown[1:4]] == [
        "1",
        "2",
        "4",
    ]
    assert shown[-1].startswith("Perplexity of 24 plain texts")
    outcome = CliRunner().invoke(command, [str(tmp_path), "--states", "--jsonl"], catch_exceptions=False)
    states = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [(s["edits"], s["made"], s["perplexity"]["cases"]) for s in states] == [(1, 1, 24), (2, 1, 24), (4, 2, 24)]
    assert states[2]["seconds"]["mean"] > 0 and states[2]["norms"] == []
