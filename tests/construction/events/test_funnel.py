from __future__ import annotations

from construction.events.funnel import EventCounts, EventTally
from schemas.verdicts import Verdict
from tests.support.events import make_fact_question, make_tendency


def verdict(label: str, item: str) -> Verdict:
    data = {"key": f"v/{label}", "item_id": item, "by": "stands_alone@1", "label": label, "reason": "because"}
    return Verdict.model_validate(data)


def test_counts_shares_and_reasons() -> None:
    tally = EventTally()
    tally.n.update(drawn=10, events=4, paraphrased=3, topic_events=8, topic_kept=6)
    questions = [make_fact_question(), make_fact_question(answer="unknown"), make_fact_question(scope="out")]
    for fact_question in (*questions, make_fact_question(background=True)):
        tally.count(fact_question, [])
    question = make_tendency()
    tally.count(question, [verdict("keep", question.id)])
    tally.count(question, [verdict("drop", question.id)])
    tally.count(make_tendency(scope="out"), [])
    tally.lose("draw", "A and B are the same", 5)
    tally.lose("paraphrase", "the name 'X' is lost")
    counts = tally.result(EventCounts, calls=7, quality=None)
    assert (counts.facts_in, counts.facts_out, counts.unknown, counts.background) == (3, 1, 1, 1)
    assert (counts.tendencies_in, counts.kept_in, counts.tendencies_out, counts.kept_out) == (2, 1, 1, 1)
    assert [(x.stage, x.count) for x in counts.losses] == [("draw", 5), ("paraphrase", 1), ("checks", 1)]
    text = "\n".join(counts.lines())
    for reply in ("75.0 % (the paper: 674 of 1,800)", "50.0 % (people in the paper: 78.4 %)", "the paper: 841"):
        assert reply in text
    assert "1 unknown, 1 background" in text and "drop by stands_alone" in text and "7 calls made." in text


def test_nothing_divides_by_nothing() -> None:
    assert "0" in "\n".join(EventTally().result(EventCounts, calls=0, quality=None).lines())
