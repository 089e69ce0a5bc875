"""The curve over batch sizes by hand: the same cases under every size, against the fewest edits together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluation.analysis.facts.batch_size_curve import batch_size_curve, is_in_batches
from evaluation.metrics import METRICS
from evaluation.runs.results import Run, load_run
from schemas.core.errors import UserError
from tests.support.arithmetic import ArithmeticEdit, ArithmeticEditor, ArithmeticLM, make_cases, make_config
from tests.support.evaluation.runner_of import runner_of


class Crowded(ArithmeticEditor):
    """Makes one edit take; of several together only the first, and none of it where the batch has four."""

    def edit(self, requests: Any) -> ArithmeticEdit:
        if self.name == "none":
            return ArithmeticEdit({})
        return ArithmeticEdit({"Oslo": {1: 50.0, 2: 50.0}.get(len(requests), -50.0)})


def run(out: Path, size: Any, *, methods: tuple[str, ...] = ("none", "push")) -> Run:
    regime = {"name": "batch", "size": size} if size else "single"
    config = make_config(out, metrics=["es", "ns_kl"], regime=regime, editors=list(methods))
    runner_of(config, make_cases(4, 0), scorer=ArithmeticLM(), make=Crowded).run()
    return load_run(out)


def test_every_size_against_the_fewest_by_hand(tmp_path: Path) -> None:
    finished = run(tmp_path, [1, 2, 4])
    points = batch_size_curve(finished, [METRICS.get("es")()], "mean")
    assert [(p.label, p.metric, p.edits) for p in points] == [("push", "es", n) for n in (1, 2, 4)]
    assert [p.all.mean for p in points] == [1.0, 1.0, 0.0] and {p.all.n for p in points} == {4}
    assert [p.new.mean for p in points] == [1.0, 1.0, 1.0], "the same cases with one edit"
    assert [p.lost.mean for p in points] == [0.0, 0.0, -1.0] and points[2].latest is None


def test_one_size_and_other_regimes(tmp_path: Path) -> None:
    one, alone = run(tmp_path / "one", 2), run(tmp_path / "alone", None)
    assert is_in_batches(one) and not is_in_batches(alone)
    with pytest.raises(UserError, match="no method of the run was run with two batch sizes"):
        batch_size_curve(one, [METRICS.get("es")()], "mean")
