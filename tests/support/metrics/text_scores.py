"""Cases scored from texts that are written down."""

from __future__ import annotations

from typing import Any

from evaluation.metrics import METRICS
from schemas.answers import Answer, CaseScores, GeneratedText
from schemas.cases import Case
from tests.support.arithmetic import make_case


def scored(name: str, texts: list[str | None], *, case: Case | None = None, ended: Any = "eos") -> CaseScores:
    """Scores of a case (old Lima, new Oslo) whose texts, in the metric's order of asking, are these."""
    metric, case = METRICS.get(name)(), case or make_case("Peru")
    probes = metric.probes(case)
    assert len(probes) == len(texts)
    after = {
        p.id: Answer(probe=p.id, written=GeneratedText(text=t, tokens=9, ended=ended))
        for p, t in zip(probes, texts, strict=True)
        if t is not None
    }
    return metric.score(case, after, {}, "mean")


SCRIPT = "Step 1: Pack warm clothes\nStep 2: Fly to {}\nStep 3: Walk through {}"
