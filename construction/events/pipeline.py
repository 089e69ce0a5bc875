"""What is written about events: paraphrases of templates, events of topics, tendency questions, checks of all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from construction.authoring.outcome import overall_label
from construction.events.checks import EventInputs, judge_event
from construction.events.defaults import EVENTS_PER_TOPIC, INSIDE, OUTSIDE, THRESHOLD
from construction.events.funnel import EventTally
from construction.events.questions import AskedFacts
from construction.events.steps import EventPrompt, ParaphraseStep, TendencyAsk, TendencyStep, TopicAsk, TopicStep
from construction.llm.client import Client, gather_all, lineage_of_call
from construction.pipeline.rehearsal import NoStore
from construction.pipeline.runner import Outcome, run_in_batches, store_outcomes
from curation.similarity.pairs import EPSILON, encode, similar_pairs
from curation.store.store import Store
from schemas.core.clock import now
from schemas.core.config import Options
from schemas.events.event import TEMPLATE_TEXT, Event
from schemas.events.questions import TendencyQuestion
from schemas.facts import Source
from schemas.lineage import Lineage
from schemas.verdicts import Verdict, verdict_key

EVENTS_A_CALL = 10
"""Events of a topic asked for in one call (ELKEN Table 9)."""


class EventPlan(Options):
    """What a model is to write.

    Attributes:
        paraphrase: Whether a model words events of templates anew.
        topics: Topics to write events of.
        events_per_topic: Events asked for, ten a call.
        inside, outside: Tendency questions asked for about each event, in and out of scope; 0 and 0 for none.
        threshold: Two events of topics with a ROUGE-1 F above it are one.
        licence: Of events of topics.
    """

    paraphrase: bool = True
    topics: tuple[str, ...] = ()
    events_per_topic: int = EVENTS_PER_TOPIC
    inside: int = INSIDE
    outside: int = OUTSIDE
    threshold: float = THRESHOLD
    licence: str = "not stated"

    def asks(self, *, templates: bool) -> bool:
        """Whether a model is asked at all.

        Args:
            templates: Whether there are events of templates.
        """
        return bool(self.topics) or (templates and (self.paraphrase or self.inside + self.outside > 0))

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
    """An event as its template words it, and its factual questions."""

    event: Event
    asked: AskedFacts


class EventConstruction:
    """One construction.

    Args:
        store: Open for writing.
        client: Asks the model.
        plan: What to construct.
        prompts: The wordings.
        tally: Counts what is lost and leaves no record.
        batch: Events between two transactions.
    """

    def __init__(
        self,
        store: Store | NoStore,
        client: Client,
        plan: EventPlan,
        prompts: Mapping[str, EventPrompt],
        *,
        tally: EventTally,
        batch: int = 20,
    ) -> None:
        self._store, self._client, self._plan, self._tally, self._batch = store, client, plan, tally, batch
        self._paraphrase = ParaphraseStep(prompts["paraphrase"])
        self._topics = TopicStep(prompts["topic_events"], Source(name="events of topics", licence=plan.licence))
        self._tendencies = TendencyStep(prompts["tendency_questions"])

    async def __call__(self, drawn: Sequence[DrawnEvent]) -> None:
        """Do all of it.

        Raises:
            ModelError: the endpoint does not work; what is finished is kept.
        """
        topical = await self._write_topics()
        work = [partial(self._of_template, one) for one in drawn]
        work += [partial(self._with_tendencies, Outcome(event)) for event in topical]
        await run_in_batches(work, partial(store_outcomes, self._store, self._tally), size=self._batch)

    async def _write_topics(self) -> list[Event]:
        """The events of all topics that stay; none as long as a call has no answer, since the order decides."""
        asks = self._plan.topic_asks
        if not asks:
            return []
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
            for event in self._topics.parse(ask, reply.value):
                if events.setdefault(event.key, event) is event:
                    lineage.append(lineage_of_call(event.id, "topic_events", reply, self._client, self._topics))
                else:
                    self._tally.lose("topics", "written twice, word for word")
        verdicts = duplicate_verdicts(list(events.values()), threshold=self._plan.threshold)
        self._store.put([*events.values(), *verdicts], lineage)
        lost = {v.item_id for v in verdicts if v.label == "drop"}
        return [event for event in events.values() if event.id not in lost]

    async def _of_template(self, drawn: DrawnEvent) -> Outcome:
        """An event of a template, worded anew where that is wanted, with its questions."""
        bare, facts = drawn.event, drawn.asked.questions
        made_at, losses = now(), [("facts", reason) for reason, n in drawn.asked.missing.items() for _ in range(n)]
        detail = {TEMPLATE_TEXT: bare.text}
        chosen, lineage = bare, Lineage(item_id=bare.id, stage="template", made_at=made_at, detail=detail)
        verdicts: list[Verdict] = []
        for attempt in range(self._paraphrase.wording.attempts if self._plan.paraphrase else 0):
            reply = await self._client.ask(self._paraphrase.sample(bare, bare.key, attempt=attempt))
            if reply.status == "unanswered":
                return Outcome(bare, unfinished=1)
            if reply.value is None:
                losses.append(("paraphrase", f"{reply.status} reply"))
                continue
            (event,) = self._paraphrase.parse(bare, reply.value)
            said = judge_event(Event.kind, EventInputs(event=event, bare=bare.text, facts=facts))
            if overall_label(said) == "keep":
                chosen, verdicts = event, said
                lineage = lineage_of_call(event.id, "paraphrase", reply, self._client, self._paraphrase, detail=detail)
                break
            losses += [("paraphrase", v.reason) for v in said if v.label == "drop"]
        lines = [Lineage(item_id=q.id, stage="fact_questions", parents=(chosen.id,), made_at=made_at) for q in facts]
        return await self._with_tendencies(
            Outcome(
                chosen,
                written=((chosen, tuple(verdicts)), *((question, ()) for question in facts)),
                lineage=(lineage, *lines),
                losses=tuple(losses),
            )
        )

    async def _with_tendencies(self, outcome: Outcome) -> Outcome:
        """The outcome with the event's tendency questions and what the checks say of them."""
        if not self._plan.inside + self._plan.outside:
            return outcome
        assert isinstance(outcome.item, Event)
        event = outcome.item
        ask = TendencyAsk(event, self._plan.inside, self._plan.outside)
        reply = await self._client.ask(self._tendencies.sample(ask, event.key, attempt=0))
        if reply.status == "unanswered":
            return Outcome(event, unfinished=1)
        if reply.value is None:
            return outcome._replace(losses=(*outcome.losses, ("tendencies", f"{reply.status} reply")))
        (tendencies,) = self._tendencies.parse(ask, reply.value)
        written, lineage = list(outcome.written), list(outcome.lineage)
        for place, question in enumerate(tendencies.questions):
            inputs = EventInputs(event=event, question=question, earlier=tendencies.questions[:place])
            written.append((question, tuple(judge_event(TendencyQuestion.kind, inputs))))
            line = lineage_of_call(
                question.id, "tendency_questions", reply, self._client, self._tendencies, parents=(event.id,)
            )
            lineage.append(line)
        losses = (*outcome.losses, *(("tendencies", reason) for reason in tendencies.refused))
        return outcome._replace(written=tuple(written), lineage=tuple(lineage), losses=losses)


BY = "event_duplicate@1"


def duplicate_verdicts(events: Sequence[Event], *, threshold: float = THRESHOLD) -> list[Verdict]:
    """One verdict an event: ``drop`` where an earlier event that stays is more alike than the threshold.

    An event is compared with those that stay, in the given order; one that goes makes no other go.

    Args:
        events: In the order in which they were written.
        threshold: Two events whose ROUGE-1 F is above it are one.

    Raises:
        UserError: no threshold.
    """
    alike: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for pairs in similar_pairs(encode(event.text for event in events), threshold=threshold) if events else ():
        for first, second, value in zip(pairs.first, pairs.second, pairs.value, strict=True):
            if value > threshold + EPSILON:
                alike[int(second)].append((float(value), int(first)))
    stays: set[int] = set()
    verdicts = []
    for place, event in enumerate(events):
        before = [(value, other) for value, other in alike[place] if other in stays]
        value, nearest = max(before, default=(0.0, -1))
        if not before:
            stays.add(place)
        verdicts.append(_verdict(event, value, events[nearest] if before else None))
    return verdicts


def _verdict(event: Event, value: float, nearest: Event | None) -> Verdict:
    return Verdict(
        key=verdict_key(item_id=event.id, by=BY),
        item_id=event.id,
        by=BY,
        label="drop" if nearest else "keep",
        reason=f"too much like '{nearest.key}'" if nearest else "",
        value=round(value, 6) if nearest else None,
        unit="rouge1_f" if nearest else None,
        related=(nearest.id,) if nearest else (),
    )
