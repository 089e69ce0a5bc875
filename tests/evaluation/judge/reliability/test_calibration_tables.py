"""A calibration in print: families apart, null methods no rivals, refusals explained."""

from __future__ import annotations

import json
import re
from pathlib import Path

from click.testing import CliRunner

from evaluation.cli.judge import calibrate as command
from tests.support.evaluation.calibrated import study

EDITORS = ("boost", "ft", "none", "rome")


def gaps(store: Path, *more: str) -> dict[str, list[tuple[str, str]]]:
    result = CliRunner().invoke(command, [str(store), "--json", *more])
    assert result.exit_code == 0, result.output
    out: dict[str, list[tuple[str, str]]] = {"among": [], "against": [], "null": []}
    for gap in json.loads(result.stdout)["gaps"]:
        out[gap["family"]].append((gap["first"], gap["second"]))
    return out


def test_null_methods_are_no_rivals(tmp_path: Path) -> None:
    """They stood in one family with the methods: "boost less rome" was compared, and Holm was stricter for all."""
    store = tmp_path / "s.duckdb"
    study(store, facts=12, editors=EDITORS)
    assert gaps(store) == {
        "among": [("ft", "rome")],
        "against": [("ft", "none"), ("rome", "none")],
        "null": [("boost", "none")],
    }
    rome = {"among": [("ft", "rome")], "against": [("rome", "none")], "null": []}
    assert gaps(store, "--against", "rome") == rome, "against rome: each less rome"
    assert gaps(store, "--against", "boost") == {"among": [], "against": [], "null": [("boost", "none")]}
    text = CliRunner().invoke(command, [str(store)]).stdout
    pairs, plain, controls = re.split("(?:M|Null m)ethods less no edit", text)
    assert "ft (gpt2-xl) less rome" in pairs and "boost" not in pairs.split("Differences between methods")[1]
    assert "boost (gpt2-xl) less none (gpt2-xl)" in controls and "boost" not in plain


def test_a_family_is_corrected_by_itself(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    study(store, facts=12, editors=EDITORS)
    result = json.loads(CliRunner().invoke(command, [str(store), "--json"]).stdout)["gaps"]
    (pair,) = [g for g in result if g["family"] == "among"]
    assert pair["p"] == pair["difference"]["p"], "one question, no correction"
