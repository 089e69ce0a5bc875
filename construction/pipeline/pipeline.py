"""Construction of scripts: facts, questions, scripts, prompts, neighbours, checks, all into the store."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from construction.authoring.author import Author, ScriptWriter
from construction.authoring.diversity import BY as CHOSEN
from construction.authoring.diversity import chosen_verdict
from construction.authoring.outcome import MARK, FactOutcome, asked_as_edit
from construction.checks import CheckInputs, judge
from construction.llm.client import Client
from construction.llm.dry_run import NoStore
from construction.neighbours.same_object import (
    NeighbourCandidate,
    link,
)
from construction.pipeline.earlier_runs import generation_verdicts
from construction.pipeline.plan import ConstructionPlan, ConstructionWork
from construction.pipeline.runner import ConstructionProgress, run_in_batches
from construction.prompts.prompt_file import FILES
from construction.scripts.question_step import QuestionStep
from construction.scripts.script_step import ScriptStep
from construction.verifier.steps import Verifier
from curation.store.store import Store
from schemas.core.clock import now
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.scripts import ScriptPrompt
from schemas.verdicts import Verdict

logger = logging.getLogger(__name__)


def author_of(
    plan: ConstructionPlan,
    client: Client,
    *,
    writers: Iterable[tuple[Client, str]] = (),
    reader: Client | None = None,
    dropped: Mapping[str, Verdict] | None = None,
) -> Author:
    """Who writes what a plan asks for.

    Args:
        plan: What to construct.
        client: Asks the model that writes the questions.
        writers: Who writes the scripts, each with the profile of prompts it is asked with; the model that writes the
            questions where none is given.
        reader: Reads what the checks let pass, where somebody should.
        dropped: What was dropped in the store since an earlier run, by content id, with the verdict that says why.
    """
    wording = plan.wording()
    asked = [(who, FILES.load_all(profile, plan.prompts)["scripts"]) for who, profile in writers]
    return Author(
        client,
        questions=QuestionStep(wording["questions"]),
        writers=[ScriptWriter(who, ScriptStep(prompt)) for who, prompt in asked or [(client, wording["scripts"])]],
        reader=Verifier(reader, plan.prompts) if reader else None,
        unread=plan.unread,
        dropped=dropped,
    )


class Construction:
    """One construction.

    Args:
        store: Open for writing.
        author: Writes, and has somebody read, what comes of each fact.
        plan: What to construct.
        origin: Where the facts come from, for their lineage.
        progress: Called at the beginning and after every batch.
    """

    def __init__(
        self,
        store: Store | NoStore,
        author: Author,
        plan: ConstructionPlan,
        *,
        origin: str,
        progress: Callable[[ConstructionProgress], None] = lambda _: None,
    ) -> None:
        self._store, self._author, self._plan, self._origin = store, author, plan, origin
        self._progress = progress
        self._so_far = ConstructionProgress()
        self._prompts: dict[str, list[ScriptPrompt]] = {}
        self._beside: dict[tuple[str, str], tuple[Fact, ...]] = defaultdict(tuple)
        self._needed: set[str] = set()

    async def __call__(self, work: ConstructionWork) -> ConstructionProgress:
        """Do all of it; what became of the facts is counted from the store (``construction.report.store_funnel``).

        Raises:
            ModelError: the endpoint does not work; what is finished is kept.
        """
        for fact in (*work.edits, *work.others):
            self._beside[_place(fact)] += (fact,)
        self._so_far = ConstructionProgress(total=len(work.edits) + len(work.others))
        self._progress(self._so_far)
        self._needed = {d.fact.key for neighbours in work.drawn.values() for d in neighbours}
        for facts, edited in ((work.edits, True), (work.others, False)):
            await run_in_batches(
                [partial(self._make, fact, edited=edited) for fact in facts],
                partial(self._keep, edited=edited),
                size=self._plan.batch,
                ahead=self._plan.ahead,
            )
        for start in range(0, len(work.edits), 200):
            self._link(work.edits[start : start + 200], work.drawn)
        return self._so_far

    async def _make(self, fact: Fact, *, edited: bool) -> FactOutcome:
        """A fact through the models."""
        quota = self._plan.quota(edited=edited)
        return await self._author.make(fact, quota, edited=edited, facts=self._beside[_place(fact)])

    def _keep(self, outcomes: Sequence[FactOutcome], *, edited: bool) -> None:
        """Put a batch of facts into the store in one transaction."""
        quota = self._plan.quota(edited=edited)
        made_at = now()
        records: list[Record] = []
        lineage: list[Lineage] = []
        known = {v.item_id for v in self._store.verdicts([one.fact.id for one in outcomes]) if v.check == MARK}
        for one in outcomes:
            if edited or one.fact.id not in known:  # an earlier run may have asked for it as an edit
                records.append(asked_as_edit(one.fact, edited=edited))
            records += [one.fact, *one.records()]
            lineage.append(Lineage(item_id=one.fact.id, stage="load", made_at=made_at, detail={"from": self._origin}))
            lineage += one.lineage
            if one.fact.key in self._needed:
                self._prompts[one.fact.key] = one.prompts()
            if one.unfinished:
                logger.warning("%s is not finished: %s", one.fact.key, one.unfinished)
        if quota.candidates == quota.questions:  # an earlier run, with other numbers, may have left some over
            questions = {q.question.id: q.question for one in outcomes for q in one.questions()}
            left = [v.item_id for v in self._store.verdicts(questions) if v.by == CHOSEN and v.label == "drop"]
            records += [chosen_verdict(questions[item]) for item in left]
        if self._plan.generation is not None and isinstance(self._store, Store):
            records += generation_verdicts(self._store, outcomes, self._plan.generation)
        self._store.put(records, lineage, remade=[one.fact.key for one in outcomes if not one.unfinished])
        before, slots = self._so_far, [slot for one in outcomes for slot in one.slots]
        self._so_far = ConstructionProgress(
            done=before.done + len(outcomes),
            total=before.total,
            kept=before.kept + sum(slot.standing == "keep" for slot in slots),
            unfinished=before.unfinished + sum(bool(one.unfinished) for one in outcomes),
        )
        self._progress(self._so_far)

    def _link(self, edits: Sequence[Fact], drawn: dict[str, list[NeighbourCandidate]]) -> None:
        """Neighbour links of some edits, with the verdicts on their prompts."""
        made_at = now()
        records: list[Record] = []
        lineage: list[Lineage] = []
        for edit in edits:
            for candidate in drawn.get(edit.key, []):
                record, parents = link(edit, candidate), (edit.id, candidate.fact.id)
                records.append(record)
                for prompt in self._prompts.get(candidate.fact.key, []):
                    inputs = CheckInputs(fact=candidate.fact, prompt=prompt, edit=edit, link=record)
                    records += judge("neighbour", inputs)
                lineage.append(Lineage(item_id=record.id, stage="neighbours", parents=parents, made_at=made_at))
        if records:
            self._store.put(records, lineage, remade=[edit.key for edit in edits])


def _place(fact: Fact) -> tuple[str, str]:
    return fact.subject.text.casefold(), fact.relation.id
