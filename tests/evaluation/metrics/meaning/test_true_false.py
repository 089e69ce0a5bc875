"""Statements with either object, true and false as targets."""

from __future__ import annotations

from evaluation.metrics import METRICS
from tests.support.arithmetic import make_case


def test_both_statements_are_asked_and_no_object_is_a_target() -> None:
    case = make_case("Peru")
    new, old = METRICS.get("es_true_false")().probes(case)
    assert f"Statement: {case.fact.fact_prompt} Oslo." in new.prompt and new.targets == ("True", "False")
    assert f"Statement: {case.fact.fact_prompt} Lima." in old.prompt and old.targets == ("False", "True")


def test_a_script_keeps_its_steps() -> None:
    first, *_ = METRICS.get("s_es_true_false")().probes(make_case("Peru"))
    assert first.prompt.startswith("How to reach Peru (1)?\nStep 1: Fly to Oslo\nQuestion:")
