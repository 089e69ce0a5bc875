"""What the construction of events in a store came to, counted from records, verdicts and lineage.

It holds for a store of many runs and for one that was killed half-way. What came whole from a file or a split is not
counted. Draws that cannot happen and replies of no use leave no record: only the run that made them tells of them.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from construction.events.tally import EventCounts, EventTally
from construction.report.store_funnel import JudgedItems
from curation.store.store import Store
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.verdicts import Verdict

_CONSTRUCTED = {"template", "paraphrase", "topic_events"}


def stored_event_counts(path: Path) -> EventCounts | None:
    """The counts of a store; None where no event in it was constructed.

    Args:
        path: The store.

    Raises:
        UserError: there is no such store.
    """
    with Store.open(path) as store:
        stages: defaultdict[str, set[str]] = defaultdict(set)
        requests: set[str] = set()
        quality: str | None = None
        for line in store.lineages():
            stages[line.item_id].add(line.stage)
            if line.stage in ("paraphrase", "topic_events", "tendency_questions") and line.request:
                requests.add(line.request)
                quality = quality or line.detail.get("quality")
        events = [event for event in store.all(Event) if stages[event.id] & _CONSTRUCTED]
        if not events:
            return None
        judged, tally = JudgedItems(store.verdicts()), EventTally()
        for event in events:
            of_topic = "topic_events" in stages[event.id]
            standing, _ = judged.of(event.id)
            tally.n["topic_events" if of_topic else "events"] += 1
            tally.n["paraphrased"] += "paraphrase" in stages[event.id]
            tally.n["topic_kept"] += of_topic and standing != "drop"
            _lose(tally, judged, event.id, "topics" if of_topic else "paraphrase")
        keys = {event.key for event in events}
        tally.facts(q for q in store.all(FactQuestion) if q.event in keys)
        for question in store.all(TendencyQuestion):
            if question.event not in keys:
                continue
            standing, _ = judged.of(question.id)
            tally.n[f"tendencies_{question.scope}"] += 1
            tally.n[f"kept_{question.scope}"] += standing == "keep"
            _lose(tally, judged, question.id, "checks")
    return tally.result(calls=len(requests), quality=quality)


def _lose(tally: EventTally, judged: JudgedItems, item: str, stage: str) -> None:
    """Count an item that is out, or waits, by what decided it."""
    standing, verdict = judged.of(item)
    if standing != "keep" and verdict is not None:
        tally.lose(stage, f"{standing} by {_judge_of(verdict)}")


def _judge_of(verdict: Verdict) -> str:
    return verdict.check if verdict.judged_by is None else f"people ({verdict.check})"
