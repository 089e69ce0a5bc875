"""The frontier of efficacy against specificity: ties, methods that nothing beats, methods without one of both."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from curation.stats.intervals import Interval
from evaluation.analysis.documents.frontier import frontier


def table(**methods: tuple[float | None, float | None]) -> Any:
    rows = []
    for label, (efficacy, specificity) in methods.items():
        pairs = {"em": efficacy, "em_spec": specificity}
        summaries = {name: SimpleNamespace(interval=Interval(mean, None, 1)) for name, mean in pairs.items()}
        rows.append(SimpleNamespace(label=label, summaries=summaries))
    return SimpleNamespace(rows=rows)


def test_what_no_other_beats_at_both() -> None:
    points = frontier(table(none=(0.1, 1.0), ice=(0.6, 0.8), ft=(0.5, 0.7), lora=(0.6, 0.7), side=(0.7, 0.5)))
    assert [p.label for p in points] == [
        "none",
        "ice",
        "ft",
        "lora",
        "side",
    ]
    beaten = {p.label: p.beaten_by for p in points}
    assert beaten == {"none": (), "ice": (), "ft": ("ice", "lora"), "lora": ("ice",), "side": ()}


def test_equal_methods_do_not_beat_each_other() -> None:
    assert [p.beaten_by for p in frontier(table(a=(0.5, 0.5), b=(0.5, 0.5)))] == [(), ()]


def test_methods_without_both_are_left_out() -> None:
    assert frontier(table(a=(0.5, None), b=(None, 0.5))) == ()
    assert frontier(SimpleNamespace(rows=[SimpleNamespace(label="a", summaries={})])) == ()  # type: ignore[arg-type]
    assert [p.label for p in frontier(table(a=(0.0, 0.0)))] == ["a"]
