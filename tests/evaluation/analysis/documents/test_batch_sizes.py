"""Methods run with several batch sizes: a row a size, 1 for single; one size makes no curve."""

from __future__ import annotations

from evaluation.analysis.documents.batch_sizes import batch_sizes
from tests.support.documents.runs import document_run, numbered_case, scores_of, table_of

CASES = [numbered_case(n, {f"a{n}": ()}) for n in range(4)]


def test_rows_by_size_of_methods_with_several() -> None:
    said = {"regime": "batch:10", "editor": "memit"}
    run = document_run(
        CASES,
        {
            "none": {},
            "memit (batch of 10)": said,
            "memit": {"editor": "memit"},
            "memit (batch of 2)": {"editor": "memit", "regime": "batch:2"},
            "ft": {"regime": "batch:2"},
            "seq": {"editor": "ft", "regime": "sequential"},
        },
    )
    right = {label: {f"a{n}" for n in range(k)} for k, label in enumerate(e.label for e in run.editors)}
    rows = batch_sizes(run, table_of(run, scores_of(CASES, right)))
    assert [(row.method, row.size) for row in rows] == [("memit", 1), ("memit", 2), ("memit", 10)]
    assert [row.values["em"].mean for row in rows] == [0.5, 0.75, 0.25] and "em_spec" not in rows[0].values


def test_another_setting_is_another_curve() -> None:
    one, two = {"editor": "ft", "params": {"lr": 1}}, {"editor": "ft", "params": {"lr": 2}, "regime": "batch:2"}
    run = document_run(CASES, {"none": {}, "a": one, "b": two})
    assert batch_sizes(run, table_of(run, scores_of(CASES, {"none": set(), "a": set(), "b": set()}))) == ()
