"""Construction of events from end to end: paraphrases, events of topics, tendency questions, checks, into the store.

Replies come through the journal, and everything else is a pure function of templates, facts and replies. So a run that
was killed is started again from the top: it walks through what is on record without asking and puts the same records.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, NamedTuple

from construction.authoring.standing import overall_label
from construction.events.checks import EventInputs, judge_event
from construction.events.defaults import EVENTS_PER_TOPIC, INSIDE, OUTSIDE, THRESHOLD
from construction.events.draw import FilledTemplate
from construction.events.duplicates import duplicate_verdicts
from construction.events.prompt_file import EventPrompts
from construction.events.questions import AskedFacts
from construction.events.steps import ParaphraseStep, TendencyAsk, TendencyStep, TopicAsk, TopicStep, WrittenTendencies
from construction.events.tally import EventCounts, EventTally
from construction.llm.call_lineage import lineage_of_call
from construction.llm.calls.concurrency import ordered_map
from construction.llm.client import Client, Reply, gather_all
from curation.store.store import Store
from schemas.core.clock import now
from schemas.core.config import Options
from schemas.core.records import Record
from schemas.events.event import TEMPLATE_TEXT, Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.facts import Source
from schemas.lineage import Lineage
from schemas.verdicts import Verdict

logger = logging.getLogger(__name__)

EVENTS_A_CALL = 10
"""Events of a topic asked for in one call (ELKEN Table 9)."""


class EventWork(Options):
    """What a model is to write.

    Attributes:
        paraphrase: Whether a model words events of templates anew.
        topics: Topics to write events of.
        events_per_topic: Events asked for, ten a call.
        inside, outside: Tendency questions asked for about each event, in and out of scope; 0 and 0 for none.
        threshold: Two events of topics with a ROUGE-1 F above it are one.
    """

    paraphrase: bool = True
    topics: tuple[str, ...] = ()
    events_per_topic: int = EVENTS_PER_TOPIC
    inside: int = INSIDE
    outside: int = OUTSIDE
    threshold: float = THRESHOLD

    def asks(self, *, templates: bool) -> bool:
        """Whether a model is asked at all.

        Args:
            templates: Whether there are events of templates.
        """
        return bool(self.topics) or (templates and (self.paraphrase or self.inside + self.outside > 0))


class EventPlan(EventWork):
    """What to construct.

    Attributes:
        source: Where events of topics come from.
        batch: Events between two transactions.
    """

    source: Source
    batch: int = 20

    @property
    def topic_asks(self) -> list[TopicAsk]:
        """The calls that write events of topics."""
        whole = range(0, self.events_per_topic, EVENTS_A_CALL)
        return [
            TopicAsk(topic, min(EVENTS_A_CALL, self.events_per_topic - start), call)
            for topic in self.topics
            for call, start in enumerate(whole)
        ]


class DrawnEvent(NamedTuple):
    """An event of a template and its factual questions."""

    filled: FilledTemplate
    source: Source
    asked: AskedFacts

    @property
    def event(self) -> Event:
        """The event as the template words it."""
        return self.filled.event(self.source)


class EventOutcome(NamedTuple):
    """What became of an event.

    Attributes:
        event: With the words that it is to have.
        facts: Its factual questions.
        tendencies: Its tendency questions.
        verdicts: On all of these.
        lineage: Of all of these.
        losses: Stage and reason of what was lost.
        paraphrased: Whether a paraphrase passed.
        unfinished: Calls without an answer.
    """

    event: Event
    facts: tuple[FactQuestion, ...]
    tendencies: tuple[TendencyQuestion, ...]
    verdicts: tuple[Verdict, ...]
    lineage: tuple[Lineage, ...]
    losses: tuple[tuple[str, str], ...]
    paraphrased: bool
    unfinished: int


class EventConstruction:
    """One construction.

    Args:
        store: Open for writing.
        client: Asks the model; None where nothing is asked.
        plan: What to construct.
        prompts: The wordings.
        tally: Counts; it may hold what was lost in the draw.
        progress: Called after every transaction with the events done, and all.
    """

    def __init__(
        self,
        store: Store,
        client: Client | None,
        plan: EventPlan,
        prompts: EventPrompts,
        *,
        tally: EventTally,
        progress: Callable[[int, int], object] = lambda *_: None,
    ) -> None:
        self._store, self._client, self._plan, self._tally, self._progress = store, client, plan, tally, progress
        self._paraphrase = ParaphraseStep(prompts.paraphrase)
        self._topics = TopicStep(prompts.topic_events, plan.source)
        self._tendencies = TendencyStep(prompts.tendency_questions)
        self._quality = prompts.tendency_questions.quality_of(client.endpoint.model) if client else None

    async def __call__(self, drawn: Sequence[DrawnEvent]) -> EventCounts:
        """Do all of it.

        Raises:
            ModelError: the endpoint does not work; what is finished is kept.
        """
        topical = await self._write_topics()
        work = [partial(self._of_template, one) for one in drawn] + [partial(self._of_topic, e) for e in topical]
        total, done = len(work), 0
        size = self._plan.batch
        parts = [work[start : start + size] for start in range(0, total, size)]

        async def make(part: Sequence[Callable[[], Coroutine[Any, Any, EventOutcome]]]) -> list[EventOutcome]:
            return await gather_all([one() for one in part])

        making = ordered_map([partial(make, part) for part in parts], ahead=2)
        async with aclosing(making):
            async for outcomes in making:
                self._keep(outcomes)
                done += len(outcomes)
                self._progress(done, total)
        return self._tally.result(calls=self._client.calls if self._client else 0, quality=self._quality)

    async def _write_topics(self) -> list[Event]:
        """The events of all topics that stay; none as long as a call has no answer, since the order decides."""
        asks = self._plan.topic_asks
        if not asks:
            return []
        assert self._client is not None
        requests = [self._topics.sample(ask, ask.topic, attempt=ask.call) for ask in asks]
        replies = await gather_all([self._client.ask(request) for request in requests])
        if waiting := sum(reply.status == "unanswered" for reply in replies):
            self._tally.n["unfinished"] += waiting
            return []
        events: dict[str, Event] = {}
        lineage: list[Lineage] = []
        for ask, reply in zip(asks, replies, strict=True):
            if reply.value is None:
                self._tally.lose("topics", f"{reply.status} reply", ask.events)
                continue
            written = self._topics.parse(ask, reply.value)
            self._tally.n["topic_events"] += len(written)
            for event in written:
                if events.setdefault(event.key, event) is event:
                    lineage.append(lineage_of_call(event.id, "topic_events", reply, self._client, self._topics.label))
                else:
                    self._tally.lose("topics", "written twice, word for word")
        verdicts = duplicate_verdicts(list(events.values()), threshold=self._plan.threshold)
        self._store.put([*events.values(), *verdicts], lineage)
        lost = {v.item_id for v in verdicts if v.label == "drop"}
        self._tally.n["topic_kept"] += len(events) - len(lost)
        self._tally.lose("topics", f"ROUGE-1 above {self._plan.threshold:g} with an earlier event", len(lost))
        return [event for event in events.values() if event.id not in lost]

    async def _of_template(self, drawn: DrawnEvent) -> EventOutcome:
        """An event of a template, worded anew where that is wanted, with its questions."""
        bare, facts = drawn.event, drawn.asked.questions
        made_at, losses = now(), [("facts", reason) for reason, n in drawn.asked.missing.items() for _ in range(n)]
        detail = {TEMPLATE_TEXT: bare.text}
        chosen, lineage, waiting = bare, Lineage(item_id=bare.id, stage="template", made_at=made_at, detail=detail), 0
        verdicts: list[Verdict] = []
        if self._plan.paraphrase:
            assert self._client is not None
            for attempt in range(self._paraphrase.wording.attempts):
                reply = await self._client.ask(self._paraphrase.sample(bare, bare.key, attempt=attempt))
                if reply.status == "unanswered":
                    waiting += 1
                    break
                if reply.value is None:
                    losses.append(("paraphrase", f"{reply.status} reply"))
                    continue
                (event,) = self._paraphrase.parse(bare, reply.value)
                verdicts_on_wording = judge_event(Event.kind, EventInputs(event=event, bare=bare.text, facts=facts))
                if overall_label(verdicts_on_wording) == "keep":
                    chosen, verdicts = event, verdicts_on_wording
                    lineage = lineage_of_call(
                        event.id, "paraphrase", reply, self._client, self._paraphrase.label, detail=detail
                    )
                    break
                losses += [("paraphrase", v.reason) for v in verdicts_on_wording if v.label == "drop"]
        if waiting:
            return EventOutcome(bare, (), (), (), (), (), paraphrased=False, unfinished=waiting)
        question_lines = [
            Lineage(item_id=q.id, stage="fact_questions", parents=(chosen.id,), made_at=made_at) for q in facts
        ]
        outcome = EventOutcome(
            chosen,
            facts,
            (),
            tuple(verdicts),
            (lineage, *question_lines),
            tuple(losses),
            paraphrased=chosen is not bare,
            unfinished=0,
        )
        return await self._with_tendencies(outcome)

    async def _of_topic(self, event: Event) -> EventOutcome:
        """An event of a topic with its questions; it is in the store already."""
        return await self._with_tendencies(EventOutcome(event, (), (), (), (), (), paraphrased=False, unfinished=0))

    async def _with_tendencies(self, outcome: EventOutcome) -> EventOutcome:
        if not self._plan.inside + self._plan.outside:
            return outcome
        assert self._client is not None
        ask = TendencyAsk(outcome.event, self._plan.inside, self._plan.outside)
        reply = await self._client.ask(self._tendencies.sample(ask, outcome.event.key, attempt=0))
        if reply.status == "unanswered":
            return outcome._replace(unfinished=1)
        if reply.value is None:
            return outcome._replace(losses=(*outcome.losses, ("tendencies", f"{reply.status} reply")))
        (written,) = self._tendencies.parse(ask, reply.value)
        return self._judged(outcome, written, reply)

    def _judged(self, outcome: EventOutcome, written: WrittenTendencies, reply: Reply) -> EventOutcome:
        """The outcome with its tendency questions and what the checks say of them."""
        assert self._client is not None
        verdicts, lineage = list(outcome.verdicts), list(outcome.lineage)
        for place, question in enumerate(written.questions):
            inputs = EventInputs(event=outcome.event, question=question, earlier=written.questions[:place])
            verdicts += judge_event(TendencyQuestion.kind, inputs)
            lineage.append(
                lineage_of_call(
                    question.id,
                    "tendency_questions",
                    reply,
                    self._client,
                    self._tendencies.label,
                    parents=(outcome.event.id,),
                )
            )
        losses = (*outcome.losses, *(("tendencies", reason) for reason in written.refused))
        return outcome._replace(
            tendencies=written.questions, verdicts=tuple(verdicts), lineage=tuple(lineage), losses=losses
        )

    def _keep(self, outcomes: Sequence[EventOutcome]) -> None:
        """Put some events into the store in one transaction; what waits for an answer comes with a later run."""
        records: list[Record] = []
        lineage: list[Lineage] = []
        for one in outcomes:
            self._tally.n["unfinished"] += one.unfinished
            if one.unfinished:
                logger.warning("%s is not finished: no answer came", one.event.key)
                continue
            self._count(one)
            records += [one.event, *one.facts, *one.tendencies, *one.verdicts]
            lineage += one.lineage
        if records:
            self._store.put(records, lineage, remade=[one.event.key for one in outcomes if not one.unfinished])

    def _count(self, one: EventOutcome) -> None:
        self._tally.n["events"] += one.event.origin == "template"
        self._tally.n["paraphrased"] += one.paraphrased
        self._tally.facts(one.facts)
        by_item: dict[str, list[Verdict]] = {}
        for verdict in one.verdicts:
            by_item.setdefault(verdict.item_id, []).append(verdict)
        for question in one.tendencies:
            self._tally.tendency(question, by_item.get(question.id, ()))
        for stage, reason in one.losses:
            self._tally.lose(stage, reason)  # type: ignore[arg-type]
