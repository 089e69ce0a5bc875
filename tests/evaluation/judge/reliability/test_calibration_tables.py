"""A calibration in print: families apart, null methods no rivals, refusals explained."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from evaluation.cli.calibrate import calibrate as command
from tests.support.evaluation.calibrated import study

EDITORS = ("boost", "ft", "none", "rome")


def gaps(store: Path, *more: str) -> dict[str, list[tuple[str, str]]]:
    result = CliRunner().invoke(command, [str(store), "--json", *more])
    assert result.exit_code == 0, result.output
    out: dict[str, list[tuple[str, str]]] = {"among": [], "against": []}
    for gap in json.loads(result.stdout)["gaps"]:
        out[gap["family"]].append((gap["first"], gap["second"]))
    return out


def test_null_methods_are_no_rivals(tmp_path: Path) -> None:
    """They stood in one family with the methods: "boost less rome" was compared, and Holm was stricter for all."""
    store = tmp_path / "s.duckdb"
    study(store, facts=12, editors=EDITORS)
    assert gaps(store) == {
        "among": [("ft", "rome")],
        "against": [("boost", "none"), ("ft", "none"), ("rome", "none")],
    }
    assert gaps(store, "--against", "rome") == {"among": [("ft", "rome")], "against": [("rome", "none")]}, (
        "against rome: each less rome"
    )
    assert gaps(store, "--against", "boost") == {"among": [], "against": [("boost", "none")]}
    text = CliRunner().invoke(command, [str(store)]).stdout
    pairs, plain = text.split("Methods less no edit")
    assert "ft (gpt2-xl) less rome" in pairs and "boost" not in pairs.split("Differences between methods")[1]
    assert "boost (gpt2-xl) less none (gpt2-xl)" in plain


def test_a_family_is_corrected_by_itself(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    study(store, facts=12, editors=EDITORS)
    result = json.loads(CliRunner().invoke(command, [str(store), "--json"]).stdout)["gaps"]
    (pair,) = [g for g in result if g["family"] == "among"]
    assert pair["p"] == pair["difference"]["p"], "one question, no correction"
