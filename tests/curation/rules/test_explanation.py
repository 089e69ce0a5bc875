from __future__ import annotations

import pytest

from curation.rules.explanation import Explanation, ExplanationStep, find_loss, reason_text, threshold_text
from curation.rules.rule import KEPT, Decision, Threshold
from tests.support.curation.verdicts import make_verdict
from tests.support.events import make_event

EVENT = make_event()


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (KEPT, None),
        (Decision("drop", "leak", "x"), ("out", "leak drops the event 'e/merger': x")),
        (Decision("hold", "early"), ("held", "early holds the event 'e/merger'")),
    ],
)
def test_what_a_decision_makes_of_a_record(decision: Decision, expected: tuple[str, str] | None) -> None:
    assert find_loss(decision, EVENT) == expected


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
    assert reason_text(KEPT) == "" and reason_text(Decision("drop", "a", "b")) == ": b"
    assert threshold_text(Threshold(check="near", max=0.4, then="hold")) == "near at most 0.4, otherwise hold"
    clusters = Threshold(check="near", below=0.4, unit="f", clusters=True)
    assert threshold_text(clusters) == "near below 0.4 f, otherwise drop, one of each cluster stays"
