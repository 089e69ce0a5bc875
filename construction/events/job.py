"""One construction of events as a person asks for it: files and options, made into events, an estimate and a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from construction.events.defaults import CAP, EVENTS, UNTOUCHED
from construction.events.draw import draw_events
from construction.events.funnel import EventCounts, EventTally, count_events
from construction.events.pipeline import DrawnEvent, EventConstruction, EventPlan
from construction.events.questions import ask_facts
from construction.events.steps import FILES, EventPrompt
from construction.events.templates import FactTable, read_templates
from construction.llm import connection
from construction.llm.client import Client
from construction.llm.connection import ModelSession
from construction.llm.cost.estimates import CallEstimate
from construction.llm.reply_cache import ReplyCache
from construction.pipeline.author_models import profile_of
from construction.pipeline.rehearsal import NoStore, RehearsalClient, estimate_job
from construction.pipeline.runner import ProgressDisplay, WritingJob, run_job
from curation.loaders import load
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.core.ids import slug
from schemas.facts import Fact


class EventJob(EventPlan, WritingJob):
    """What is to be constructed, from what, with which model.

    Attributes:
        templates: File of templates (TOML); None where only events of topics are wanted.
        facts: Files of facts that answer paths and out-of-scope questions.
        events: Events of each template.
        cap: An entity's frequency counts up to this.
        seed: Another one draws other events.
        untouched: Out-of-scope factual questions of an event, at most.

    The other attributes are those of ``EventPlan`` and ``WritingJob``.
    """

    templates: Path | None
    facts: tuple[str, ...] = ()
    events: int = EVENTS
    cap: float = CAP
    seed: int = 0
    untouched: int = UNTOUCHED


class PreparedEvents(NamedTuple):
    """A job whose events are drawn; nothing is asked or written yet."""

    job: EventJob
    prompts: dict[str, EventPrompt]
    drawn: tuple[DrawnEvent, ...]
    tally: EventTally

    @property
    def asks(self) -> bool:
        """Whether a model is asked at all."""
        return self.job.asks(templates=bool(self.drawn))

    def estimate(self) -> CallEstimate:
        """What it will ask: calls that are not cached; of what nobody wrote yet, every event stays."""
        if not self.asks:
            return CallEstimate(0, 0, 0, None)

        async def work(clients: list[RehearsalClient]) -> None:
            construct = EventConstruction(NoStore(), clients[0], self.job, self.prompts, tally=EventTally())
            await construct(self.drawn)

        return estimate_job(self.job, work)


def prepare_events(job: EventJob) -> PreparedEvents:
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
    tally, drawn = EventTally(), list[DrawnEvent]()
    if job.templates is not None:
        drawn = list(_draw(job, job.templates, tally))
    return PreparedEvents(job, prompts, tuple(drawn), tally)


def _refuse_topics(topics: Sequence[str]) -> None:
    """A topic without a name, and two whose events would have the keys of one."""
    for place, topic in enumerate(topics):
        if topic != topic.strip() or not topic:
            raise UserError(f"the topic {topic!r} is empty or has white space at an end", fix="--topic Energy")
        if before := next((t for t in topics[:place] if slug(t) == slug(topic)), None):
            named = f"'{topic}'" if before == topic else f"'{before}' and '{topic}'"
            raise UserError(f"a topic is named twice: {named}", fix="name it once; for more of it: --events-per-topic")


def _draw(job: EventJob, path: Path, tally: EventTally) -> Iterable[DrawnEvent]:
    table = FactTable(fact for name in job.facts for fact in _facts(name))
    lists = read_templates(path, table)
    for template in lists.template:
        draw = draw_events(template, lists, table, count=job.events, cap=job.cap, number=str(job.seed))
        tally.n["drawn"] += draw.drawn
        for reason, count in draw.infeasible.items():
            tally.lose("draw", f"{template.name}: {reason}", count)
        if again := draw.drawn - len(draw.events) - sum(draw.infeasible.values()):
            tally.lose("draw", f"{template.name}: drawn before", again)
        for filled in draw.events:
            yield DrawnEvent(filled.event(lists.source), ask_facts(filled, lists, table, untouched=job.untouched))


def _facts(name: str) -> list[Fact]:
    loaded = load(name)
    return [*loaded.require(), *(r for r in loaded.records if isinstance(r, Fact))]


def run_events(prepared: PreparedEvents, *, live: ProgressDisplay) -> EventCounts:
    """Construct; on any error what is finished stays in journal and store.

    Raises:
        UserError: store or journal in use, no key, endpoint away, embedded model not installed.
        BudgetReached: the next call does not fit the budget.
        StoppedEarly: Ctrl-C or SIGTERM.
    """
    job = prepared.job
    if not prepared.asks:
        nobody = RehearsalClient("", ReplyCache(None), attempts=1)
        with Store.open(job.store, create=True) as store:
            construct = EventConstruction(store, nobody, job, prepared.prompts, tally=prepared.tally)
            connection.run(construct(prepared.drawn))
            return count_events(store, prepared.tally, calls=0)

    async def work(session: ModelSession, store: Store, clients: list[Client]) -> EventCounts:
        construct = EventConstruction(store, clients[0], job, prepared.prompts, tally=prepared.tally, batch=job.batch)
        await construct(prepared.drawn)
        return count_events(store, prepared.tally, calls=clients[0].calls)

    return run_job(job, work, live=live)
