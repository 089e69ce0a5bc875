"""A run in the columns of the paper: statements, settings that tell rows apart, absent metrics."""

from __future__ import annotations

from evaluation.analysis.documents.published_layout import COLUMNS, published_rows
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
    rows = {row.label: row for row in published_rows(run, table_of(run, scores))}
    assert [rows[n].statements for n in ("none", "memit")] == ["", "ner_qg"]
    assert [rows[n].settings for n in ("none", "soft", "all")] == ["", "terms soft", "terms text + soft"]
    assert rows["all"].values["em"] == 0.5 and rows["all"].values["em_1"] == 1 / 3
    assert rows["all"].values["em_spec"] is None and rows["all"].values["ppl_edit"] is None
    assert set(rows["all"].values) == {name for _, names in COLUMNS for name in names}
