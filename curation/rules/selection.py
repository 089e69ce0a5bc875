"""From the store to the cases of a split: verdicts measure and describe, the rule decides, every loss is counted.

The result is a function of the store, the rule and the errata: changing a threshold measures nothing again.
Edits are decided block by block, so memory does not grow with the store. A block notes why an item is left out; these
notes are what ``split explain`` prints.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from curation.rules.rule import Decision, EventRule, SplitRule, worst
from curation.rules.ruling import Ruling
from curation.splits.errata import Errata
from curation.store.reader import KeyRange
from curation.store.store import Store
from schemas.cases import AnyCase, Case, CaseNeighbour, DocumentCase, EventCase
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.documents.document import Document, DocumentProbe
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.text.counting import counted

BLOCK = 2000
"""Edits that are decided at a time."""
_VERBS = {"drop": ("dropped", "drops"), "hold": ("held", "holds")}


class Selection(NamedTuple):
    """The cases, and how many items were left out for which reason."""

    cases: list[AnyCase]
    counts: dict[str, int]


def choose(store: Store, rule: SplitRule, *, errata: Errata | None = None) -> Selection:
    """Cases that the rule makes of the store's current records, in order of their keys."""
    choice = SelectionStream(store, rule, errata=errata)
    return Selection(list(choice), choice.counts)


class SelectionStream:
    """The same, one case at a time and once; ``counts`` are complete when all cases have come.

    Attributes:
        unprompted: Questions that no check drops and that have no prompt, by reason; no part of a split's header.
        prompts: Script prompts that were looked at.
    """

    def __init__(self, store: Store, rule: SplitRule, *, errata: Errata | None = None, block: int = BLOCK) -> None:
        self._store, self._size = store, block
        self._ruling = Ruling(store, rule, errata=errata)
        self._counts: Counter[str] = Counter({f"{rule.edited}s": 0} if rule.edited != "fact" else {})
        self.unprompted: Counter[str] = Counter()
        self.prompts = 0

    @property
    def counts(self) -> dict[str, int]:
        """What was counted so far, by reason."""
        return dict(sorted({"cases": 0, **self._counts}.items()))

    def __iter__(self) -> Iterator[AnyCase]:
        rule = self._ruling.rule
        for keys in self._store.ranges(rule.prefix, self._size, kind=rule.edited):
            block = block_of(self._store, self._ruling, keys)
            cases = block.cases()
            if isinstance(block, FactBlock):
                self.prompts += sum(p.fact in keys for p in block.cut)
                self.unprompted.update(block.count_without_prompt(self))
            self._counts.update(block.counts)
            self._counts["cases"] += len(cases)
            yield from cases

    @cached_property
    def prompted_elsewhere(self) -> set[str]:
        """Keys of questions that another fact's prompt names."""
        return self._store.asked_elsewhere()


class Loss(NamedTuple):
    """Why a record is left out: the decision, and the record that it is about."""

    decision: Decision
    record: Record

    @property
    def text(self) -> str:
        """The loss in a clause."""
        decision, record = self.decision, self.record
        if not decision.by:
            return decision.reason
        reason = f": {decision.reason}" if decision.reason else ""
        return f"{decision.by} {_VERBS[decision.outcome][1]} the {record.kind} '{record.key}'{reason}"


class Block:
    """The edits of a range of keys with everything that decides about them.

    Attributes:
        counts: How many items were left out, by reason.
        losses: Why an item is left out, by its id (of a pair: both ids; of a fact as a neighbour: ``beside ID``).
    """

    def __init__(self, ruling: Ruling, records: Iterable[Record]) -> None:
        self._all, self._rule = ruling, ruling.rule
        self._ruling = ruling.over(record.id for record in records)
        self.counts: Counter[str] = Counter()
        self.losses: dict[str, Loss] = {}

    def cases(self) -> list[AnyCase]:
        """The cases, in order of their keys; people can judge whole cases, of exactly their content."""
        cases = list(self._make_cases())
        whole = self._all.over(case.id for case in cases).verdicts
        return [c for c in cases if self._passes(whole.judge(c.kind, c.id), "case", c, lost=c.request.id)]

    def _make_cases(self) -> Iterator[AnyCase]:
        raise NotImplementedError

    def _passes(
        self, decision: Decision, what: str, record: Record, *, lost: str | None = None, count: bool = True
    ) -> bool:
        """Whether a decision keeps a record; else it is counted as ``what``, and noted as the loss of ``lost``."""
        if decision.outcome == "keep":
            return True
        self.losses[lost or record.id] = Loss(decision, record)
        if count:
            self.counts[f"{what}: {_VERBS[decision.outcome][0]} by {decision.by}"] += 1
        return False

    def _takes(self, edit: Fact | Event | Document) -> bool:
        """Whether the rule looks at an edit and keeps it."""
        if reason := self._ruling.out_of_scope(edit):
            self.losses[edit.id] = Loss(Decision("drop", reason=reason), edit)
            return False
        self.counts[f"{edit.kind}s"] += 1
        return self._passes(self._ruling.decide(edit), edit.kind, edit)

    def _too_few(self, edit: Record, what: str, number: str, wanted: int, lost: Sequence[Loss] = ()) -> None:
        """Note an edit of which too little is left; ``lost`` are its parts that were left out."""
        self.counts[f"{edit.kind}: too few {what}"] += 1
        held = bool(lost) and all(loss.decision.outcome == "hold" for loss in lost)
        also = f" ({lost[0].text})" if lost else ""
        reason = f"'{edit.key}' has {number}, the rule wants {wanted}{also}"
        self.losses[edit.id] = Loss(Decision("hold" if held else "drop", reason=reason), edit)


def block_of(store: Store, ruling: Ruling, keys: KeyRange) -> Block:
    """The block of a range of keys, for the kind of edits that the rule is about."""
    return (FactBlock if ruling.rule.edited == "fact" else RequestBlock)(store, ruling, keys)


class FactBlock(Block):
    """Facts with their questions, scripts, prompts and neighbours.

    Attributes:
        cut: The script prompts of the facts and of their neighbours.
    """

    def __init__(self, store: Store, ruling: Ruling, keys: KeyRange) -> None:
        self._store, self._keys = store, keys
        self._facts = store.in_range(Fact, keys)
        links = store.in_range(Neighbour, keys, parent=True)
        targets = {link.fact for link in links}
        self._beside = {f.key: f for f in store.by_keys(Fact, targets)}
        cut = store.in_range(ScriptPrompt, keys, parent=True)
        cut += store.of_parents(ScriptPrompt, (t for t in targets if t not in keys))
        self.cut = sorted(cut, key=lambda p: p.key)
        questions = {q.key: q for q in store.in_range(ScriptQuestion, keys, parent=True)}
        questions |= {q.key: q for q in store.by_keys(ScriptQuestion, {p.question for p in cut} - questions.keys())}
        self._questions = questions
        self._scripts = {s.key: s for s in store.by_keys(Script, {p.script for p in cut})}
        scripts = self._scripts.values()
        super().__init__(ruling, [*self._facts, *links, *self._beside.values(), *cut, *questions.values(), *scripts])
        self._links: dict[str, list[Neighbour]] = defaultdict(list)
        for link in links:
            self._links[link.edit].append(link)
        self._prompts: dict[str, list[ScriptPrompt]] = defaultdict(list)
        self._lost_prompts: dict[str, list[Loss]] = defaultdict(list)
        for prompt in self.cut:
            self._sort_prompt(prompt)

    def _sort_prompt(self, prompt: ScriptPrompt) -> None:
        """Put a prompt under its fact: with those that pass with their question and script, or with the others."""
        records = (prompt, self._questions.get(prompt.question or ""), self._scripts.get(prompt.script or ""))
        losses = [Loss(self._ruling.decide(record), record) for record in records if record is not None]
        loss = min(losses, key=lambda one: ("drop", "hold", "keep").index(one.decision.outcome))
        count = prompt.fact in self._keys
        if self._passes(loss.decision, "prompt", loss.record, lost=prompt.id, count=count):
            self._prompts[prompt.fact].append(prompt)
        else:
            self._lost_prompts[prompt.fact].append(loss)

    def _make_cases(self) -> Iterator[Case]:
        for fact in self._facts:
            if self._takes(fact) and (case := self._case(fact)):
                yield case

    def _case(self, fact: Fact) -> Case | None:
        prompts, wanted = self._prompts.get(fact.key, []), self._rule.min_prompts
        neighbours = [near for link in self._links.get(fact.key, ()) if (near := self._neighbour(link))]
        if len(prompts) < wanted:
            number = counted(len(prompts), "script prompt")
            self._too_few(fact, "prompts", number, wanted, self._lost_prompts[fact.key])
            return None
        with_prompt, wanted = sum(bool(n.prompts) for n in neighbours), self._rule.min_neighbours
        if with_prompt < wanted:
            number = counted(with_prompt, "neighbour with a prompt", "neighbours with a prompt")
            self._too_few(fact, "neighbours", number, wanted)
            return None
        return Case(
            key=f"case/{fact.key}",
            fact=fact,
            questions=self._questions_of(prompts),
            prompts=tuple(prompts),
            neighbours=tuple(neighbours),
        )

    def _neighbour(self, link: Neighbour) -> CaseNeighbour | None:
        decide = self._ruling.decide
        fact = self._beside.get(link.fact)
        if fact is None or not self._passes(decide(link), "neighbour", link):
            return None
        if not self._passes(decide(fact, beside=True), "neighbour's fact", fact, lost=f"beside {fact.id}"):
            return None
        prompts = []
        for prompt in self._prompts.get(link.fact, ()):
            pair = worst([decide(link, prompt.id), decide(prompt, link.id)])
            if self._passes(pair, "neighbour prompt", prompt, lost=f"{link.id} {prompt.id}"):
                prompts.append(prompt)
        return CaseNeighbour(link=link, fact=fact, questions=self._questions_of(prompts), prompts=tuple(prompts))

    def _questions_of(self, prompts: Iterable[ScriptPrompt]) -> tuple[ScriptQuestion, ...]:
        """The questions of the prompts, each once, in order."""
        keys = dict.fromkeys(p.question for p in prompts)
        return tuple(self._questions[k] for k in keys if k is not None and k in self._questions)

    def count_without_prompt(self, stream: SelectionStream) -> Counter[str]:
        """Count the questions without a prompt that are left out; of the others, say why they have none."""
        named = {p.question for p in self.cut}
        lone = [q for q in self._questions.values() if q.fact in self._keys and q.key not in named]
        waiting = [
            q.key
            for q in lone
            if q.key not in stream.prompted_elsewhere and self._passes(self._ruling.decide(q), "question", q)
        ]
        scripts = self._store.of_parents(Script, waiting) if waiting else []
        ruling = self._all.over(s.id for s in scripts)
        reasons = dict.fromkeys(waiting, "question without a prompt: no script")
        for script in scripts:
            decision = ruling.decide(script)
            why = "none was cut of its script"
            if decision.outcome != "keep":
                why = f"its script was {_VERBS[decision.outcome][0]} by {decision.by}"
            reasons[script.question] = f"question without a prompt: {why}"
        return Counter(reasons.values())


Asked = FactQuestion | TendencyQuestion | DocumentProbe
"""What asks about an event or a document."""


class RequestBlock(Block):
    """Events with the questions about them, or documents with their probes."""

    def __init__(self, store: Store, ruling: Ruling, keys: KeyRange) -> None:
        of_events = isinstance(ruling.rule, EventRule)
        kinds: tuple[type[Asked], ...] = (FactQuestion, TendencyQuestion) if of_events else (DocumentProbe,)
        edits: type[Event] | type[Document] = Event if of_events else Document
        self._edits: list[Event | Document] = [*store.in_range(edits, keys)]
        self._asked = [record for kind in kinds for record in store.in_range(kind, keys, parent=True)]
        super().__init__(ruling, [*self._edits, *self._asked])

    def _make_cases(self) -> Iterator[EventCase | DocumentCase]:
        rule = self._rule
        passing: dict[str, list[Asked]] = defaultdict(list)
        for asked in self._asked:
            if self._passes(self._ruling.decide(asked), asked.kind.replace("_", " "), asked):
                passing[asked.document if isinstance(asked, DocumentProbe) else asked.event].append(asked)
        what = "questions" if isinstance(rule, EventRule) else "probes"
        wanted = rule.min_questions if isinstance(rule, EventRule) else getattr(rule, "min_probes", 1)
        for edit in self._edits:
            if not self._takes(edit):
                continue
            asked_of = passing[edit.key]
            if len(asked_of) < wanted:
                self._too_few(edit, what, counted(len(asked_of), f"kept {what[:-1]}"), wanted)
            elif isinstance(edit, Event):
                yield _event_case(edit, asked_of)
            else:
                probes = tuple(p for p in asked_of if isinstance(p, DocumentProbe))
                yield DocumentCase(key=f"case/{edit.key}", document=edit, probes=probes)


def _event_case(event: Event, asked: Sequence[Asked]) -> EventCase:
    """A case of an event; refuses questions that are both in and out of scope.

    A store can hold what no case can: records of several sources, each valid by itself.
    """
    first: dict[str, FactQuestion | TendencyQuestion] = {}
    questions = [q for q in asked if not isinstance(q, DocumentProbe)]
    for question in questions:
        earlier = first.setdefault(question.text.casefold(), question)
        if earlier.scope != question.scope:
            raise UserError(
                f"one question is both in and out of scope: {question.text!r} ('{earlier.key}' and '{question.key}')",
                where=question.event,
                fix=f"take one of them out: scedit split errata add {question.key} REASON --errata FILE",
            )
    facts = tuple(q for q in questions if isinstance(q, FactQuestion))
    tendencies = tuple(q for q in questions if isinstance(q, TendencyQuestion))
    return EventCase(key=f"case/{event.key}", event=event, facts=facts, tendencies=tendencies)
