"""What is to be constructed, of which facts and neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Literal, NamedTuple

from construction.authoring.author import QuestionQuota
from construction.neighbours.near_subjects import SOURCE, TFIDF, nearest, space_of
from construction.neighbours.own_prompts import own_neighbours
from construction.neighbours.same_object import (
    NeighbourCandidate,
    draw_same_object,
    norm,
    source_neighbours,
    with_known_relations,
)
from construction.prompts.prompt_file import FILES, WriterPrompt
from schemas.core.config import Options
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.text.counting import counted

Choice = Literal["add", "replace"]
"""What becomes of an earlier generation: it stays beside the new one, or the new one takes its place."""
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
