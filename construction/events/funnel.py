"""The funnel of a construction of events: what was drawn, written, kept, and why the rest was not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from construction.authoring.outcome import overall_label
from construction.authoring.tally import CountedLoss, Tally, closing_lines, percent_of
from construction.report.store_funnel import JudgedItems, MadeItems
from curation.store.store import Store
from schemas.core.records import Frozen
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.verdicts import Verdict

PAPER_EVENTS = 841  # events of templates (ELKEN, Table 1)
PAPER_TOPICS = (674, 1800)  # events of topics that stayed, of those written
PAPER_KEPT = (78.4, 55.7)  # % of tendency questions that two people kept, in and out of scope


class EventCounts(Frozen):
    """Counts of one construction of events.

    Attributes:
        drawn: Draws of entities for templates; ``events`` of them became events of templates.
        paraphrased: Events of templates whose paraphrase passed the checks; the others keep the template's words.
        topic_events: Events of topics that were written; ``topic_kept`` of them are like no earlier one.
        facts_in, facts_out: Factual questions by scope; ``unknown`` and ``background`` of those in scope.
        tendencies_in, tendencies_out: Tendency questions written, by scope; ``kept_in`` and ``kept_out`` of them pass
            every check.
        unfinished: Calls without an answer so far.
        calls: Calls made over the network in this run.
        losses: What was lost, by stage and reason.
    """

    drawn: int
    events: int
    paraphrased: int
    topic_events: int
    topic_kept: int
    facts_in: int
    facts_out: int
    unknown: int
    background: int
    tendencies_in: int
    tendencies_out: int
    kept_in: int
    kept_out: int
    unfinished: int
    calls: int
    quality: str | None
    losses: tuple[CountedLoss, ...]

    def lines(self, *, stored: bool = False) -> list[str]:
        """The funnel as text, the paper's figures beside it.

        Args:
            stored: It was counted from a store, which knows of no draws and of no calls that came to nothing.
        """
        stayed, written = PAPER_TOPICS
        rows = [
            ("draws of entities", self.drawn, ""),
            ("events of templates", self.events, f"the paper: {PAPER_EVENTS}"),
            ("  with a paraphrase", self.paraphrased, percent_of(self.paraphrased, self.events)),
            ("  factual questions in scope", self.facts_in, f"{self.unknown} unknown, {self.background} background"),
            ("  factual questions out of scope", self.facts_out, ""),
            ("events of topics written", self.topic_events, ""),
            (
                "  like no earlier one",
                self.topic_kept,
                f"{percent_of(self.topic_kept, self.topic_events)} (the paper: {stayed} of {written:,})".strip(),
            ),
            ("tendency questions in scope", self.tendencies_in, ""),
            ("  pass every check", self.kept_in, _beside(self.kept_in, self.tendencies_in, PAPER_KEPT[0])),
            ("tendency questions out of scope", self.tendencies_out, ""),
            ("  pass every check", self.kept_out, _beside(self.kept_out, self.tendencies_out, PAPER_KEPT[1])),
        ]
        rows = rows[stored:]
        lines = [f"  {name:34s} {count:7,d}  {note}".rstrip() for name, count, note in rows]
        return [*lines, *closing_lines(self.losses, self.calls, stored=stored)]


def _beside(part: int, whole: int, paper: float) -> str:
    return f"{percent_of(part, whole)} (people in the paper: {paper:g} %)".strip()


class EventTally(Tally):
    """Counts events and questions about them."""

    stages: ClassVar[tuple[str, ...]] = ("draw", "facts", "paraphrase", "topics", "tendencies", "checks")

    def count(self, question: FactQuestion | TendencyQuestion, verdicts: Sequence[Verdict]) -> None:
        """Count a question about an event."""
        if isinstance(question, FactQuestion):
            self.n[f"facts_{question.scope}"] += 1
            self.n["unknown"] += question.unknown
            self.n["background"] += question.background
        else:
            self.n[f"tendencies_{question.scope}"] += 1
            self.n[f"kept_{question.scope}"] += overall_label(verdicts) == "keep"
            self.lose_by("checks", verdicts)


def count_events(store: Store, run: EventTally | None = None, *, calls: int | None = None) -> EventCounts:
    """The counts of a store, all runs together.

    What came complete from a file or a split is not counted.

    Args:
        store: The store.
        run: What a run lost that leaves no record: draws that cannot happen, replies of no use.
        calls: Calls that the run made; left out, those that the store knows.
    """
    made = MadeItems.of(store, {"template", "paraphrase", "topic_events"}, asked={"tendency_questions"})
    judged, tally, keys = JudgedItems(store.verdicts()), run or EventTally(), set[str]()
    for event in store.all(Event):
        if event.id not in made.stages:
            continue
        keys.add(event.key)
        of_topic = "topic_events" in made.stages[event.id]
        verdicts = judged.deciding(event.id)
        tally.n["topic_events" if of_topic else "events"] += 1
        tally.n["paraphrased"] += "paraphrase" in made.stages[event.id]
        tally.n["topic_kept"] += of_topic and overall_label(verdicts) != "drop"
        tally.lose_by("topics" if of_topic else "paraphrase", verdicts)
    questions: list[FactQuestion | TendencyQuestion] = [*store.all(FactQuestion), *store.all(TendencyQuestion)]
    for question in questions:
        if question.event in keys:
            tally.count(question, judged.deciding(question.id))
    return tally.result(EventCounts, calls=len(made.requests) if calls is None else calls, quality=made.quality)


def stored_event_counts(path: Path) -> EventCounts | None:
    """The counts of a store; None where no event in it was constructed.

    Args:
        path: The store.

    Raises:
        UserError: there is no such store.
    """
    with Store.open(path) as store:
        counts = count_events(store)
    return counts if counts.events or counts.topic_events else None
