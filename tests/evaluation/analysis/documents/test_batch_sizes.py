"""Methods run with several batch sizes: a row a size, 1 for single; one size makes no curve."""

from __future__ import annotations

from evaluation.analysis.documents.batch_sizes import batch_sizes, size_curves
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


def test_two_simplifications_of_one_method_are_two_curves() -> None:
    said = {
        f"{label} (batch of {size})": {"editor": "memit", "regime": f"batch:{size}"}
        for label in ("memit", "memit+qg")
        for size in (1, 3)
    }
    run = document_run(CASES, {"none": {}, **said})
    right = {label: {f"a{n}" for n in range(k)} for k, label in enumerate(e.label for e in run.editors)}
    rows = batch_sizes(run, table_of(run, scores_of(CASES, right)))
    assert [(row.name, row.size) for row in rows] == [("memit", 1), ("memit", 3), ("memit+qg", 1), ("memit+qg", 3)]
    em, level_1 = size_curves(rows)
    assert (em.metric, em.better, level_1.metric) == ("EM", "higher", "EM, level 1")
    assert [(c.label, [(s.edits, s.value.mean) for s in c.spots]) for c in em.curves] == [
        ("memit", [(1, 0.25), (3, 0.5)]),
        ("memit+qg", [(1, 0.75), (3, 1.0)]),
    ]
    assert size_curves(()) == []
