"""Parts of a run for array jobs: merged, they equal an undivided run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evaluation.analysis.comparison import compare
from evaluation.metrics.generation import load_metrics
from evaluation.runs.config import RunConfig, with_part
from evaluation.runs.frame import score_run
from evaluation.runs.merge_parts import merge_parts
from evaluation.runs.results import Run, load_run
from schemas.core.errors import UserError
from tests.support.arithmetic import answers, go, make_config, unfinish

FAILING = [{"name": "push", "params": {"fail": ["Land01"]}}, {"name": "push", "label": "masked", "variant": "masked"}]


def part(folder: Path, which: str, **more: Any) -> Path:
    wanted = with_part(make_config(folder, **{"editors": FAILING, **more}), which)
    go(wanted.out, **{"editors": FAILING, "part": which, **more})
    return wanted.out


def figures(run: Run) -> Any:
    metrics = load_metrics(run.about["metrics"])
    return [(r.label, r.summaries, r.failed) for r in compare(run, score_run(run, metrics, "mean"), metrics)[0].rows]


def test_merged_parts_equal_an_undivided_run_and_are_found_finished(tmp_path: Path) -> None:
    whole, _ = go(tmp_path / "whole", editors=FAILING)
    folders = [part(tmp_path / "parts", f"{n}/3") for n in (3, 1, 2)]
    assert [p.name for p in folders] == ["part-3-of-3", "part-1-of-3", "part-2-of-3"]
    assert [len(load_run(p).editors[0].results) for p in folders] == [2, 2, 2]
    run = merge_parts([str(p) for p in folders], str(tmp_path / "parts"))
    alone = load_run(tmp_path / "whole")
    assert run.cases == alone.cases and run.about["split_digest"] == alone.about["split_digest"]
    assert [e.manifest for e in run.editors] == [e.manifest for e in alone.editors]
    for merged, undivided in zip(run.editors, alone.editors, strict=True):
        assert merged.folder is not None and undivided.folder is not None
        assert list(merged.folder.units()) == list(undivided.folder.units())
        assert answers(merged.folder) == answers(undivided.folder)
    assert figures(run) == figures(alone)
    again, lm = go(tmp_path / "parts", editors=FAILING)
    assert not lm.calls and {label: o.resumed for label, o in again.items()} == dict.fromkeys(whole, 6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("twice", "hold the parts 1/2, 1/2; allowed: 1/2, 2/2; name every part once"),
        ("missing", "hold the parts 1/2; allowed: 1/1"),
        ("other", "part-2-of-2: it is a part of another run than"),
        ("unfinished", "part-2-of-2: this part is not finished; run it again: it resumes"),
        ("taken", "holds a run already; name another --out"),
    ],
)
def test_parts_that_do_not_fit_are_named(tmp_path: Path, change: str, message: str) -> None:
    more = {"limit": 4} if change == "other" else {}
    folders = [part(tmp_path / "r", "1/2"), part(tmp_path / "r", "2/2", **more)]
    if change == "unfinished":
        unfinish(folders[1])
    if change == "taken":
        go(tmp_path / "r")
    chosen = {"twice": [folders[0]] * 2, "missing": folders[:1]}.get(change, folders)
    with pytest.raises(UserError, match=message):
        merge_parts(chosen, tmp_path / "r")


def test_a_part_of_edits_that_build_on_each_other_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--part: .*edits build on each other: leave part out"):
        with_part(make_config(tmp_path, regime={"name": "batch", "size": 2}), "1/2")
    for wrong in ("3/2", "0/2", "a/b", "2"):
        with pytest.raises(ValidationError):
            RunConfig.model_validate({"split": "mini", "editors": ["none"], "out": "x", "part": wrong})
