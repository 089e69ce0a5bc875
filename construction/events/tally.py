"""The funnel of a construction of events: what was drawn, written, kept, and why the rest was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from construction.authoring.losses import CountedLoss, LossTally, closing_lines, percent_of
from construction.authoring.standing import overall_label
from schemas.core.records import Frozen
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.verdicts import Verdict

PAPER_EVENTS = 841  # events of templates (ELKEN, Table 1)
PAPER_TOPICS = (674, 1800)  # events of topics that stayed, of those written
PAPER_KEPT = (78.4, 55.7)  # % of tendency questions that two people kept, in and out of scope

STAGES = ("draw", "facts", "paraphrase", "topics", "tendencies", "checks")


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


class EventTally(LossTally):
    """Counts while events are made."""

    def __init__(self) -> None:
        super().__init__(STAGES)
        self.n: Counter[str] = Counter()

    def facts(self, questions: Iterable[FactQuestion]) -> None:
        """Factual questions of an event."""
        for question in questions:
            self.n[f"facts_{question.scope}"] += 1
            self.n["unknown"] += question.unknown
            self.n["background"] += question.background

    def tendency(self, question: TendencyQuestion, verdicts: Iterable[Verdict]) -> None:
        """A tendency question with what the checks say."""
        listed = list(verdicts)
        self.n[f"tendencies_{question.scope}"] += 1
        if overall_label(listed) == "keep":
            self.n[f"kept_{question.scope}"] += 1
        for verdict in listed:
            if verdict.label not in ("keep", None):
                self.lose("checks", f"{verdict.label} by {verdict.check}")

    def result(self, *, calls: int, quality: str | None) -> EventCounts:
        """The counts so far."""
        names = [n for n, f in EventCounts.model_fields.items() if f.annotation is int and n != "calls"]
        return EventCounts(**{n: self.n[n] for n in names}, calls=calls, quality=quality, losses=self.listed())
