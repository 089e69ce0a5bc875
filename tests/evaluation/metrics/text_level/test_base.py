"""What every metric over texts does with answers that are none."""

from __future__ import annotations

import pytest

from evaluation.metrics import METRICS
from schemas.answers import Answer
from tests.support.arithmetic import make_case


@pytest.mark.parametrize("name", ["s_es_gen", "script_format"])
def test_an_error_is_unscored_and_never_a_zero(name: str) -> None:
    metric, case = METRICS.get(name)(), make_case("Peru")
    answers = {p.id: Answer(probe=p.id, error="the model broke") for p in metric.probes(case)}
    score = metric.score(case, answers, {}, "mean")
    assert score.mean is None and score.items
    assert all(i.value is None and "the model broke" in i.reason for i in score.items)
