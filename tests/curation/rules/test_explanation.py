from __future__ import annotations

from curation.rules.explain import Explanation, ExplanationStep, threshold_text
from curation.rules.rule import Decision, Threshold
from tests.support.curation.verdicts import make_verdict
from tests.support.events import make_event

EVENT = make_event()


def test_the_deciding_verdict_is_marked_and_all_are_listed() -> None:
    verdicts = (make_verdict(EVENT.id, "drop", "leak@2"), make_verdict(EVENT.id, "keep", "other@1"))
    step = ExplanationStep(EVENT, Decision("drop", "leak", "r"), verdicts)
    explanation = Explanation(EVENT.key, "event", "out", "why", (step,), ("a bound",), ("a contradiction",))
    assert explanation.text().splitlines() == [
        "event e/merger: OUT, why",
        "  event e/merger: drop by leak: r",
        "   * drop by leak@2: r",
        "     keep by other@1: r",
        "  contradiction: a contradiction",
        "  threshold: a bound",
    ]
    assert explanation.payload()["steps"][0]["by"] == "leak" and explanation.payload()["thresholds"] == ("a bound",)
    assert "no verdict" in explanation._replace(steps=(step._replace(verdicts=()),)).text()


def test_words() -> None:
    assert threshold_text(Threshold(check="near", max=0.4, then="hold")) == "near at most 0.4, otherwise hold"
    clusters = Threshold(check="near", below=0.4, unit="f", clusters=True)
    assert threshold_text(clusters) == "near below 0.4 f, otherwise drop, one of each cluster stays"
