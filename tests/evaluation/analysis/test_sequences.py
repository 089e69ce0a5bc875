from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from curation.stats.intervals import Interval
from evaluation.analysis.sequences import (
    ForgettingPoint,
    batch_size_points,
    curve_parts,
    edit_curve,
    forgetting_points,
    is_in_batches,
    perplexity,
    perplexity_ratio,
    sequence_states,
    state_table,
)
from evaluation.analysis.tables import FigureTable, Plot
from evaluation.metrics.generation import load_metrics
from evaluation.regimes.sequence_log import FILE, StateEntry, TextScore
from evaluation.runs.results import Run, load_run
from schemas.core.errors import UserError
from tests.evaluation.cli import test_run as test_commands
from tests.support.arithmetic import (
    ArithmeticEdit,
    ArithmeticEditor,
    ArithmeticLM,
    make_cases,
    make_config,
    unfinish,
)
from tests.support.documents.runs import METRICS, document_run, numbered_case, scores_of
from tests.support.evaluation.runner_of import runner_of
from tests.support.report.fading import SEQUENCE, run
from tests.support.report.read_report import finished
from tests.support.report.two_runs import TWO

place = test_commands.place  # a fixture: configuration, split and tiny model


def curve(out: Path) -> list[ForgettingPoint]:
    return edit_curve(load_run(out), load_metrics(["es"]), "mean")


def drawn(folder: Path, metrics: tuple[str, ...] = ("es",)) -> tuple[list[Plot], FigureTable | None]:
    """The pictures and the table of a run, as the report has them."""
    finished_run, chosen = load_run(folder), load_metrics(list(metrics))
    parts = curve_parts(forgetting_points(finished_run, chosen, "mean"), chosen, together=False)
    plots = [p for p in parts if isinstance(p, Plot)]
    return plots, next((p for p in parts if isinstance(p, FigureTable)), None)


def test_hand_worked(tmp_path: Path) -> None:
    """Edits 1 and 2 succeed on the spot; from the third on the object is lowered, for earlier cases too."""
    points = curve(run(tmp_path))
    assert [(p.label, p.metric, p.edits) for p in points] == [("push", "es", 1), ("push", "es", 2), ("push", "es", 4)]
    one, two, four = points
    assert (one.all.mean, one.new.mean, one.lost.mean, one.latest) == (1.0, 1.0, 0.0, 1.0)
    assert (two.all.mean, two.new.mean, two.lost.mean, two.latest) == (1.0, 1.0, 0.0, 1.0)
    assert (four.all.mean, four.new.mean, four.lost.mean, four.latest) == (0.0, 0.5, -0.5, 0.0)
    assert [p.all.n for p in points] == [1, 2, 4] == [p.new.n for p in points]
    ((plot,), table) = drawn(tmp_path)
    assert [(p.x, p.value) for p in plot.points] == [(p.edits, p.all) for p in points]
    assert [(p.x, p.value) for p in plot.earlier] == [(p.edits, p.new) for p in points]
    assert table is not None and [row[2] for row in table.rows] == [1, 2, 4]


@pytest.mark.parametrize(("score", "edits", "new"), [("end", [1, 2, 4], [1, 1, 1]), ("immediate", [1], [1])])
def test_what_was_not_asked_is_in_no_mean(score: str, edits: list[int], new: list[int], tmp_path: Path) -> None:
    """Without asking on the spot, only the last case of each length has a value right after its own edit."""
    points = curve(run(tmp_path, regime={**SEQUENCE, "score": score}))
    assert [p.edits for p in points] == edits
    if score == "end":
        assert [p.new.n for p in points] == [1, 2, 3], "cases 1, 2 and 4 were asked right after their edits"
        ((plot,), _) = drawn(tmp_path)
        assert [p.x for p in plot.points] == edits
        assert [p.x for p in plot.earlier] == [1, 2], "of four cases one was not asked right after its own edit"


def test_a_length_half_asked_is_left_out(tmp_path: Path) -> None:
    (journal,) = [j for j in run(tmp_path).glob("*/journal.jsonl") if '"after":4' in j.read_text().replace(" ", "")]
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:-1]))
    unfinish(tmp_path)
    assert [p.edits for p in curve(tmp_path)] == [1, 2]


def test_metrics_without_a_value_and_methods_that_have_not_begun_have_no_curve(tmp_path: Path) -> None:
    out = finished(tmp_path, editors=TWO, split=make_cases(4, 0), regime=SEQUENCE, metrics=["es", "s_bo"])
    (weak,) = out.glob("weak-*")
    (weak / "journal.jsonl").unlink()
    unfinish(out)
    ((plot,), _) = drawn(out, ("es", "s_bo"))
    assert plot.title == "ES" and {p.label for p in plot.points} == {"push"}
    assert drawn(out, ()) == ([], None)


class Crowded(ArithmeticEditor):
    """Makes one edit take; of several together only the first, and none of it where the batch has four."""

    def edit(self, requests: Any) -> ArithmeticEdit:
        if self.name == "none":
            return ArithmeticEdit({})
        return ArithmeticEdit({"Oslo": {1: 50.0, 2: 50.0}.get(len(requests), -50.0)})


def batches(out: Path, size: Any) -> Run:
    regime = {"name": "batch", "size": size} if size else "single"
    config = make_config(out, metrics=["es", "ns_kl"], regime=regime)
    runner_of(config, make_cases(4, 0), scorer=ArithmeticLM(), make=Crowded).run()
    return load_run(out)


def test_every_batch_size_against_the_fewest_by_hand(tmp_path: Path) -> None:
    points = edit_curve(batches(tmp_path, [1, 2, 4]), load_metrics(["es"]), "mean")
    assert [(p.label, p.metric, p.edits) for p in points] == [("push", "es", n) for n in (1, 2, 4)]
    assert [p.all.mean for p in points] == [1.0, 1.0, 0.0] and {p.all.n for p in points} == {4}
    assert [p.new.mean for p in points] == [1.0, 1.0, 1.0], "the same cases with one edit"
    assert [p.lost.mean for p in points] == [0.0, 0.0, -1.0] and points[2].latest is None
    plot, table = curve_parts(points, load_metrics(["es"]), together=True)
    assert isinstance(plot, Plot) and isinstance(table, FigureTable)
    assert not plot.earlier and table.head[4] == "With the fewest edits"


@pytest.mark.parametrize(
    ("size", "words"),
    [(2, "no method of the run was run with two batch sizes"), (None, "the run's regime is 'single'")],
)
def test_runs_without_a_curve_are_refused(tmp_path: Path, size: int | None, words: str) -> None:
    finished_run = batches(tmp_path, size)
    assert is_in_batches(finished_run) == bool(size)
    with pytest.raises(UserError, match=words):
        edit_curve(finished_run, load_metrics(["es"]), "mean")


def test_two_settings_of_one_method_are_two_curves_over_batch_sizes() -> None:
    cases = [numbered_case(n, {f"a{n}": ()}) for n in range(4)]
    said = {
        f"{label} (batch of {size})": {"editor": "memit", "regime": f"batch:{size}"}
        for label in ("memit", "memit+qg")
        for size in (1, 3)
    }
    documents = document_run(cases, {"none": {}, **said, "ft": {"regime": "batch:2"}})
    right = {e.label: {f"a{n}" for n in range(k)} for k, e in enumerate(documents.editors[:-1])} | {"ft": set()}
    points = batch_size_points(documents, scores_of(cases, right), METRICS[:1])
    assert [(p.label, p.edits, p.all.mean) for p in points] == [
        ("memit", 1, 0.25), ("memit", 3, 0.5), ("memit+qg", 1, 0.75), ("memit+qg", 3, 1.0),
    ]  # fmt: skip
    assert [p.lost.mean for p in points] == [0.0, 0.25, 0.0, 0.25], "pooled over probes, paired"


BEFORE = StateEntry(
    after=0,
    texts=(TextScore(item="a", logprob=-10.0, tokens=10), TextScore(item="b", logprob=-40.0, tokens=20)),
)


AFTER = StateEntry(
    after=5,
    texts=(TextScore(item="a", logprob=-20.0, tokens=10), TextScore(item="b", logprob=-60.0, tokens=20)),
)


def test_perplexity_is_over_all_tokens_and_its_ratio_paired() -> None:
    found, ratio = perplexity(AFTER), perplexity_ratio(AFTER, BEFORE)
    assert found.mean == pytest.approx(math.exp(80 / 30)) and (found.n, found.unit) == (2, "perplexity")
    assert ratio.mean == pytest.approx(math.exp(1.0)) and ratio.unit == "ratio"
    assert found.low is ratio.low is None, "two texts are too few for an interval"
    assert perplexity_ratio(AFTER, None).mean is None


def test_runs_without_a_log_have_no_states(tmp_path: Path) -> None:
    for path in run(tmp_path / "a").glob(f"*/{FILE}"):
        path.unlink()
    unfinish(tmp_path / "a")
    assert sequence_states(load_run(tmp_path / "a")) == []


def test_a_state_as_a_row() -> None:
    state: dict[str, Any] = {
        "label": "m", "edits": 1000, "perplexity": Interval(20.0, None, 24, (15.0, 25.0), unit="perplexity"),
        "ratio": Interval(1.25, None, 24, unit="ratio"), "norms": [{"ratio": 0.5}, {"ratio": 0.01}],
        "seconds": Interval(0.5, None, 900, (0.4, 0.6), unit="s"), "processor_seconds": Interval(None, None, 0),
        "peak_bytes": 2**30, "held_bytes": 3 * 2**19, "made": 900, "failed": 2,
    }  # fmt: skip
    one = state | {"norms": state["norms"][:1], "peak_bytes": None, "failed": 0}
    first, second, third = state_table([state, one, state | {"norms": []}]).rows
    assert (first[:2], first[4], first[7:]) == (("m", "1,000 (2 failed)"), "0.01 to 0.5", ("1,024", "1.5"))
    assert (second[1], second[4], second[7], third[4]) == ("1,000", "0.5", None, None)
