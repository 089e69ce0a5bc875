"""The single regime: a unit a case, in order, each done by the engine."""

from __future__ import annotations

from evaluation.engines.simple import SimpleEngine
from evaluation.metrics import METRICS
from evaluation.regimes.base import RegimeContext
from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.table import SingleRegime
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, make_cases


def test_every_case_is_edited_alone() -> None:
    cases, lm, metric = make_cases(3, 0).cases, ArithmeticLM(), METRICS.get("es")()
    regime, editor = SingleRegime(RegimeChoice()), ArithmeticEditor("push", {})
    units = regime.units(cases)
    assert [(u.key, u.after, u.position) for u in units] == [(c.key, None, None) for c in cases]
    context = RegimeContext(cases, editor, SimpleEngine(lm), lm)
    results = list(regime.run(units[1:], lambda unit: tuple(metric.probes(unit.case)), context))
    assert [unit.key for unit, _ in results] == [c.key for c in cases[1:]], "only what is missing"
    for unit, result in results:
        with editor.edit([unit.case.fact]).on(lm) as edited_lm:
            assert list(result.answers) == edited_lm.score(metric.probes(unit.case))
