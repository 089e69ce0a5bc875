"""A state as cells, and none for runs without sequences."""

from __future__ import annotations

from pathlib import Path

from curation.stats.intervals import Interval
from evaluation.analysis.sequences.states import SequenceState
from evaluation.regimes.sequence_log import WeightNorm
from evaluation.report.sequences.state_rows import HEADS, state_cells, state_table
from evaluation.report.write import write_report
from evaluation.runs.results import load_run
from tests.support.report.fading import run

STATE = SequenceState(
    "m",
    1000,
    Interval(20.0, None, 24, (15.0, 25.0), unit="perplexity"),
    Interval(1.25, None, 24, (1.0, 1.5), unit="ratio"),
    (
        WeightNorm(weight="a", norm=3.0, ratio=0.5, routed=False),
        WeightNorm(weight="b", norm=1.0, ratio=0.01, routed=False),
    ),
    Interval(0.5, None, 900, (0.4, 0.6), unit="s"),
    Interval(None, None, 0),
    2**30,
    3 * 2**19,
    900,
    2,
)


def test_a_state_as_cells() -> None:
    cells = dict(zip(HEADS, state_cells(STATE), strict=True))
    assert cells["method"] == "m" and cells["edits"] == "1,000 (2 failed)" and cells["change"] == "0.01 to 0.5"
    assert cells["over unedited"] == "×1.25 [1.00, 1.50]" and cells["s an edit"].startswith("0.50")
    assert (cells["peak MiB"], cells["held MiB"], cells["processor s"]) == ("1,024", "1.5", "–")
    one = state_cells(STATE._replace(norms=STATE.norms[:1], peak_bytes=None, failed=0))
    assert (one[1], one[4], one[7]) == ("1,000", "0.5", "–")
    assert state_cells(STATE._replace(norms=()))[4] == "–"


def test_tables_of_runs(tmp_path: Path) -> None:
    table = state_table(load_run(run(tmp_path / "a")))
    assert table[0] == HEADS and [row[1] for row in table[1:]] == ["1", "2", "4"]
    assert state_table(load_run(run(tmp_path / "b", regime="single"))) == []


def test_the_report_shows_them(tmp_path: Path) -> None:
    page = write_report([run(tmp_path)], out=tmp_path / "r").files[0].read_text("utf-8")
    assert "<h3>The model itself</h3>" in page and "over unedited" in page
