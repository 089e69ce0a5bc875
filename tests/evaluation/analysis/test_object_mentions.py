from __future__ import annotations

from evaluation.analysis.object_mentions import count_mentions, mark_objects, which_objects
from evaluation.runs.results import cases_by_key
from tests.support.report import rated_run

run = rated_run.run
texts = rated_run.texts


def test_mentions_are_marked_and_counted(texts, run):
    cases = cases_by_key(run)
    push = next(n for n in count_mentions(texts.scripts, cases, texts.editors) if n.label == "push")
    assert push.scripts == 14 and push.counts == {"new only": 8, "old only": 0, "both": 6, "neither": 0}
    fact = next(iter(cases.values())).fact
    assert which_objects("Go to Oslo, then Lima's port", fact) == "both"
    assert [[p.kind for p in line] for line in mark_objects("Lima\nOslo or Lima", fact)] == [
        ["old"],
        ["new", "", "old"],
    ]
    assert "".join(p.text for line in mark_objects("a <b>Oslo</b>", fact) for p in line) == "a <b>Oslo</b>"
