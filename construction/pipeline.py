"""Construction from end to end: facts, questions, scripts, prompts, neighbours, checks, all into the store.

Replies come through the journal and everything else is a pure function of facts and replies. So a run that was killed
is started again from the top: it walks through what is on record without asking, and puts the same records, which the
store takes once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from construction.author import Author
from construction.checks import Material, judge
from construction.funnel import Tally, Yield
from construction.llm.cache import ReplyCache
from construction.llm.client import Client, Endpoint, together
from construction.neighbours import draw, link
from construction.prompts import load_prompt
from construction.questions import QuestionStep
from construction.scripts import ScriptStep
from construction.verdicts import asked_as_edit, standing
from curation.store import Store
from schemas.config import Options
from schemas.facts import Fact, Neighbour
from schemas.lineage import Lineage
from schemas.records import Record
from schemas.scripts import ScriptPrompt

logger = logging.getLogger(__name__)


class Plan(Options):
    """What to construct.

    Attributes:
        profile: Kind of model the prompts are worded for.
        questions: Script questions for each edited fact (4 in the paper).
        neighbours: Neighbour facts for each edited fact, 0 for none.
        neighbour_questions: Script questions for a fact that only serves as a neighbour.
        batch: Facts between two transactions.
    """

    profile: str = "paper"
    questions: int = 4
    neighbours: int = 2
    neighbour_questions: int = 1
    batch: int = 20


class Work(NamedTuple):
    """What a plan comes to for given facts.

    Attributes:
        edits: Facts to be edited.
        drawn: Their neighbour facts, by key of the edit.
        others: Facts that only serve as neighbours, in order of their keys.
    """

    edits: tuple[Fact, ...]
    drawn: dict[str, list[Fact]]
    others: tuple[Fact, ...]


class Progress(NamedTuple):
    """How far it is: facts done of all, and the tally so far."""

    done: int
    total: int
    kept: int
    calls: int


def lay_out(edits: Sequence[Fact], table: Sequence[Fact], plan: Plan) -> Work:
    """The facts to work on.

    Args:
        edits: Facts to be edited.
        table: All facts that neighbours may be drawn from.
        plan: What to construct.
    """
    drawn = draw(edits, table, k=plan.neighbours) if plan.neighbours else {}
    own = {f.key for f in edits}
    others = {f.key: f for facts in drawn.values() for f in facts if f.key not in own}
    return Work(tuple(edits), drawn, tuple(others[k] for k in sorted(others)))


class Run:
    """One construction.

    Args:
        store: Open for writing.
        client: Asks the model.
        plan: What to construct.
        origin: Where the facts come from, for their lineage.
        progress: Called after every batch.
    """

    def __init__(
        self,
        store: Store,
        client: Client,
        plan: Plan,
        *,
        origin: str,
        progress: Callable[[Progress], None] = lambda _: None,
    ) -> None:
        self._store, self._client, self._plan, self._origin = store, client, plan, origin
        self._progress = progress
        questions, scripts = load_prompt("questions", plan.profile), load_prompt("scripts", plan.profile)
        self._author = Author(client, questions=QuestionStep(questions), scripts=ScriptStep(scripts))
        self._quality = questions.quality or scripts.quality
        self._tally = Tally()
        self._prompts: dict[str, list[ScriptPrompt]] = {}

    async def __call__(self, work: Work) -> Yield:
        """Do all of it.

        Raises:
            ModelError: the endpoint does not work; what is finished is kept.
        """
        total = len(work.edits) + len(work.others)
        done = 0
        needed = {f.key for facts in work.drawn.values() for f in facts}
        for facts, edited in ((work.edits, True), (work.others, False)):
            for batch in _batches(facts, self._plan.batch):
                await self._facts(batch, edited=edited, needed=needed)
                done += len(batch)
                so_far = self._tally.result(calls=self._client.calls, quality=self._quality)
                self._progress(Progress(done, total, so_far.kept, so_far.calls))
        for batch in _batches(work.edits, 200):
            self._link(batch, work.drawn)
        return self._tally.result(calls=self._client.calls, quality=self._quality)

    async def _facts(self, facts: Sequence[Fact], *, edited: bool, needed: set[str]) -> None:
        """Make a batch of facts and put it into the store in one transaction."""
        count = self._plan.questions if edited else self._plan.neighbour_questions
        made = await together([self._author.make(f, count=count, edited=edited) for f in facts])
        now = datetime.now(UTC).isoformat(timespec="seconds")
        records: list[Record] = []
        lineage: list[Lineage] = []
        known = {v.item_id for v in self._store.verdicts([f.id for f in facts]) if v.check == "asked_as_edit"}
        for one in made:
            if edited or one.fact.id not in known:  # an earlier run may have asked for it as an edit
                records.append(asked_as_edit(one.fact, edited=edited))
            self._tally.add(one, edited=edited)
            records += [one.fact, *one.records()]
            lineage.append(Lineage(item_id=one.fact.id, stage="load", made_at=now, detail={"from": self._origin}))
            lineage += one.lineage
            if one.fact.key in needed:
                self._prompts[one.fact.key] = one.prompts()
            if one.unfinished:
                logger.warning("%s is not finished: %s", one.fact.key, one.unfinished)
        self._store.put(records, lineage)

    def _link(self, edits: Sequence[Fact], drawn: dict[str, list[Fact]]) -> None:
        """Neighbour links of some edits, with the verdicts on their prompts."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        records: list[Record] = []
        lineage: list[Lineage] = []
        for edit in edits:
            for fact in drawn.get(edit.key, []):
                record = link(edit, fact)
                records += [record, *self._fitting(edit, fact, record)]
                lineage.append(Lineage(item_id=record.id, stage="neighbours", parents=(edit.id, fact.id), made_at=now))
        if records:
            self._store.put(records, lineage)

    def _fitting(self, edit: Fact, fact: Fact, record: Neighbour) -> list[Record]:
        """Verdicts on a neighbour's prompts in relation to one edit."""
        verdicts: list[Record] = []
        fit = False
        for prompt in self._prompts.get(fact.key, []):
            found = judge("neighbour", Material(fact=fact, prompt=prompt, edit=edit, link=record))
            fit |= standing(found) == "keep"
            verdicts += found
        self._tally.link(kept=fit)
        return verdicts


async def construct(
    work: Work,
    *,
    store: Store,
    endpoint: Endpoint,
    cache: ReplyCache,
    plan: Plan,
    origin: str,
    progress: Callable[[Progress], None] = lambda _: None,
) -> Yield:
    """Construct everything that ``work`` names, against an endpoint, into a store."""
    async with Client(endpoint, cache) as client:
        return await Run(store, client, plan, origin=origin, progress=progress)(work)


def _batches(facts: Sequence[Fact], size: int) -> Iterator[Sequence[Fact]]:
    for start in range(0, len(facts), size):
        yield facts[start : start + size]
