"""The reference engine: answers under each edit, the model left as it was, a fault that stays with its case."""

from __future__ import annotations

from evaluation.engines.base import Job
from evaluation.engines.simple import SimpleEngine
from evaluation.metrics import METRICS
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, make_cases


def jobs() -> list[Job]:
    metric = METRICS.get("es")()
    return [Job(c.key, c, tuple(metric.probes(c))) for c in make_cases(3, 0).cases]


def test_each_case_under_its_own_edit() -> None:
    lm, editor = ArithmeticLM(), ArithmeticEditor("push", {"fail": ("Land01",)})
    answers = list(SimpleEngine(lm).work(editor, jobs()))
    assert [d.error and d.error.partition(" (")[0] for d in answers] == [None, "RuntimeError: cannot edit Land01", None]
    assert not lm.lift, "every edit is taken off"
    for one in (answers[0], answers[2]):
        assert one.answers != lm.score(one.job.probes) and one.notes == dict(editor.edit([one.job.case.fact]).notes)
        lm.lift = editor.edit([one.job.case.fact]).lift
        assert list(one.answers) == lm.score(one.job.probes)
        lm.lift = {}
    assert answers[1].answers == () and answers[1].notes == {}


def test_the_model_as_it_stands_is_asked_with_the_prompts_rewritten() -> None:
    lm = ArithmeticLM()
    answers = SimpleEngine(lm).ask(jobs(), rewrite=lambda text: "Oslo. " + text)
    assert [list(d.answers) for d in answers] == [lm.score(j.probes, rewrite=lambda t: "Oslo. " + t) for j in jobs()]
