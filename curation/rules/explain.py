"""Why an item is in a split or out of it: the path from the item to its case, with every verdict on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from curation.rules.event_rule import read_rule
from curation.rules.explain_documents import explain_document
from curation.rules.explain_events import explain_event
from curation.rules.explanation import Explanation, ExplanationStep, Standing, find_loss, threshold_text
from curation.rules.rule import Decision, SplitRule, matches, worst
from curation.rules.selection import Ruling
from curation.splits.errata import Errata
from curation.store.store import Store
from schemas.cases import Case, DocumentCase, EventCase
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.documents.document import Document, DocumentProbe
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.text.counting import counted
from schemas.verdicts import Verdict


def _facts_named(record: Record) -> tuple[str, ...]:
    if isinstance(record, Neighbour):
        return record.edit, record.fact
    return (record.fact,) if isinstance(record, ScriptQuestion | ScriptPrompt) else ()


def explain(store: Store, rule: SplitRule, item: str, *, errata: Errata | None = None) -> Explanation:
    """Why a fact, question, script, prompt, neighbour link or case is in or out under a rule.

    Reads the item's own chain, and where the rule has clusters those that it is in: which item stays depends on them.

    Args:
        store: The store.
        rule: The rule, for example from a frozen split's header (``rule_of``).
        item: Key, id or the beginning of an id; an earlier version of an item is out.
        errata: Known faults.

    Returns:
        What is in by the rule and stale is ``held``.

    Raises:
        UserError: there is no such item, or it is of a kind that no rule decides.
    """
    explanation = _decided(store, rule, store.get(item.removeprefix("case/")), errata)
    path = {step.record.id for step in explanation.steps}
    stale = [s for s in store.stale() if s.id in path or explanation.key in s.origins.split()]
    if explanation.status != "in" or not stale:
        return explanation
    return explanation._replace(status="held", why=f"{stale[0].text}; splits with it are not frozen")


def _decided(store: Store, rule: SplitRule, record: Record, errata: Errata | None) -> Explanation:
    """What the rule says, whether or not records are stale."""
    if isinstance(record, Case):
        record = record.fact
    if isinstance(record, EventCase):
        record = record.event
    if isinstance(record, Event | FactQuestion | TendencyQuestion):
        return explain_event(store, rule, record, errata)
    if isinstance(record, DocumentCase):
        record = record.document
    if isinstance(record, Document | DocumentProbe):
        return explain_document(store, rule, record, errata)
    if not isinstance(record, Fact | ScriptQuestion | Script | ScriptPrompt | Neighbour):
        raise UserError(
            f"'{record.key}' is a {record.kind}, which no rule decides", allowed="fact, question, script, prompt"
        )
    return _RecordChain(store, rule, record, errata).explain()


def rule_of(header: dict[str, Any]) -> SplitRule:
    """The rule a split was frozen with.

    Raises:
        UserError: the header does not say (a published file, for example).
    """
    if not isinstance(header.get("rule"), dict):
        raise UserError("the split does not say by which rule it was made", fix="give the rule: --rule FILE")
    return read_rule(header["rule"], where="the split's header")


class _RecordChain:
    """The records one explanation needs, and the ruling over them."""

    def __init__(self, store: Store, rule: SplitRule, record: Record, errata: Errata | None) -> None:
        self._store, self._rule, self._record = store, rule, record
        self._by_key: dict[tuple[str, str], Record | None] = {}
        self._prompts: dict[str, list[ScriptPrompt]] = {}
        self._links: dict[str, list[Neighbour]] = {}
        self._collect(record)
        items = [r.id for r in self._by_key.values() if r is not None]
        items += [p.id for prompts in self._prompts.values() for p in prompts]
        items += [n.id for links in self._links.values() for n in links] + [record.id]
        self._ruling = Ruling(store, rule, errata=errata, items=dict.fromkeys(items))

    def explain(self) -> Explanation:
        current = self._find(type(self._record), self._record.key)
        if current is None or current.id != self._record.id:
            standing = Standing("out", "this version was replaced by another")
            steps = [ExplanationStep(self._record, Decision("drop", reason=standing.why), self._verdicts(self._record))]
        else:
            standing = self._standing_of(self._record)
            steps = [self._step(r) for r in self._chain(self._record)]
        record, thresholds = self._record, tuple(threshold_text(t) for t in self._rule.thresholds)
        facts = dict.fromkeys(s.record.key for s in steps if isinstance(s.record, Fact))
        against = tuple(f"{key}: {c.text}" for key in facts for c in self._store.contradictions(key))
        return Explanation(record.key, record.kind, standing.status, standing.why, tuple(steps), thresholds, against)

    # ---- reading ----------------------------------------------------------------------------------------------

    def _collect(self, record: Record) -> None:
        facts = {record.key} if isinstance(record, Fact) else {*_facts_named(record)}
        if isinstance(record, Script) and (question := self._find(ScriptQuestion, record.question)):
            facts = {*_facts_named(question)}
        if not isinstance(record, Neighbour):  # it may be in as a neighbour's
            facts |= self._store.edits_beside(facts)
        for edit in sorted(facts):
            self._links[edit] = list(self._store.all(Neighbour, parent=edit))
        for key in sorted(facts | {n.fact for links in self._links.values() for n in links}):
            self._find(Fact, key)
            if key in facts:
                self._find_case(key)
            self._prompts[key] = list(self._store.all(ScriptPrompt, parent=key))
            for prompt in self._prompts[key]:
                self._parents(prompt)

    def _parents(self, prompt: ScriptPrompt) -> list[Record]:
        records = [self._find(ScriptQuestion, prompt.question), self._find(Script, prompt.script)]
        return [r for r in records if r is not None]

    def _find(self, kind: type[Record], key: str | None) -> Record | None:
        if key is None:
            return None
        if (kind.kind, key) not in self._by_key:
            try:
                record: Record | None = self._store.get(key)
            except UserError:
                record = None  # remembered too: published prompts come without their scripts
            self._by_key[kind.kind, key] = record if isinstance(record, kind) and record.key == key else None
        return self._by_key[kind.kind, key]

    def _find_case(self, fact: str) -> Record | None:
        key = f"case/{fact}"
        if ("case", key) not in self._by_key:
            ids = [item for known, item in self._store.keys("case", like=key) if known == key]
            if not ids:
                return None
            self._by_key["case", key] = self._store.get(ids[0])
        return self._by_key["case", key]

    def _chain(self, record: Record) -> Iterator[Record]:
        """The record and what it hangs on, each once."""
        yield record
        if isinstance(record, Fact):
            yield from self._prompts.get(record.key, ())
        if isinstance(record, ScriptPrompt):
            yield from self._parents(record)
        if isinstance(record, Script) and (question := self._find(ScriptQuestion, record.question)):
            yield from self._chain(question)
        yield from filter(None, (self._find(Fact, key) for key in _facts_named(record)))

    def _verdicts(self, record: Record) -> tuple[Verdict, ...]:
        return tuple(self._store.verdicts([record.id]))

    def _step(self, record: Record) -> ExplanationStep:
        return ExplanationStep(record, self._with_reason(record, self._decide_alone(record)), self._verdicts(record))

    def _with_reason(self, record: Record, judged: Decision) -> Decision:
        """A decision with the reason that the verdict gives."""
        if not judged.by or judged.reason:
            return judged
        verdicts = self._verdicts(record)
        reasons = [v.reason for v in verdicts if matches(v.by, judged.by) and v.reason and v.label != "keep"]
        return judged._replace(reason=reasons[0] if reasons else "")

    def _decide_alone(self, record: Record) -> Decision:
        if not isinstance(record, Fact):
            return self._ruling.of(record)
        return self._ruling.of_fact(record) if self._ruling.in_scope(record) else self._ruling.of_neighbour(record)

    # ---- deciding ---------------------------------------------------------------------------------------------

    def _standing_of(self, record: Record) -> Standing:
        if isinstance(record, Fact):
            of_fact = self._fact(record)
            beside = [self._link(link) for link in self._links_to(record.key)] if of_fact.status != "in" else []
            return _best([*beside, of_fact] if not self._ruling.in_scope(record) else [of_fact, *beside])
        if isinstance(record, Neighbour):
            return self._link(record)
        if isinstance(record, ScriptPrompt):
            return self._prompt(record)
        loss = find_loss(self._decide(record), record)
        if loss:
            return loss
        field = "question" if isinstance(record, ScriptQuestion) else "script"
        mine = [p for group in self._prompts.values() for p in group if getattr(p, field) == record.key]
        if not mine:
            return Standing("out", f"no script prompt was made of this {record.kind}")
        return _best([self._prompt(p) for p in mine])

    def _decide(self, record: Record) -> Decision:
        """The outcome with its reason, which is looked up for what is lost only."""
        judged = self._decide_alone(record)
        return judged if judged.outcome == "keep" else self._step(record).judged

    def _loss_of_prompt(self, prompt: ScriptPrompt) -> Standing | None:
        """Why a prompt is lost before its fact is looked at, or None: a drop on the way before a hold."""
        lost = [s for r in (prompt, *self._parents(prompt)) if (s := find_loss(self._decide(r), r))]
        return min(lost, key=lambda s: s.status != "out", default=None)

    def _prompt(self, prompt: ScriptPrompt) -> Standing:
        if lost := self._loss_of_prompt(prompt):
            return lost
        fact = self._find(Fact, prompt.fact)
        of_fact = (
            self._fact(fact) if isinstance(fact, Fact) else Standing("out", f"its fact '{prompt.fact}' is not there")
        )
        if of_fact.status == "in":
            return of_fact
        return _best([*(self._pair(link, prompt) for link in self._links_to(prompt.fact)), of_fact])

    def _links_to(self, fact: str) -> list[Neighbour]:
        return [link for links in self._links.values() for link in links if link.fact == fact]

    def _pair(self, link: Neighbour, prompt: ScriptPrompt) -> Standing:
        if (of_link := self._link(link)).status != "in":
            return of_link
        pair = worst([self._ruling.of(link, prompt.id), self._ruling.of(prompt, link.id)])
        if pair.outcome != "keep":
            return Standing("out" if pair.outcome == "drop" else "held", f"{pair.by} says so beside '{link.edit}'")
        return Standing("in", f"as a neighbour's prompt of 'case/{link.edit}'")

    def _link(self, link: Neighbour) -> Standing:
        if lost := find_loss(self._decide(link), link):
            return lost
        beside = self._find(Fact, link.fact)
        if not isinstance(beside, Fact):
            return Standing("out", f"its fact '{link.fact}' is not in the store")
        if lost := find_loss(self._with_reason(beside, self._ruling.of_neighbour(beside)), beside):
            return lost
        edit = self._find(Fact, link.edit)
        of_edit = (
            self._fact(edit) if isinstance(edit, Fact) else Standing("out", f"the edit '{link.edit}' is not there")
        )
        return of_edit if of_edit.status != "in" else Standing("in", f"as a neighbour in 'case/{link.edit}'")

    def _fact(self, fact: Fact) -> Standing:
        rule = self._rule
        if fact.change not in rule.changes:
            beside = " (it can be a neighbour)" if fact.change == "none" else ""
            return Standing("out", f"its change is '{fact.change}', the rule takes {', '.join(rule.changes)}{beside}")
        if not fact.key.startswith(rule.prefix):
            return Standing("out", f"its key does not begin with '{rule.prefix}'")
        if lost := find_loss(self._decide(fact), fact):
            return lost
        lost_prompts = [s for p in self._prompts.get(fact.key, ()) if (s := self._loss_of_prompt(p))]
        prompts_left = len(self._prompts.get(fact.key, ())) - len(lost_prompts)
        if prompts_left < rule.min_prompts:
            also = f" ({lost_prompts[0].why})" if lost_prompts else ""
            held = bool(lost_prompts) and all(s.status == "held" for s in lost_prompts)
            why = f"'{fact.key}' has {counted(prompts_left, 'script prompt')}, the rule wants {rule.min_prompts}{also}"
            return Standing("held" if held else "out", why)
        near = sum(self._has_prompt(n) for n in self._links.get(fact.key, ()))
        if near < rule.min_neighbours:
            neighbours = counted(near, "neighbour with a prompt", "neighbours with a prompt")
            why = f"'{fact.key}' has {neighbours}, the rule wants {rule.min_neighbours}"
            return Standing("out", why)
        if lost := self._whole_case(fact):
            return lost
        parts = f"{counted(prompts_left, 'script prompt')} and {counted(near, 'neighbour')}"
        return Standing("in", f"in 'case/{fact.key}', which has {parts}")

    def _whole_case(self, fact: Fact) -> Standing | None:
        """Why people drop or hold the case as a whole; what they judged must be what the case would hold now."""
        case = self._by_key.get(("case", f"case/{fact.key}"))
        prompt_ids = {p.id for p in self._prompts.get(fact.key, ()) if self._loss_of_prompt(p) is None}
        if not isinstance(case, Case) or case.fact.id != fact.id or {p.id for p in case.prompts} != prompt_ids:
            return None
        return find_loss(self._decide(case), case)

    def _has_prompt(self, link: Neighbour) -> bool:
        fact = self._find(Fact, link.fact)
        if self._ruling.of(link).outcome != "keep" or not isinstance(fact, Fact):
            return False
        if self._ruling.of_neighbour(fact).outcome != "keep":
            return False
        return any(
            self._loss_of_prompt(p) is None
            and worst([self._ruling.of(link, p.id), self._ruling.of(p, link.id)]).outcome == "keep"
            for p in self._prompts.get(link.fact, ())
        )


def _best(standings: Iterable[Standing]) -> Standing:
    return min(standings, key=lambda s: ("in", "held", "out").index(s.status))
