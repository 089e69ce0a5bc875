"""What methods may learn from: declared cases, never evaluated ones; and what a trained method has learnt from."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from curation.case_sources.opening import SplitChoice, open_split
from curation.loaders import load
from curation.shipped import SPLITS, demonstrations_split, reserved_case
from curation.shipped.from_facts import documents_from_facts, events_from_facts
from curation.splits.split_file import Split, cases_digest
from schemas.cases import FACT, AnyCase, Case, CaseNeighbour, DocumentCase
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.core.ids import canonical_json, digest, seed, text_id
from schemas.core.plain_text import plain_text
from schemas.facts import Entity, Fact, Neighbour

log = logging.getLogger(__name__)

MADE = ("events_from_facts", "documents_from_facts")  # of the facts that come with the program
SHIPPED = ("shipped", "demonstrations", "mini", "open:dev", *MADE)
KEPT = 2  # neighbours a case gets from a list of facts


class SupportChoice(Options):
    """Where a run's support comes from: a shipped name, a store's split, a split file, or a file of facts.

    Attributes:
        name: ``shipped`` (the demonstrations and the facts that come with the program), ``demonstrations`` (those
            alone), ``mini``, ``open:dev``, ``events_from_facts`` (events made of the temporal facts that come with the
            program), ``documents_from_facts`` (documents of two such facts each); or, with ``store``, a split in the
            store.
        store: A store.
        file: A frozen split file.
        facts: A file of facts; cases are made of them.
        prefix: Take only cases whose key begins so (a part of a split).
        limit: Take so many, drawn with ``seed``.
        overlapping: What becomes of cases that share a subject or key with the evaluated split: ``refuse`` the run
            (default), or ``leave_out`` the cases (default for ``shipped``, ``demonstrations``, ``..._from_facts``).

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
    def _check_one(self) -> SupportChoice:
        if sum(x is not None for x in (self.name, self.file, self.facts)) != 1:
            raise ValueError(f"give one of: a name ({', '.join(SHIPPED)}, or one in a store), a file, facts")
        if self.store is None and self.name is not None and self.name not in SHIPPED:
            if self.name in SPLITS:
                raise ValueError(
                    f"'{self.name}' is for evaluation only, nothing may learn from it (open:dev is for that)"
                )
            raise ValueError(f"the split '{self.name}' needs a store (shipped are {', '.join(SHIPPED)})")
        if self.store is not None and self.name is None:
            raise ValueError("a store needs the name of a split")
        return self

    @property
    def leaves_out(self) -> bool:
        """Whether overlapping cases are left out; a run is refused otherwise."""
        named = self.store is None and self.name in ("shipped", "demonstrations", *MADE)
        return self.overlapping == "leave_out" or (self.overlapping is None and named)

    @property
    def label(self) -> str:
        """What it is called in messages."""
        return self.name or str(self.file or self.facts)


class Support(NamedTuple):
    """Declared cases, the digest of their content, where they come from, how many overlapping ones were left out."""

    cases: tuple[AnyCase, ...] = ()
    digest: str = ""
    name: str = ""
    left_out: int = 0

    @property
    def type(self) -> str:
        """Type of the cases' edits: ``fact``, ``event`` or ``document``."""
        return self.cases[0].request.kind if self.cases else FACT


class TrainingData(NamedTuple):
    """What something was learnt from: keys of cases and edits, folded names of all subjects, digest of the cases.

    ``texts`` are digests of the folded texts of events and documents: the same text under another key is the
    same edit.
    """

    name: str
    digest: str
    keys: frozenset[str]
    subjects: frozenset[str]
    texts: frozenset[str] = frozenset()

    @classmethod
    def of(cls, name: str, cases: Iterable[AnyCase]) -> TrainingData:
        """Keys and subjects of cases, their neighbours included: a neighbour is asked about too."""
        cases = tuple(cases)
        keys = {c.key for c in cases} | {key for c in cases for key, _ in _subjects(c)}
        names = (n for c in cases for _, entities in _subjects(c) for e in entities for n in e.compared_names)
        texts = (text_digest(c.request.text) for c in cases if not isinstance(c, Case))
        return cls(name, cases_digest(cases), frozenset(keys), frozenset(names), frozenset(texts))

    def shares(self, case: AnyCase) -> str | None:
        """What a case has in common with it, in words, or None."""
        if case.key in self.keys:
            return f"the case '{case.key}'"
        if isinstance(case, Case):
            return next((text for fact in _facts(case) if (text := self.shares_fact(fact))), None)
        if case.request.key in self.keys or text_digest(case.request.text) in self.texts:
            return f"the {case.request.kind} '{case.request.key}'"
        subjects = [entity for _, entities in _subjects(case) for entity in entities]
        return next((f"the subject '{e.text}'" for e in subjects if e.compared_names & self.subjects), None)

    def shares_fact(self, fact: Fact) -> str | None:
        """The same of a fact: its key, or a name of its subject."""
        if fact.key in self.keys:
            return f"the fact '{fact.key}'"
        return f"the subject '{fact.subject.text}'" if fact.subject.compared_names & self.subjects else None


def text_digest(text: str) -> str:
    """Digest of a text, its case, punctuation and spaces aside."""
    return text_id("text", plain_text(text))


def _subjects(case: AnyCase) -> list[tuple[str, tuple[Entity, ...]]]:
    """Keys of what a case edits and asks about, each with the entities that it is about.

    Of an event: those that fill its template, and the subjects of its questions in scope. Of a document: its own.
    """
    if isinstance(case, DocumentCase):
        return [(case.document.key, tuple(Entity(text=name) for name in case.document.names))]
    if isinstance(case, Case):
        return [(fact.key, (fact.subject,)) for fact in _facts(case)]
    question_subjects = tuple(q.subject for q in case.facts if q.subject is not None and q.scope == "in")
    return [(case.event.key, (*(filled.entity for filled in case.event.roles), *question_subjects))]


def _facts(case: Case) -> list[Fact]:
    return [case.fact, *(n.fact for n in case.neighbours)]


def open_support(choice: SupportChoice | None, split: Split | None) -> Support:
    """Declared cases, without any that share a subject or key with the evaluated split.

    The whole split counts, not only the cases that a run takes of it, so that its limit changes nothing here.

    Raises:
        UserError: a case overlaps and is not to be left out, is one of ``open:test``, or none is left.
    """
    if choice is None:
        return Support()
    evaluated = TrainingData.of(split.name, split.all_cases) if split is not None else None
    facts, named = _open(choice)
    refuse_reserved(named, where=choice.label)
    facts, left = _free_facts(facts, choice, evaluated)
    cases, more = _drop_overlap(named, choice, evaluated)
    cases += documents_from_facts(facts) if choice.name == "documents_from_facts" else cases_from_facts(facts)
    left += more
    cases = [c for c in cases if c.key.startswith(choice.prefix)]
    cases = [c for c in cases if not isinstance(c, Case) or c.fact.new is not None]  # there is something to learn
    if not cases:
        raise UserError("no case of the support is left", where=choice.label, fix="name other cases, or fewer limits")
    cases.sort(key=lambda c: (seed(str(choice.seed), c.key, "support"), c.key))
    cases = cases[: choice.limit]
    if left:
        log.info("%d of the support's cases or facts share something with the evaluated split: left out", left)
    support_digest = digest(canonical_json(c.payload()) for c in cases)  # their order is part of it
    return Support(tuple(cases), support_digest, choice.label, left)


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
    subject_names, old = fact.subject.compared_names, fact.old.compared_names
    others = [f for f in group if not f.subject.compared_names & subject_names]
    same = [f for f in others if f.old.compared_names & old]
    chosen = sorted(same or others, key=lambda f: seed(fact.key, f.key, "neighbour"))[: KEPT if same else 1]
    for other in chosen:
        unedited = other.model_copy(
            update={"key": f"{other.key}/kept", "new": None, "change": "none", "changed_on": None}
        )
        relation_to_edit: Literal["same_object", "near_subject"] = "same_object" if same else "near_subject"
        yield CaseNeighbour(
            link=Neighbour(key=f"{fact.key}~{unedited.key}", edit=fact.key, fact=unedited.key, how=relation_to_edit),
            fact=unedited,
        )


def _open(choice: SupportChoice) -> tuple[Sequence[Fact], Sequence[AnyCase]]:
    """What a choice names: facts of which cases are made, and cases as they are."""
    if choice.facts is not None:
        return load(str(choice.facts)).require(skip_bad=True), ()
    if choice.store is None and choice.name in ("shipped", *MADE):
        facts = load("shipped").require()
        if choice.name == "events_from_facts":
            return (), events_from_facts(facts)
        return facts, demonstrations_split().all_cases if choice.name == "shipped" else ()
    if choice.store is None and choice.name == "demonstrations":
        return (), demonstrations_split().all_cases
    return (), open_split(SplitChoice(name=choice.name, store=choice.store, file=choice.file)).all_cases


def refuse_reserved(cases: Iterable[AnyCase], *, where: str) -> None:
    """Refuse to learn from a case that ``open:test`` holds, under whatever name it comes.

    Raises:
        UserError: it names the case.
    """
    if key := reserved_case(c for c in cases if isinstance(c, Case)):
        raise UserError(
            f"'{key}' is a case of open:test, from which nothing may learn",
            where=where,
            fix="learn from open:dev, or from cases of your own",
        )


def _drop_overlap(
    cases: Iterable[AnyCase], choice: SupportChoice, evaluated: TrainingData | None
) -> tuple[list[AnyCase], int]:
    """Cases without overlap: a neighbour alone is dropped from its case; the number of cases dropped whole."""
    if evaluated is None:
        return list(cases), 0
    separate_cases: list[AnyCase] = []
    left = 0
    for case in cases:
        shared = evaluated.shares(case)
        if shared and not choice.leaves_out:
            raise UserError(
                f"the support's case '{case.key}' shares {shared} with the evaluated split '{evaluated.name}'",
                where=choice.label,
                fix='name other cases, or set support.overlapping = "leave_out"',
            )
        if not isinstance(case, Case):
            left += bool(shared)
            separate_cases += [] if shared else [case]
            continue
        if case.key in evaluated.keys or evaluated.shares_fact(case.fact):
            left += 1
            continue
        beside = tuple(n for n in case.neighbours if not evaluated.shares_fact(n.fact))
        separate_cases.append(
            case if len(beside) == len(case.neighbours) else case.model_copy(update={"neighbours": beside})
        )
    return separate_cases, left


def _free_facts(facts: Iterable[Fact], choice: SupportChoice, evaluated: TrainingData | None) -> tuple[list[Fact], int]:
    """Facts without overlap, and the number of the others.

    Raises:
        UserError: a fact overlaps and is not to be left out.
    """
    facts = list(facts)
    free = [f for f in facts if evaluated is None or not evaluated.shares_fact(f)]
    if evaluated is not None and len(free) < len(facts) and not choice.leaves_out:
        first = next(f for f in facts if evaluated.shares_fact(f))
        raise UserError(
            f"the support's fact '{first.key}' is about '{first.subject.text}', as the evaluated split "
            f"'{evaluated.name}' is ({len(facts) - len(free)} of {len(facts)} facts overlap)",
            where=choice.label,
            fix='name other facts, or set support.overlapping = "leave_out"',
        )
    return free, len(facts) - len(free)
