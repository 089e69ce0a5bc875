from __future__ import annotations

from evaluation.analysis.example_cases import mark_objects, mention_table, which_objects
from evaluation.runs.results import cases_by_key
from tests.support.report import rated_run

run = rated_run.run
texts = rated_run.texts


def test_mentions_are_marked_and_counted(texts, run):
    cases = cases_by_key(run)
    table = mention_table(texts.scripts, cases, texts.editors)
    push = next(row for row in table.rows if row[0] == "push")
    assert push[1] == 14 and [round(14 * v.mean) for v in push[2:6]] == [8, 0, 6, 0]
    fact = next(iter(cases.values())).fact
    assert which_objects("Go to Oslo, then Lima's port", fact) == "both"
    assert [[p.kind for p in line] for line in mark_objects("Lima\nOslo or Lima", fact)] == [
        ["old"],
        ["new", "", "old"],
    ]
    assert "".join(p.text for line in mark_objects("a <b>Oslo</b>", fact) for p in line) == "a <b>Oslo</b>"
