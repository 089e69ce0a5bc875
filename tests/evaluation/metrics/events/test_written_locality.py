"""Locality of written answers: what both metrics share."""

from __future__ import annotations

from evaluation.metrics.event_answers import EventLetterLocality, EventOpenLocality, WrittenLocality
from schemas.answers import Answer, GeneratedText
from tests.support.events import make_tendency


def test_both_ask_out_of_scope_and_leave_unscored_what_was_not_written() -> None:
    question = make_tendency(scope="out")
    for kind in (EventLetterLocality, EventOpenLocality):
        metric = kind()
        assert isinstance(metric, WrittenLocality)
        (probe,) = metric.probes_of(question)
        wrote = {probe.id: Answer(probe=probe.id, written=GeneratedText(text="A", tokens=1, ended="stop"))}
        assert metric.value(question, wrote, wrote).value == 1.0
        for after, before in (({}, wrote), (wrote, {})):
            item = metric.value(question, after, before)
            assert item.value is None and item.reason, "a missing text is no change"
