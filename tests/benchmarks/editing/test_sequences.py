"""The split of a long sequence, its configuration, and the figures of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.case_sources.opening import choose, has_scripts
from curation.shipped import config_path
from curation.splits.split_file import load_split
from evaluation.editors.presets import check_options
from evaluation.runs.config import load_config
from evaluation.runs.refusals import check_sequence
from evaluation.runs.results import load_run
from schemas.core.errors import UserError
from tests.support.report.fading import run

benchmark = pytest.importorskip("benchmarks.editing.sequences", reason="benchmarks are not shipped")


def record(n: int, **more: Any) -> dict[str, Any]:
    fact = {"case_id": n, "prompt": f"Land{n} lies in", "subject": f"Land{n}", "ground_truth": "Asia"}
    rest = {"target_new": "Europe", "rephrase_prompt": f"One finds Land{n} in", "locality_prompt": f"Isle{n} lies in"}
    return {**fact, **rest, "locality_ground_truth": "Asia", **more}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    twice = {"prompt": "Land0 speaks", "subject": "Land0", "ground_truth": "Dutch", "target_new": "Thai"}
    records = [*map(record, range(30)), record(90, **twice), record(91, rephrase_prompt="")]
    (tmp_path / "counterfact-edit.json").write_text(json.dumps(records[:20]))
    (tmp_path / "counterfact-val.json").write_text(json.dumps(records[20:]))
    return tmp_path


def test_the_split_has_scripts_and_facts_one_a_subject(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "runs" / "sequences.jsonl"
    benchmark.main(["split", "--counterfact", str(folder), "--edits", "25", "--out", str(out)])
    split = load_split(out)
    assert f"25 cases, digest {split.digest[:12]}" in capsys.readouterr().out
    assert sum(map(has_scripts, split.cases)) == 10
    subjects = [case.fact.subject.text for case in split.cases]
    assert len(set(subjects)) == len(subjects) == 25
    assert all(case.fact.paraphrases and case.fact.neighbour_prompts for case in split.cases if not has_scripts(case))
    ordered = choose(split, order="scripts_first")
    assert all(map(has_scripts, ordered[:10]))
    again = benchmark.build_split(list(reversed(list(benchmark.counterfact(folder)))), edits=25)
    assert again.digest == split.digest, "drawn by keys, whatever the files' order"


def test_the_configuration_names_methods_that_there_are(folder: Path) -> None:
    config = load_config(config_path(Path("configs/sequences.toml")))
    assert config.regime.sizes == (1, 10, 100, 1000) and config.regime.order == "scripts_first"
    assert len(config.editors) == 20
    for choice in config.editors.values():
        check_options(choice.name, config.model, choice.params, where=choice.name, depth=30)
    with pytest.raises(UserError, match="is to be 1,000 edits long, and the run has 25 cases"):
        check_sequence(config.regime, 25)


def test_figures_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run(tmp_path)
    result = benchmark.figures(load_run(folder))
    assert {(s["method"], s["edits"], s["metric"]) for s in result["scores"]} >= {("push", n, "es") for n in (1, 2, 4)}
    (window,) = result["growth"]["push"]
    assert window["edits"] == [1, 4] and window["processor_seconds"][3] == 4 and window["failed"] == 0
    benchmark.main(["figures", str(folder)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| method | edits | cases | es |") and "| push | 4 | 4 |" in lines[4]
    assert lines[-1].startswith("| push | 1 to 4 |")
    assert json.loads(json.dumps(result)) is not None
