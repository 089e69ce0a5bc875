"""Construction of scripts: facts, questions, scripts, prompts, neighbours, checks, all into the store."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import ceil
from pathlib import Path
from typing import NamedTuple

from construction.authoring.author import Author, QuestionQuota, ScriptWriter
from construction.authoring.diversity import BY as CHOSEN
from construction.authoring.diversity import chosen_verdict
from construction.authoring.outcome import MARK, FactOutcome, asked_as_edit
from construction.checks import CheckInputs, judge
from construction.llm.client import Client
from construction.llm.dry_run import NoStore
from construction.neighbours.near_subjects import SOURCE, TFIDF, nearest, space_of
from construction.neighbours.own_prompts import own_neighbours
from construction.neighbours.same_object import (
    NeighbourCandidate,
    draw_same_object,
    link,
    norm,
    source_neighbours,
    with_known_relations,
)
from construction.pipeline.earlier_runs import Choice, generation_verdicts
from construction.pipeline.runner import ConstructionProgress, run_in_batches
from construction.prompts.prompt_file import FILES, WriterPrompt
from construction.scripts.question_step import QuestionStep
from construction.scripts.script_step import ScriptStep
from construction.verifier.steps import Verifier
from curation.store.store import Store
from schemas.core.clock import now
from schemas.core.config import Options
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.scripts import ScriptPrompt
from schemas.text.counting import counted
from schemas.verdicts import Verdict

logger = logging.getLogger(__name__)

AHEAD = 3  # batches in the making beyond the one that is stored next, so that no place waits for a slow call


class ConstructionPlan(Options):
    """What to construct.

    Attributes:
        profile: Kind of model the prompts are worded for.
        prompts: Folder with the user's own prompts, which replace the profile's.
        questions: Script questions for each edited fact (4 in the paper).
        candidates: Questions asked for, of which ``questions`` are chosen; None for as many as are kept.
        scripts: Scripts of each author for each question; 0 for questions alone, which people may screen first.
        neighbours: Neighbour facts for each edited fact, 0 for none.
        neighbour_questions: Script questions for a fact that only serves as a neighbour; over-generated in proportion.
        neighbours_by: How a temporal edit's nearest subjects are found: ``tfidf``, ``embeddings``, a model's folder or
            name; ``source`` takes the neighbours, of any edit, that came with the facts.
        batch: Facts between two transactions.
        ahead: Batches in the making beyond the one that is stored next.
        generation: What becomes of questions and scripts that an earlier construction wrote for the same facts with
            another model, prompt or number; None where there may be none.
        unread: Prompts that no model reads are ``unsure`` until somebody does.
    """

    profile: str = "paper"
    prompts: Path | None = None
    questions: int = 4
    candidates: int | None = None
    scripts: int = 1
    neighbours: int = 2
    neighbour_questions: int = 1
    neighbours_by: str = TFIDF
    batch: int = 20
    ahead: int = AHEAD
    generation: Choice | None = None
    unread: bool = False

    def quota(self, *, edited: bool) -> QuestionQuota:
        """How much is asked for a fact that is edited, or one that only serves as a neighbour.

        Example:
            >>> ConstructionPlan(questions=4, candidates=6, neighbour_questions=1).quota(edited=False)
            QuestionQuota(questions=1, candidates=2, scripts=1)
        """
        wanted = self.questions if edited else self.neighbour_questions
        candidates = wanted if self.candidates is None else ceil(wanted * self.candidates / self.questions)
        return QuestionQuota(wanted, max(wanted, candidates), self.scripts)

    def wording(self) -> dict[str, WriterPrompt]:
        """The prompts: the user's own where given, else the profile's."""
        return FILES.load_all(self.profile, self.prompts)


class ConstructionWork(NamedTuple):
    """What a plan comes to for given facts.

    Attributes:
        edits: Facts to be edited.
        drawn: Their neighbour facts, by key of the edit.
        others: Facts that only serve as neighbours, in order of their keys.
    """

    edits: tuple[Fact, ...]
    drawn: dict[str, list[NeighbourCandidate]]
    others: tuple[Fact, ...]

    def alone(self) -> str:
        """A sentence on the edits that were to have neighbours and have none; empty where all have some."""
        without = [edit.key for edit in self.edits if edit.key in self.drawn and not self.drawn[edit.key]]
        if not without:
            return ""
        named = ", ".join(without[:5]) + (" ..." if len(without) > 5 else "")
        return (
            f"{len(without):,} of {counted(len(self.edits), 'fact')} have no neighbour, so S-NS or S-BO has no value: "
            f"{named}; name more facts with --neighbours-from (shipped, a file), or a column neighbours in a table."
        )


def plan_work(
    edits: Sequence[Fact], table: Sequence[Fact], plan: ConstructionPlan, *, beside: Sequence[Record] = ()
) -> ConstructionWork:
    """The facts to work on.

    A counterfactual edit gets neighbours with its old object (ScEdit-CF), a temporal one nearest subjects (ScEdit-T).

    Args:
        edits: Facts to be edited.
        table: All facts that neighbours may be drawn from.
        plan: What to construct.
        beside: What came with the facts: neighbour facts, which may be drawn too, and links, for ``source``.
    """
    drawn: dict[str, list[NeighbourCandidate]] = {}
    if plan.neighbours and plan.neighbours_by == SOURCE:
        drawn = source_neighbours(edits, beside, k=plan.neighbours)
    elif plan.neighbours:
        known = {f.key for f in table}
        whole = [*table, *(f for f in beside if isinstance(f, Fact) and f.key not in known)]
        originals = {f.key: f for f in whole}
        worked, whole = list(with_known_relations(edits, whole)), list(with_known_relations(whole, whole))
        later = [f for f in worked if f.change == "temporal"]
        same = draw_same_object([f for f in worked if f.change != "temporal"], whole, k=plan.neighbours)
        near = nearest(later, whole, k=plan.neighbours, space=space_of(plan.neighbours_by)) if later else {}
        _fill_up(same, [f for f in worked if f.key in same], whole, k=plan.neighbours)
        found = {f.key: near[f.key] if f.key in near else [NeighbourCandidate(x) for x in same[f.key]] for f in edits}
        drawn = {
            key: [one._replace(fact=originals.get(one.fact.key, one.fact)) for one in some]
            for key, some in found.items()
        }
    edit_keys = {f.key for f in edits}
    others = {d.fact.key: d.fact for neighbours in drawn.values() for d in neighbours if d.fact.key not in edit_keys}
    return ConstructionWork(tuple(edits), drawn, tuple(others[k] for k in sorted(others)))


def _fill_up(drawn: dict[str, list[Fact]], edits: Sequence[Fact], table: Sequence[Fact], *, k: int) -> None:
    """Add facts from the edits' own neighbourhood prompts where the table gave fewer than ``k``."""
    lacking = [f for f in edits if len(drawn[f.key]) < k and f.neighbour_prompts]
    more = own_neighbours(lacking, table, k={f.key: len(f.neighbour_prompts) for f in lacking}) if lacking else {}
    for key, candidates in more.items():
        known = {norm(f.subject.text) for f in drawn[key]}
        new = [f for f in candidates if norm(f.subject.text) not in known]
        drawn[key] = [*drawn[key], *new[: k - len(drawn[key])]]


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
