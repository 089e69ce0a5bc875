"""A construction of events: of templates with paraphrases, and of topics; tendency questions, checks of all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from typing_extensions import override

from construction.authoring.outcome import overall_label
from construction.events.checks import EventInputs, QuestionInputs, judge_event
from construction.events.defaults import CAP, EVENTS, EVENTS_PER_TOPIC, INSIDE, OUTSIDE, THRESHOLD, UNTOUCHED
from construction.events.draw import draw_events
from construction.events.funnel import EventFunnel
from construction.events.questions import AskedFacts, ask_facts
from construction.events.steps import FILES, EventPrompt, ParaphraseStep, TendencyAsk, TendencyStep, TopicAsk, TopicStep
from construction.events.templates import FactTable, read_templates
from construction.llm.client import Client, gather_all, lineage_of_call
from construction.llm.dry_run import NoStore
from construction.pipeline.author_models import profile_of
from construction.pipeline.runner import CountedWork, Outcome, WritingJob, run_in_batches, store_outcomes
from construction.report.funnel import Funnel
from curation.loaders import load
from curation.similarity.pairs import EPSILON, encode, similar_pairs
from curation.store.store import Store
from schemas.core.clock import now
from schemas.core.errors import UserError
from schemas.core.ids import slug
from schemas.events.event import TEMPLATE_TEXT, Event
from schemas.events.questions import TendencyQuestion
from schemas.facts import Fact, Source
from schemas.lineage import Lineage
from schemas.verdicts import Verdict, verdict_key

EVENTS_A_CALL = 10
"""Events of a topic asked for in one call (ELKEN Table 9)."""


class EventJob(WritingJob):
    """What is to be constructed, from what, with which model.

    Attributes:
        templates: File of templates (TOML); None where only events of topics are wanted.
        facts: Files of facts that answer paths and out-of-scope questions.
        events: Events of each template.
        cap: An entity's frequency counts up to this.
        seed: Another one draws other events.
        untouched: Out-of-scope factual questions of an event, at most.
        paraphrase: Whether a model words events of templates anew.
        topics: Topics to write events of; ``licence`` is theirs.
        events_per_topic: Events asked for, ten a call.
        inside, outside: Tendency questions asked for about each event, in and out of scope; 0 and 0 for none.
        threshold: Two events of topics with a ROUGE-1 F above it are one.

    The other attributes are those of ``WritingJob``.
    """

    templates: Path | None
    facts: tuple[str, ...] = ()
    events: int = EVENTS
    cap: float = CAP
    seed: int = 0
    untouched: int = UNTOUCHED
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


class DrawnEvent(NamedTuple):
    """An event as its template words it, and its factual questions."""

    event: Event
    asked: AskedFacts


class EventConstruction(CountedWork):
    """A construction whose events are drawn.

    Args:
        job: What to construct.
        prompts: The wordings.
        drawn: Events of templates.
        funnel: Counts what was lost in drawing them.
    """

    job: EventJob

    def __init__(
        self, job: EventJob, prompts: Mapping[str, EventPrompt], drawn: Sequence[DrawnEvent], funnel: EventFunnel
    ) -> None:
        super().__init__(job, funnel)
        self.drawn, self.asks = tuple(drawn), job.asks(templates=bool(drawn))
        self._paraphrase = ParaphraseStep(prompts["paraphrase"])
        self._topics = TopicStep(prompts["topic_events"], Source(name="events of topics", licence=job.licence))
        self._tendencies = TendencyStep(prompts["tendency_questions"])

    @override
    async def write(self, store: Store | NoStore, clients: Sequence[Client], funnel: Funnel) -> None:
        client = clients[0]
        topical = await self._write_topics(store, client, funnel)
        work = [partial(self._of_template, client, one) for one in self.drawn]
        work += [partial(self._with_tendencies, client, Outcome(event)) for event in topical]
        await run_in_batches(work, partial(store_outcomes, store, funnel), size=self.job.batch)

    async def _write_topics(self, store: Store | NoStore, client: Client, funnel: Funnel) -> list[Event]:
        """The events of all topics that stay; none as long as a call has no answer, since the order decides."""
        whole = self.job.events_per_topic
        asks = [
            TopicAsk(topic, min(EVENTS_A_CALL, whole - start), call)
            for topic in self.job.topics
            for call, start in enumerate(range(0, whole, EVENTS_A_CALL))
        ]
        if not asks:
            return []
        requests = [self._topics.sample(ask, ask.topic, attempt=ask.call) for ask in asks]
        replies = await gather_all([client.ask(request) for request in requests])
        if waiting := sum(reply.status == "unanswered" for reply in replies):
            funnel.n["unfinished"] += waiting
            return []
        events: dict[str, Event] = {}
        lineage: list[Lineage] = []
        for ask, reply in zip(asks, replies, strict=True):
            if reply.value is None:
                funnel.lose("topics", f"{reply.status} reply", ask.events)
                continue
            for event in self._topics.parse(ask, reply.value):
                if events.setdefault(event.key, event) is event:
                    lineage.append(lineage_of_call(event.id, "topic_events", reply, client, self._topics))
                else:
                    funnel.lose("topics", "written twice, word for word")
        verdicts = duplicate_verdicts(list(events.values()), threshold=self.job.threshold)
        store.put([*events.values(), *verdicts], lineage)
        lost = {v.item_id for v in verdicts if v.label == "drop"}
        return [event for event in events.values() if event.id not in lost]

    async def _of_template(self, client: Client, drawn: DrawnEvent) -> Outcome:
        """An event of a template, worded anew where that is wanted, with its questions."""
        bare, facts = drawn.event, drawn.asked.questions
        made_at, losses = now(), [("facts", reason) for reason, n in drawn.asked.missing.items() for _ in range(n)]
        detail = {TEMPLATE_TEXT: bare.text}
        chosen, lineage = bare, Lineage(item_id=bare.id, stage="template", made_at=made_at, detail=detail)
        verdicts: list[Verdict] = []
        for attempt in range(self._paraphrase.wording.attempts if self.job.paraphrase else 0):
            reply = await client.ask(self._paraphrase.sample(bare, bare.key, attempt=attempt))
            if reply.status == "unanswered":
                return Outcome(bare, unfinished=1)
            if reply.value is None:
                losses.append(("paraphrase", f"{reply.status} reply"))
                continue
            (event,) = self._paraphrase.parse(bare, reply.value)
            said = judge_event(Event.kind, EventInputs(event=event, bare=bare.text, facts=facts))
            if overall_label(said) == "keep":
                chosen, verdicts = event, said
                lineage = lineage_of_call(event.id, "paraphrase", reply, client, self._paraphrase, detail=detail)
                break
            losses += [("paraphrase", v.reason) for v in said if v.label == "drop"]
        lines = [Lineage(item_id=q.id, stage="fact_questions", parents=(chosen.id,), made_at=made_at) for q in facts]
        return await self._with_tendencies(
            client,
            Outcome(
                chosen,
                written=((chosen, tuple(verdicts)), *((question, ()) for question in facts)),
                lineage=(lineage, *lines),
                losses=tuple(losses),
            ),
        )

    async def _with_tendencies(self, client: Client, outcome: Outcome) -> Outcome:
        """The outcome with the event's tendency questions and what the checks say of them."""
        if not self.job.inside + self.job.outside:
            return outcome
        assert isinstance(outcome.item, Event)
        event = outcome.item
        ask = TendencyAsk(event, self.job.inside, self.job.outside)
        reply = await client.ask(self._tendencies.sample(ask, event.key, attempt=0))
        if reply.status == "unanswered":
            return Outcome(event, unfinished=1)
        if reply.value is None:
            return outcome._replace(losses=(*outcome.losses, ("tendencies", f"{reply.status} reply")))
        (tendencies,) = self._tendencies.parse(ask, reply.value)
        written, lineage = list(outcome.written), list(outcome.lineage)
        for place, question in enumerate(tendencies.questions):
            inputs = QuestionInputs(event=event, question=question, earlier=tendencies.questions[:place])
            written.append((question, tuple(judge_event(TendencyQuestion.kind, inputs))))
            line = lineage_of_call(
                question.id, "tendency_questions", reply, client, self._tendencies, parents=(event.id,)
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


def prepare_events(job: EventJob) -> EventConstruction:
    """Read templates and facts, and draw the events.

    Raises:
        UserError: a file that cannot be read, a fault in a template, a limit without a price, or nothing to construct.
    """
    if job.templates is None and not job.topics:
        raise UserError("there is nothing to construct", fix="name a file of templates, or topics: --topic Energy")
    _refuse_topics(job.topics)
    if job.asks(templates=job.templates is not None):
        job.access.check()
    prompts = FILES.load_all(job.profile or profile_of(job.access, "paper"), job.prompts_path)
    funnel, drawn = EventFunnel(), list[DrawnEvent]()
    if job.templates is not None:
        drawn = list(_draw(job, job.templates, funnel))
    return EventConstruction(job, prompts, drawn, funnel)


def _refuse_topics(topics: Sequence[str]) -> None:
    """A topic without a name, and two whose events would have the keys of one."""
    for place, topic in enumerate(topics):
        if topic != topic.strip() or not topic:
            raise UserError(f"the topic {topic!r} is empty or has white space at an end", fix="--topic Energy")
        if before := next((t for t in topics[:place] if slug(t) == slug(topic)), None):
            named = f"'{topic}'" if before == topic else f"'{before}' and '{topic}'"
            raise UserError(f"a topic is named twice: {named}", fix="name it once; for more of it: --events-per-topic")


def _draw(job: EventJob, path: Path, funnel: EventFunnel) -> Iterable[DrawnEvent]:
    table = FactTable(fact for name in job.facts for fact in _facts(name))
    lists = read_templates(path, table)
    for template in lists.template:
        draw = draw_events(template, lists, table, count=job.events, cap=job.cap, number=str(job.seed))
        funnel.n["drawn"] += draw.drawn
        for reason, count in draw.infeasible.items():
            funnel.lose("draw", f"{template.name}: {reason}", count)
        if again := draw.drawn - len(draw.events) - sum(draw.infeasible.values()):
            funnel.lose("draw", f"{template.name}: drawn before", again)
        for filled in draw.events:
            yield DrawnEvent(filled.event(lists.source), ask_facts(filled, lists, table, untouched=job.untouched))


def _facts(name: str) -> list[Fact]:
    loaded = load(name)
    return [*loaded.require(), *(r for r in loaded.records if isinstance(r, Fact))]
