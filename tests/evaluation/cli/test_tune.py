from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from curation.splits.split_file import Split, make_split, write_split
from evaluation.cli.tune import tune as command
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
from tests.support.commands import json_value
from tests.support.evaluation import tuning
from tests.support.evaluation.tuning import SPACE
from tests.support.tiny import make

split = tuning.split


def test_the_command(tmp_path: Path, split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(LM, "load", classmethod(lambda cls, name, **settings: make("llama")))
    write_split(split, tmp_path / "dev.jsonl")
    write_split(make_split("evaluated", [make_case("Land03")]), tmp_path / "evaluated.jsonl")
    (tmp_path / "space.toml").write_text(SPACE)
    words = [
        "--editors",
        "ft",
        "--split",
        str(tmp_path / "dev.jsonl"),
        "--space",
        str(tmp_path / "space.toml"),
        "--budget",
        "12",
    ]
    words += ["--set", "layer=1", "--objective", "es,ns", "--first", "2", "--out", str(tmp_path / "out")]
    outcome = CliRunner().invoke(command, [*words, "--heldout", str(tmp_path / "evaluated.jsonl")])
    assert isinstance(outcome.exception, UserError) and "shares" in str(outcome.exception)
    result = CliRunner().invoke(command, words, catch_exceptions=False)
    assert "of 12 edits, the preset's among them" in result.output
    assert "nothing was checked" in result.output
    output = CliRunner().invoke(command, [*words, "--jsonl", "--heldout", "mini"], catch_exceptions=False)
    assert json.loads(output.stdout)["method"] == "ft"
    output = CliRunner().invoke(command, [*words, "--json", "--heldout", "mini"], catch_exceptions=False)
    (row,) = json_value(output.stdout)
    assert (row["method"], row["budget"]) == ("ft", 12) and "layer" in row["snippet"]
    words[words.index("--split") + 1], words[words.index("--out") + 1] = "shipped", str(tmp_path / "shipped")
    shipped = CliRunner().invoke(command, [*words, "--budget", "4", "--heldout", "mini"], catch_exceptions=False)
    assert "ft: 1 setting on 2 cases; 4 of 4 edits" in shipped.output
    missing = CliRunner().invoke(
        command, ["--editors", "ft", "--split", "nowhere.jsonl", "--out", str(tmp_path / "out")]
    )
    assert isinstance(missing.exception, UserError) and "no split file 'nowhere.jsonl'" in str(missing.exception)


@pytest.mark.parametrize("word", ["em_spec", "em_spec=", "em_spec=much", "em_spec=90", "em_spec=-0.1"])
def test_a_limit_is_a_metric_and_a_share(word: str, tmp_path: Path) -> None:
    words = ["--editors", "ft", "--split", "mini", "--subject-to", word, "--out", str(tmp_path / "out")]
    outcome = CliRunner().invoke(command, words)
    assert isinstance(outcome.exception, UserError)
    assert f"--subject-to: '{word}' names no share that a metric must reach" in str(outcome.exception)


def test_what_is_reported_on_is_not_tuned_on(tmp_path: Path) -> None:
    for name in ("open:test", "open"):
        words = ["--editors", "ft", "--split", name, "--out", str(tmp_path / "out")]
        result = CliRunner().invoke(command, words)
        assert isinstance(result.exception, UserError) and not (tmp_path / "out").exists()
        assert str(result.exception).startswith(f"--split {name}: ") and "a case of open:test" in str(result.exception)
