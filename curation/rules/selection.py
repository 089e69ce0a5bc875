"""From the store to the cases of a split: verdicts measure and describe, the rule decides, every loss is counted.

The result is a function of the store, the rule and the errata: changing a threshold measures nothing again.
Edits are decided block by block, so memory does not grow with the store. A block notes why an item is left out; these
notes are what ``split explain`` prints.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import NamedTuple

from curation.rules.rule import (
    KEPT,
    Decision,
    EventRule,
    RequestRule,
    SplitRule,
    Verdicts,
    check_units,
    counts,
    matches,
    worst,
)
from curation.splits.versions import Errata
from curation.stats.estimates import connected_groups
from curation.store.origins import MADE_FROM
from curation.store.reader import KINDS, KeyRange
from curation.store.store import Store
from curation.store.writer import chunks
from schemas.cases import AnyCase, Case, CaseNeighbour, DocumentCase, EventCase
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.core.registry import suggest
from schemas.documents.document import Document, DocumentProbe
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.facts import Fact, Neighbour
from schemas.raters import rater_of_verdict
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.text.counting import counted

BLOCK = 2000
"""Edits that are decided at a time."""
_VERBS = {"drop": ("dropped", "drops"), "hold": ("held", "holds")}


class SelectionStream:
    """The cases that a rule makes of the store's current records, in order of their keys: one at a time, and once.

    Attributes:
        counts: What was left out, by reason; complete when all cases have come.
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


log = logging.getLogger(__name__)


class Ruling:
    """A rule over a store's verdicts, with near-duplicate clusters settled; ``over`` reads the verdicts on some items.

    Args:
        store: The store.
        rule: The rule.
        errata: Known faults; they outrank people.
    """

    def __init__(self, store: Store, rule: SplitRule, *, errata: Errata | None = None) -> None:
        self.rule, self.errata, self._store = rule, errata or Errata(), store
        self.named = store.judges()
        versions: dict[str, set[str]] = defaultdict(set)
        for by in self.named:
            check, _, version = by.rsplit("/", 1)[-1].partition("@")
            versions[check].add(version)
        for name in dict.fromkeys(rule.named()):
            if not any(matches(by, name) for by in self.named):
                near = suggest(name, sorted(versions))
                hint = f"; did you mean '{near}'?" if near else ""
                log.warning("the rule names '%s', of which the store holds no verdict%s", name, hint)
        check_units(store.units(), rule)
        checks = [by for by in self.named if rater_of_verdict(by) is None and len(versions[by.partition("@")[0]]) == 1]
        self._plain = [by for by in checks if not any(matches(by, t.check) for t in rule.thresholds)]
        self.settled: Mapping[str, Decision] = {}
        self.verdicts = Verdicts((), rule)
        if any(t.clusters for t in rule.thresholds):
            self.settled = resolve_clusters(store, self)

    def over(self, items: Iterable[str]) -> Ruling:
        """The same ruling with the verdicts on other items."""
        copied, verdicts = copy(self), self._store.deciding_verdicts(items, plain=self._plain)
        copied.verdicts = Verdicts(verdicts, self.rule, settled=self.settled)
        return copied

    def decide(self, record: Record, *related: str, beside: bool = False) -> Decision:
        """What becomes of one record by itself, or of a pair: errata first, then people, then checks and thresholds.

        Args:
            record: An erratum on the case of an edit is one on the edit.
            related: The other record of a pair.
            beside: Decide on a fact as a neighbour: checks and thresholds judge facts as edits.
        """
        if related:
            return self.verdicts.judge(record.kind, record.id, *related)
        is_edit = isinstance(record, Fact | Event | Document)
        erratum = self.errata.of(f"case/{record.key}", record.id) if is_edit else None
        if erratum := erratum or self.errata.of(record.key, record.id):
            return Decision("drop" if erratum.action == "drop" else "hold", "erratum", erratum.what)
        if beside:
            return self.verdicts.by_people(record.id) or KEPT
        decision = self.verdicts.judge(record.kind, record.id)
        wanted = self.rule.min_people if isinstance(self.rule, RequestRule) and not is_edit else 0
        if decision == KEPT and wanted > self.verdicts.number_of_people(record.id):
            return Decision("hold", "people", f"fewer than {wanted} people judged it")
        return decision

    def out_of_scope(self, edit: Record) -> str:
        """Why the rule does not look at a fact, event or document; empty where it does."""
        rule = self.rule
        if not edit.key.startswith(rule.prefix):
            return f"its key does not begin with '{rule.prefix}'"
        if isinstance(edit, Fact) and edit.change not in rule.changes:
            near = " (it can be a neighbour)" if edit.change == "none" else ""
            return f"its change is '{edit.change}', the rule takes {', '.join(rule.changes)}{near}"
        types = rule.types if isinstance(rule, EventRule) else None
        if isinstance(edit, Event) and types is not None and edit.type not in types:
            return f"its type is '{edit.type}', the rule takes {', '.join(types)}"
        return ""


def resolve_clusters(store: Store, ruling: Ruling) -> dict[str, Decision]:
    """Settle every threshold with ``clusters`` in the order of the rule; what one takes out is out for the next.

    Args:
        store: The store.
        ruling: The rule, nothing settled yet.

    Returns:
        What becomes of the items that do not stay, by id.
    """
    thresholds = ruling.rule.thresholds
    by = [b for b in ruling.named if any(t.clusters and t.on(b, t.model) for t in thresholds)]
    edges: list[dict[str, tuple[str, ...]]] = [{} for _ in thresholds]  # items out of bounds, and what each is like
    for v in (v for v in store.links(by) if counts(ruling.rule, v.by, v.model)):
        for threshold, links in zip(thresholds, edges, strict=True):
            if threshold.clusters and threshold.on(v.by, v.model) and threshold.out(v.value or 0.0):
                links[v.item_id] = tuple(dict.fromkeys((*links.get(v.item_id, ()), *v.related)))
    members = {i for links in edges for item, others in links.items() for i in (item, *others)}
    keys, saved = dict[str, str](), set[str]()
    for portion in chunks(sorted(members)):
        some_keys, some_saved = _kept_members(store, ruling, portion)
        keys |= some_keys
        saved |= some_saved
    settled: dict[str, Decision] = {}
    for threshold, links in zip(thresholds, edges, strict=True):
        values = {other: [other] for others in links.values() for other in others}
        for group in connected_groups(values | {item: [item, *others] for item, others in links.items()}):
            here = [i for i in group if i in keys and i not in settled]
            if not here:
                continue
            stays = min(here, key=lambda i: (i not in saved, i in links, keys[i], i))
            out = Decision(threshold.then, threshold.check, f"in a cluster with '{keys[stays]}', which stays")
            settled |= dict.fromkeys((i for i in here if i != stays and i not in saved), out)
    return settled


def _kept_members(store: Store, ruling: Ruling, ids: Collection[str]) -> tuple[dict[str, str], set[str]]:
    """Keys of the items that everything else lets in, by id; and those that people keep whatever checks say."""
    kinds: tuple[type[Record], ...] = (ScriptPrompt, Script, ScriptQuestion, Fact)  # each depends on those behind it
    members = [record for kind in kinds for record in store.by_ids(kind, ids)]
    above: dict[tuple[str, str], Record] = {}
    for kind in kinds[1:]:
        below = (*members, *above.values())
        wanted = {key for record in below for other, key in ancestors(record) if other is kind}
        above |= {(r.kind, r.key): r for r in store.by_keys(kind, wanted)}
    judged = [*members, *above.values()]
    ruling = ruling.over([*ids, *(r.id for r in judged)])
    beside = store.beside({r.key for r in judged if isinstance(r, Fact) and ruling.out_of_scope(r)})

    def is_out(record: Record | None) -> bool:
        """Whether a record, or what it depends on, is out; what is not in the store takes nothing out."""
        if record is None:
            return False
        if ruling.decide(record).outcome != "keep":
            return True
        if isinstance(record, Fact):
            return bool(ruling.out_of_scope(record)) and record.key not in beside
        return any(is_out(above.get((kind.kind, key))) for kind, key in ancestors(record))

    return {r.id: r.key for r in members if not is_out(r)}, {i for i in ids if ruling.verdicts.saved(i)}


def ancestors(record: Record) -> Iterator[tuple[type[Record], str]]:
    """Kind and key of what a record depends on, the nearest first."""
    for kind, field in reversed(MADE_FROM.get(record.kind, ())):
        if key := getattr(record, field):
            yield KINDS[kind], key
