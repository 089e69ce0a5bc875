"""The forgetting curve against hand-worked journals, and its command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evaluation.analysis.forgetting_curve import ForgettingPoint, forgetting_curve
from evaluation.cli import run as commands
from evaluation.cli.results.forgetting import forgetting as command
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import load_run
from schemas.core.errors import UserError
from tests.evaluation.cli import test_run as test_commands
from tests.support.arithmetic import unfinish
from tests.support.report.fading import SEQUENCE, run

place = test_commands.place  # a fixture: configuration, split and tiny model


def curve(out: Path) -> list[ForgettingPoint]:
    return forgetting_curve(load_run(out), load_metrics(["es"]), "mean")


def test_hand_worked(tmp_path: Path) -> None:
    """Edits 1 and 2 succeed on the spot; from the third on the object is lowered, for earlier cases too."""
    points = curve(run(tmp_path))
    assert [(p.label, p.metric, p.edits) for p in points] == [("push", "es", 1), ("push", "es", 2), ("push", "es", 4)]
    one, two, four = points
    assert (one.all.mean, one.new.mean, one.lost.mean, one.latest) == (1.0, 1.0, 0.0, 1.0)
    assert (two.all.mean, two.new.mean, two.lost.mean, two.latest) == (1.0, 1.0, 0.0, 1.0)
    assert (four.all.mean, four.new.mean, four.lost.mean, four.latest) == (0.0, 0.5, -0.5, 0.0)
    assert [p.all.n for p in points] == [1, 2, 4] == [p.new.n for p in points]


@pytest.mark.parametrize(("score", "edits", "new"), [("end", [1, 2, 4], [1, 1, 1]), ("immediate", [1], [1])])
def test_what_was_not_asked_is_in_no_mean(score: str, edits: list[int], new: list[int], tmp_path: Path) -> None:
    """Without asking on the spot, only the last case of each length has a value right after its own edit."""
    points = curve(run(tmp_path, regime={**SEQUENCE, "score": score}))
    assert [p.edits for p in points] == edits
    if score == "end":
        assert [p.new.n for p in points] == [1, 2, 3], "cases 1, 2 and 4 were asked right after their edits"


def test_a_length_half_asked_is_left_out(tmp_path: Path) -> None:
    (journal,) = [j for j in run(tmp_path).glob("*/journal.jsonl") if '"after":4' in j.read_text().replace(" ", "")]
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-1]))
    unfinish(tmp_path)
    assert [p.edits for p in curve(tmp_path)] == [1, 2]


def test_another_regime_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the run's regime is 'single'"):
        curve(run(tmp_path, regime="single"))


def test_from_the_run_to_the_curve(place: Path) -> None:
    words = ["--set", "regime.name=sequential", "--set", "regime.size=[1, 4]", "--engine", "simple", "--editors", "ft"]
    outcome = CliRunner().invoke(commands.run, [str(place / "run.toml"), *words], catch_exceptions=False)
    assert outcome.exit_code == 0
    output = CliRunner().invoke(command, [str(place / "run"), "--jsonl"], catch_exceptions=False)
    lines = [json.loads(line) for line in output.stdout.splitlines()]
    assert {(x["label"], x["metric"], x["edits"]) for x in lines} >= {("ft", "es", 1), ("ft", "es", 4)}
    result = CliRunner().invoke(commands.run, [str(place / "run.toml"), *words, "--jsonl"], catch_exceptions=False)
    assert {json.loads(x)["computed"] for x in result.stdout.splitlines()} == {0}, "the engine is no part of a run's id"


def test_ray_is_refused_where_edits_build_on_each_other(place: Path) -> None:
    words = ["--engine", "ray", "--workers", "2", "--address", "ray://nowhere:1", "--set", "regime=sequential"]
    with pytest.raises(UserError, match="edits build on each other"):
        CliRunner().invoke(commands.run, [str(place / "run.toml"), *words], catch_exceptions=False)
