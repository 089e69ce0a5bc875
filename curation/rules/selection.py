"""From the store to the cases of a split: verdicts measure and describe, the rule decides, every loss is counted.

The result is a function of the store, the rule and the errata: changing a threshold measures nothing again.
Edits are decided block by block, so memory does not grow with the store.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from curation.rules.rule import Decision, EventRule, SplitRule, Threshold, worst
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

__all__ = ["Selection", "SelectionStream", "SplitRule", "Threshold", "choose"]

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
        self._elsewhere: set[str] | None = None

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
                block.count_lost_questions(self._prompted_elsewhere)
                self.unprompted.update(block.count_without_prompt(self._prompted_elsewhere))
            self._counts.update(block.counts)
            self._counts["cases"] += len(cases)
            yield from cases

    def _prompted_elsewhere(self) -> set[str]:
        if self._elsewhere is None:
            self._elsewhere = self._store.asked_elsewhere()
        return self._elsewhere


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

    def __init__(self, ruling: Ruling) -> None:
        self._all, self._rule = ruling, ruling.rule
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

    def _short(self, record: Record, what: str, reason: str, *, held: bool = False) -> None:
        """An edit of which too little is left."""
        self.counts[what] += 1
        self.losses[record.id] = Loss(Decision("hold" if held else "drop", reason=reason), record)


def block_of(store: Store, ruling: Ruling, keys: KeyRange) -> Block:
    """The block of a range of keys, for the kind of edits that the rule is about."""
    return (FactBlock if ruling.rule.edited == "fact" else RequestBlock)(store, ruling, keys)


class FactBlock(Block):
    """Facts with their questions, scripts, prompts and neighbours.

    Attributes:
        cut: The script prompts of the facts and of their neighbours.
    """

    def __init__(self, store: Store, ruling: Ruling, keys: KeyRange) -> None:
        super().__init__(ruling)
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
        judged = (self._facts, links, self._beside.values(), cut, questions.values(), self._scripts.values())
        self._ruling = ruling.over(record.id for records in judged for record in records)
        self._links: dict[str, list[Neighbour]] = defaultdict(list)
        for link in links:
            self._links[link.edit].append(link)
        self._prompts: dict[str, list[ScriptPrompt]] = defaultdict(list)
        self._lost_prompts: dict[str, list[Loss]] = defaultdict(list)
        self._sort_prompts()

    def _sort_prompts(self) -> None:
        """Prompts that pass with their question and script, by their fact."""
        for record in (*self._questions.values(), *self._scripts.values()):
            if (decision := self._ruling.of(record)).outcome != "keep":
                self.losses[record.id] = Loss(decision, record)
        for prompt in self.cut:
            parents = (self._questions.get(prompt.question or ""), self._scripts.get(prompt.script or ""))
            losses = [self.losses[r.id] for r in parents if r is not None and r.id in self.losses]
            if (decision := self._ruling.of(prompt)).outcome != "keep":
                losses.insert(0, Loss(decision, prompt))
            if not losses:
                self._prompts[prompt.fact].append(prompt)
                continue
            loss = min(losses, key=lambda one: one.decision.outcome != "drop")
            self._passes(loss.decision, "prompt", loss.record, lost=prompt.id, count=prompt.fact in self._keys)
            self._lost_prompts[prompt.fact].append(loss)

    def _make_cases(self) -> Iterator[Case]:
        for fact in self._facts:
            if not self._ruling.in_scope(fact):
                continue
            self.counts["facts"] += 1
            if self._passes(self._ruling.of_edit(fact), "fact", fact) and (case := self._case(fact)):
                yield case

    def _case(self, fact: Fact) -> Case | None:
        prompts = self._prompts.get(fact.key, [])
        neighbours = [neighbour for link in self._links.get(fact.key, ()) if (neighbour := self._neighbour(link))]
        if len(prompts) < self._rule.min_prompts:
            lost = self._lost_prompts[fact.key]
            also = f" ({lost[0].text})" if lost else ""
            held = bool(lost) and all(loss.decision.outcome == "hold" for loss in lost)
            number = counted(len(prompts), "script prompt")
            reason = f"'{fact.key}' has {number}, the rule wants {self._rule.min_prompts}{also}"
            self._short(fact, "fact: too few prompts", reason, held=held)
            return None
        near = sum(bool(n.prompts) for n in neighbours)
        if near < self._rule.min_neighbours:
            number = counted(near, "neighbour with a prompt", "neighbours with a prompt")
            reason = f"'{fact.key}' has {number}, the rule wants {self._rule.min_neighbours}"
            self._short(fact, "fact: too few neighbours", reason)
            return None
        return Case(
            key=f"case/{fact.key}",
            fact=fact,
            questions=self._questions_of(prompts),
            prompts=tuple(prompts),
            neighbours=tuple(neighbours),
        )

    def _neighbour(self, link: Neighbour) -> CaseNeighbour | None:
        of = self._ruling.of
        fact = self._beside.get(link.fact)
        if fact is None or not self._passes(of(link), "neighbour", link):
            return None
        if not self._passes(self._ruling.of_neighbour(fact), "neighbour's fact", fact, lost=f"beside {fact.id}"):
            return None
        prompts = []
        for prompt in self._prompts.get(link.fact, ()):
            pair = worst([of(link, prompt.id), of(prompt, link.id)])
            if self._passes(pair, "neighbour prompt", prompt, lost=f"{link.id} {prompt.id}"):
                prompts.append(prompt)
        return CaseNeighbour(link=link, fact=fact, questions=self._questions_of(prompts), prompts=tuple(prompts))

    def _questions_of(self, prompts: Iterable[ScriptPrompt]) -> tuple[ScriptQuestion, ...]:
        """The questions of the prompts, each once, in order."""
        keys = dict.fromkeys(p.question for p in prompts)
        return tuple(self._questions[k] for k in keys if k is not None and k in self._questions)

    def _without_prompt(self, elsewhere: Callable[[], set[str]]) -> list[ScriptQuestion]:
        """Questions of the block's facts without a prompt; ``elsewhere``: those that another fact's prompt names."""
        named = {p.question for p in self.cut}
        waiting = [q for q in self._questions.values() if q.fact in self._keys and q.key not in named]
        return [q for q in waiting if q.key not in elsewhere()] if waiting else []

    def count_lost_questions(self, elsewhere: Callable[[], set[str]]) -> None:
        """Count the questions without a prompt that are left out themselves."""
        for question in self._without_prompt(elsewhere):
            if loss := self.losses.get(question.id):
                self._passes(loss.decision, "question", question)

    def count_without_prompt(self, elsewhere: Callable[[], set[str]]) -> Counter[str]:
        """Why questions that nothing drops have no prompt: no script, or what became of their scripts."""
        waiting = {q.key for q in self._without_prompt(elsewhere) if q.id not in self.losses}
        scripts = self._store.of_parents(Script, waiting) if waiting else []
        ruling = self._all.over(s.id for s in scripts)
        reasons = dict.fromkeys(waiting, "question without a prompt: no script")
        for script in scripts:
            decision = ruling.of(script)
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
        super().__init__(ruling)
        kinds: tuple[type[Asked], ...] = (DocumentProbe,)
        if isinstance(ruling.rule, EventRule):
            kinds = (FactQuestion, TendencyQuestion)
        edits: type[Event] | type[Document] = Event if isinstance(ruling.rule, EventRule) else Document
        self._edits: list[Event | Document] = [*store.in_range(edits, keys)]
        self._asked = [record for kind in kinds for record in store.in_range(kind, keys, parent=True)]
        self._ruling = ruling.over(record.id for record in (*self._edits, *self._asked))

    def _make_cases(self) -> Iterator[EventCase | DocumentCase]:
        rule = self._rule
        passing: dict[str, list[Asked]] = defaultdict(list)
        for asked in self._asked:
            if self._passes(self._ruling.of_question(asked), asked.kind.replace("_", " "), asked):
                passing[asked.document if isinstance(asked, DocumentProbe) else asked.event].append(asked)
        for edit in self._edits:
            if isinstance(rule, EventRule) and rule.types is not None and getattr(edit, "type", "") not in rule.types:
                reason = f"its type is '{getattr(edit, 'type', '')}', the rule takes {', '.join(rule.types)}"
                self.losses[edit.id] = Loss(Decision("drop", reason=reason), edit)
                continue
            self.counts[f"{edit.kind}s"] += 1
            if not self._passes(self._ruling.of_edit(edit), edit.kind, edit):
                continue
            asked_of, what = passing[edit.key], "question" if isinstance(edit, Event) else "probe"
            wanted = rule.min_questions if isinstance(rule, EventRule) else getattr(rule, "min_probes", 1)
            if len(asked_of) < wanted:
                reason = f"'{edit.key}' has {counted(len(asked_of), f'kept {what}')}, the rule wants {wanted}"
                self._short(edit, f"{edit.kind}: too few {what}s", reason)
            elif isinstance(edit, Event):
                facts = tuple(q for q in asked_of if isinstance(q, FactQuestion))
                tendencies = tuple(q for q in asked_of if isinstance(q, TendencyQuestion))
                _refuse_both_scopes((*facts, *tendencies))
                yield EventCase(key=f"case/{edit.key}", event=edit, facts=facts, tendencies=tendencies)
            else:
                probes = tuple(p for p in asked_of if isinstance(p, DocumentProbe))
                yield DocumentCase(key=f"case/{edit.key}", document=edit, probes=probes)


def _refuse_both_scopes(questions: Sequence[FactQuestion | TendencyQuestion]) -> None:
    """A store can hold what no case can: records of several sources, each valid by itself."""
    first: dict[str, FactQuestion | TendencyQuestion] = {}
    for question in questions:
        earlier = first.setdefault(question.text.casefold(), question)
        if earlier.scope != question.scope:
            raise UserError(
                f"one question is both in and out of scope: {question.text!r} ('{earlier.key}' and '{question.key}')",
                where=question.event,
                fix=f"take one of them out: scedit split errata add {question.key} REASON --errata FILE",
            )
