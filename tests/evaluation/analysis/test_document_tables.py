"""A run in the columns of the paper, and the frontier: ties, methods that nothing beats, absent metrics."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from curation.stats.intervals import Interval
from evaluation.analysis.breakdown import document_tables
from tests.support.documents.runs import document_run, numbered_case, scores_of, table_of

CASES = [numbered_case(n, {f"a{n}": (), f"b{n}": ("time",)}) for n in range(3)]


def test_rows_in_the_papers_columns() -> None:
    run = document_run(
        CASES,
        {
            "none": {},
            "memit": {"components": {"simplify": "ner_qg@1:abc", "covariance": "x"}},
            "soft": {"editor": "side", "params": {"terms": ("soft",), "lr": 1e-6}},
            "all": {"editor": "side", "params": {"terms": ("text", "soft"), "lr": 1e-6}},
        },
    )
    scores = scores_of(CASES, {"none": set(), "memit": {"a0"}, "soft": {"b0"}, "all": {"a0", "b0", "b1"}})
    (table,) = document_tables(run, table_of(run, scores))
    assert table.head == ("Method", "Statements", "Settings", "Level 1, EM", "Overall, EM")
    rows = {row[0]: row[1:] for row in table.rows}
    assert [rows[n][0] for n in ("none", "memit")] == ["", "ner_qg"]
    assert [rows[n][1] for n in ("none", "soft", "all")] == ["", "terms soft", "terms text + soft"]
    assert [v.mean for v in rows["all"][2:]] == [1 / 3, 0.5]


def frontier(**methods: tuple[float | None, float | None]) -> list[tuple[str, str]]:
    rows: list[Any] = []
    for label, means in methods.items():
        values = {n: Interval(v, None, 1) for n, v in zip(("em", "em_spec"), means, strict=True)}
        summaries = {name: SimpleNamespace(interval=value, mean=value.mean) for name, value in values.items()}
        rows.append(SimpleNamespace(label=label, editor=label, params={}, summaries=summaries))
    run: Any = SimpleNamespace(
        editors=[SimpleNamespace(label=r.label, manifest=SimpleNamespace(components={})) for r in rows]
    )
    tables = {t.title: t for t in document_tables(run, SimpleNamespace(rows=rows))}  # type: ignore[arg-type]
    found = tables.get("Efficacy against specificity")
    return [] if found is None else [(str(row[0]), str(row[-1])) for row in found.rows]


def test_what_no_other_beats_at_both() -> None:
    methods = {"none": (0.1, 1.0), "ice": (0.6, 0.8), "ft": (0.5, 0.7), "lora": (0.6, 0.7), "side": (0.7, 0.5)}
    assert frontier(**methods) == [
        ("none", "yes"), ("ice", "yes"), ("ft", "no: ice, lora"), ("lora", "no: ice"), ("side", "yes"),
    ]  # fmt: skip
    assert frontier(a=(0.5, 0.5), b=(0.5, 0.5)) == [("a", "yes"), ("b", "yes")], "equal methods beat no other"
    assert frontier(a=(0.5, None), b=(None, 0.5)) == [] and frontier(a=(0.0, 0.0)) == [("a", "yes")]
