"""Support: declared cases that methods learn from (demonstrations, training, a memory); never evaluated ones."""

from __future__ import annotations

import contextlib
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from curation.similarity.rouge import plain_text
from curation.splits.partition import names_of
from curation.splits.split_file import Split, cases_digest, load_split
from schemas.cases import Case, CaseNeighbour
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.core.ids import digest, seed
from schemas.facts import Fact, Neighbour

log = logging.getLogger(__name__)

SHIPPED = ("shipped", "demonstrations", "mini")
KEPT = 2  # neighbours a case gets from a list of facts


class SupportChoice(Options):
    """Where a run's support comes from: a shipped name, a store's split, a split file, or a file of facts.

    Attributes:
        name: ``shipped`` (the demonstrations and the facts that come with the program), ``demonstrations`` (those
            alone), ``mini``; or, with ``store``, a split in the store.
        store: A store. ``file``: a frozen split file. ``facts``: a file of facts; cases are made of them.
        prefix: Take only cases whose key begins so (a part of a split).
        limit: Take so many, drawn with ``seed``.
        overlapping: What becomes of cases that share a subject or key with the evaluated split: ``refuse`` the run
            (default), or ``leave_out`` the cases (default for ``shipped`` and ``demonstrations``).

    Example:
        >>> SupportChoice(name="shipped").leaves_out, SupportChoice(file="train.jsonl").leaves_out
        (True, False)
    """

    name: str | None = None
    store: Path | None = None
    file: Path | None = None
    facts: Path | None = None
    prefix: str = ""
    limit: int | None = Field(default=None, ge=1)
    seed: int = 0
    overlapping: Literal["refuse", "leave_out"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _name(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _one(self) -> SupportChoice:
        if sum(x is not None for x in (self.name, self.file, self.facts)) != 1:
            raise ValueError(f"give one of: a name ({', '.join(SHIPPED)}, or one in a store), a file, facts")
        if self.store is None and self.name is not None and self.name not in SHIPPED:
            raise ValueError(f"the split '{self.name}' needs a store (shipped are {', '.join(SHIPPED)})")
        if self.store is not None and self.name is None:
            raise ValueError("a store needs the name of a split")
        return self

    @property
    def leaves_out(self) -> bool:
        """Whether overlapping cases are left out; a run is refused otherwise."""
        named = self.store is None and self.name in ("shipped", "demonstrations")
        return self.overlapping == "leave_out" or (self.overlapping is None and named)

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return self.name or str(self.file or self.facts)


class Support(NamedTuple):
    """Declared cases, the digest of their content, where they come from, how many overlapping ones were left out."""

    cases: tuple[Case, ...] = ()
    digest: str = ""
    name: str = ""
    left_out: int = 0


class Learnt(NamedTuple):
    """What something was learnt from: keys of cases and facts, folded names of all subjects, digest of the cases."""

    name: str
    digest: str
    keys: frozenset[str]
    subjects: frozenset[str]

    @classmethod
    def of(cls, name: str, cases: Iterable[Case]) -> Learnt:
        """Keys and subjects of cases, their neighbours included: a neighbour is asked about too."""
        cases = tuple(cases)
        facts = [f for c in cases for f in _facts(c)]
        keys = frozenset(c.key for c in cases) | {f.key for f in facts}
        return cls(name, cases_digest(cases), keys, frozenset(n for f in facts for n in names_of(f.subject)))

    def shares(self, case: Case) -> str | None:
        """What a case has in common with it, in words, or None."""
        if case.key in self.keys:
            return f"the case '{case.key}'"
        return next((text for fact in _facts(case) if (text := self._fact(fact))), None)

    def _fact(self, fact: Fact) -> str | None:
        if fact.key in self.keys:
            return f"the fact '{fact.key}'"
        return f"the subject '{fact.subject.text}'" if names_of(fact.subject) & self.subjects else None

    def knows(self, fact: Fact) -> bool:
        """Whether a fact, by key or subject, is among it."""
        return self._fact(fact) is not None


def open_support(choice: SupportChoice | None, split: Split | None) -> Support:
    """Declared cases, without any that share a subject or key with the evaluated split.

    The whole split counts, not only the cases that a run takes of it, so that its limit changes nothing here.

    Raises:
        UserError: a case overlaps and is not to be left out, or none is left.
    """
    if choice is None:
        return Support()
    evaluated = Learnt.of(split.name, split.cases) if split is not None else None
    if choice.facts is not None or choice.name == "shipped":
        cases, left = _from_facts(choice, evaluated)
    else:
        cases, left = _clean(_open(choice), choice, evaluated)
    cases = [c for c in cases if c.key.startswith(choice.prefix) and c.fact.new is not None]
    if not cases:
        raise UserError("no case of the support is left", where=choice.label, fix="name other cases, or fewer limits")
    cases.sort(key=lambda c: (seed(str(choice.seed), c.key, "support"), c.key))
    cases = cases[: choice.limit]
    if left:
        log.info("%d of the support's cases or facts share something with the evaluated split: left out", left)
    own = digest([cases_digest(cases), *(c.key for c in cases)])  # their order is part of it
    return Support(tuple(cases), own, choice.label, left)


def refuse_shared(learnt: Learnt, split: Split, *, where: str) -> None:
    """Refuse what was learnt from cases that a split evaluates.

    Raises:
        UserError: one sentence that names what is shared, and where.
    """
    found = [what for case in split.cases if (what := learnt.shares(case))]
    if found:
        raise UserError(
            f"it learnt from {learnt.name}, which shares {found[0]} with the evaluated split '{split.name}' "
            f"({len(found)} of {len(split.cases)} cases share something)",
            where=where,
            fix="learn from cases that share nothing with it (scedit separate makes such parts)",
        )


def check_editors(editors: Mapping[str, Any], *, split: Split, support: Support, model: str) -> None:
    """Refuse, before a model is loaded, methods that lack support or learnt from evaluated cases.

    Args:
        editors: Choices (``name`` and ``params``) by label.
        split: The evaluated split.
        support: What methods may learn from.
        model: Name of the model, for the presets.

    Raises:
        UserError: an unknown method; no support where one is needed; a checkpoint that shares cases with the split.
    """
    from evaluation.editors import EDITORS
    from evaluation.editors.presets import preset

    for label, choice in editors.items():
        kind = EDITORS.get(choice.name)
        options: dict[str, Any] = {}
        with contextlib.suppress(UserError):  # a method that is scaled to the model's depth
            options = preset(choice.name, model)
        options |= choice.params
        if kind.wants_support(options) and not support.cases:
            raise UserError(
                f"'{choice.name}' learns from declared cases, and none are declared",
                where=f"editors.{label}",
                fix='add support = "shipped" to the run, or a split of your own',
            )
        if learnt := kind.learnt(options):
            refuse_shared(learnt, split, where=f"editors.{label}")


def cases_from_facts(facts: Iterable[Fact]) -> list[Case]:
    """Facts with a new object as cases; their neighbours are other facts of the list.

    A neighbour has the same relation and, where there is one, the same old object, else another one. Which of them is
    drawn from the keys, so that equal facts make equal cases.
    """
    facts = sorted(facts, key=lambda f: f.key)
    groups: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        groups[fact.relation.id].append(fact)
    return [
        Case(key=f"case/{fact.key}", fact=fact, neighbours=tuple(_neighbours(fact, groups[fact.relation.id])))
        for fact in facts
        if fact.new is not None
    ]


def _neighbours(fact: Fact, group: Sequence[Fact]) -> Iterable[CaseNeighbour]:
    own, old = names_of(fact.subject), names_of(fact.old)
    others = [f for f in group if not names_of(f.subject) & own]
    same = [f for f in others if names_of(f.old) & old]
    chosen = sorted(same or others, key=lambda f: seed(fact.key, f.key, "neighbour"))[: KEPT if same else 1]
    for other in chosen:
        kept = other.model_copy(update={"key": f"{other.key}/kept", "new": None, "change": "none", "changed_on": None})
        how: Literal["same_object", "near_subject"] = "same_object" if same else "near_subject"
        yield CaseNeighbour(
            link=Neighbour(key=f"{fact.key}~{kept.key}", edit=fact.key, fact=kept.key, how=how), fact=kept
        )


def _facts(case: Case) -> list[Fact]:
    return [case.fact, *(n.fact for n in case.neighbours)]


def _open(choice: SupportChoice) -> Sequence[Case]:
    if choice.file is not None:
        return load_split(choice.file).cases
    if choice.store is not None:
        from curation.store.store import Store

        with Store.open(choice.store) as store:
            return store.split(choice.name or "").cases
    from curation.shipped import demonstrations_split, mini_split

    return (mini_split() if choice.name == "mini" else demonstrations_split()).cases


def _clean(cases: Iterable[Case], choice: SupportChoice, evaluated: Learnt | None) -> tuple[list[Case], int]:
    """Cases without overlap: a neighbour alone is dropped from its case; the number of cases dropped whole."""
    if evaluated is None:
        return list(cases), 0
    kept, left = [], 0
    for case in cases:
        shared = evaluated.shares(case)
        if shared and not choice.leaves_out:
            raise UserError(
                f"the support's case '{case.key}' shares {shared} with the evaluated split '{evaluated.name}'",
                where=choice.label,
                fix='name other cases, or set support.overlapping = "leave_out"',
            )
        if case.key in evaluated.keys or evaluated.knows(case.fact):
            left += 1
            continue
        beside = tuple(n for n in case.neighbours if not evaluated.knows(n.fact))
        kept.append(case if len(beside) == len(case.neighbours) else case.model_copy(update={"neighbours": beside}))
    return kept, left


def _from_facts(choice: SupportChoice, evaluated: Learnt | None) -> tuple[list[Case], int]:
    """Cases of a file of facts, or of all that is shipped: overlapping facts go before cases are made of the rest."""
    from curation.loaders import load

    facts = list(load(str(choice.facts or "shipped")).require(skip_bad=True))
    free = [f for f in facts if evaluated is None or not evaluated.knows(f)]
    if evaluated is not None and len(free) < len(facts) and not choice.leaves_out:
        first = next(f for f in facts if evaluated.knows(f))
        raise UserError(
            f"the support's fact '{first.key}' is about '{first.subject.text}', as the evaluated split "
            f"'{evaluated.name}' is ({len(facts) - len(free)} of {len(facts)} facts overlap)",
            where=choice.label,
            fix='name other facts, or set support.overlapping = "leave_out"',
        )
    left = len(facts) - len(free)
    written: list[Case] = []
    if choice.facts is None:
        from curation.shipped import demonstrations_split

        written, more = _clean(demonstrations_split().cases, choice, evaluated)
        left += more
        taken = {plain_text(c.fact.subject.text) for c in written}
        free = [f for f in free if plain_text(f.subject.text) not in taken]
    return [*written, *cases_from_facts(free)], left
