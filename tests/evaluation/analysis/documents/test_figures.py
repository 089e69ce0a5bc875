"""All figures of a run on documents, and which columns and notes its table has."""

from __future__ import annotations

from evaluation.analysis.documents.figures import document_analysis
from tests.support.documents.grouped import grouped_case
from tests.support.documents.runs import document_run, numbered_case, scores_of, table_of

CASES = [numbered_case(n, {f"a{n}": ("time",), "x": ()}) for n in range(15)]


def test_columns_without_a_value_and_notes_that_say_nothing_are_left_out() -> None:
    run = document_run(CASES, {"none": {}, "ice": {}})
    scores = scores_of(CASES, {"none": set(), "ice": {"x"}})
    figures = document_analysis(run, scores, table_of(run, scores))
    assert figures.columns == (("Level 1", ("em_1",)), ("Overall", ("em",)))
    assert not figures.statements and not figures.settings and figures.frontier == () and figures.sizes == ()
    assert [row.tag for row in figures.tags] == ["time"] and figures.constant.mean == 0.5 and not figures.follows


def test_probes_by_what_they_follow_from_are_told_from_those_of_a_document() -> None:
    case = grouped_case()
    run = document_run([case], {"none": {}, "ice": {}})
    scores = scores_of([case], {"none": set(), "ice": set()})
    assert document_analysis(run, scores, table_of(run, scores)).follows
