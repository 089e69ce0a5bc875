"""Numbers of a split of events, counted by hand."""

from __future__ import annotations

from curation.export.summary import event_numbers
from tests.support.events import MOVE, event_case, make_event, make_fact_question


def test_counts_of_two_events() -> None:
    question = make_fact_question("Where is Corvo Foods?", "Turin", event=MOVE, background=True)
    move = event_case("case/m", event=make_event(MOVE, type="headquarters", origin="fact"), facts=(question,),
                      tendencies=())  # fmt: skip
    summary = event_numbers([event_case(), move])
    assert (dict(summary.types), dict(summary.origins)) == ({"merger": 1, "headquarters": 1}, {"written": 1, "fact": 1})
    assert (dict(summary.facts), dict(summary.tendencies)) == ({"in": 3, "out": 1}, {"in": 1, "out": 1})
    assert (summary.unknown, summary.background, summary.bare) == (1, 1, (1, 0))
    assert dict(summary.letters) == {("in", "A"): 1, ("out", "C"): 1}
    assert summary.licences == ["CC0-1.0"] and sum(summary.sources.values()) == 2
