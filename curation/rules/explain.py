"""Why an item is in a split or out of it: the trace of the selection over the item's own edits, with every verdict."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from curation.rules.rule import Decision, SplitRule, matches, read_rule
from curation.rules.selection import BLOCK, Loss, Ruling, ancestors, block_of
from curation.splits.versions import Errata
from curation.splits.visible_texts import case_records
from curation.store.reader import KeyRange
from curation.store.store import Store
from schemas.cases import AnyCase, Case, DocumentCase, EventCase
from schemas.core.errors import UserError
from schemas.core.records import Record
from schemas.documents.document import Document, DocumentProbe
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.text.counting import counted
from schemas.verdicts import Verdict

_PARTS: dict[str, tuple[type[Record], ...]] = {
    "fact": (Fact, ScriptQuestion, Script, ScriptPrompt, Neighbour),
    "event": (Event, FactQuestion, TendencyQuestion),
    "document": (Document, DocumentProbe),
}
"""What rules about each kind of edit decide."""
_EDITS = (Fact, Event, Document)
_REPLACED = "this version was replaced by another"


class ExplanationStep(NamedTuple):
    """One record on the path: what the rule makes of it by itself, and all verdicts on it, counted or not."""

    record: Record
    judged: Decision
    verdicts: tuple[Verdict, ...]


class Explanation(NamedTuple):
    """Whether an item is in, the deciding reason, and the path.

    Attributes:
        status: ``in``, ``out`` or ``held``.
        why: The deciding reason in a clause.
        steps: The item first, then the records it depends on.
        thresholds: The rule's thresholds in words.
        contradictions: What other facts in the store say against the facts on the path.
    """

    key: str
    kind: str
    status: str
    why: str
    steps: tuple[ExplanationStep, ...]
    thresholds: tuple[str, ...]
    contradictions: tuple[str, ...] = ()

    def text(self) -> str:
        """The explanation as lines."""
        lines = [f"{self.kind} {self.key}: {self.status.upper()}, {self.why}"]
        for record, judged, verdicts in self.steps:
            by = f" by {judged.by}" if judged.by else ""
            lines.append(f"  {record.kind} {record.key}: {judged.outcome}{by}{_reason_text(judged)}")
            for v in verdicts:
                mark = "*" if judged.by and matches(v.by, judged.by) else " "
                value = "" if v.value is None else f" {v.value:g} {v.unit}"
                model = f" ({v.model})" if v.model else ""
                lines.append(f"   {mark} {v.label or 'measured'}{value} by {v.by}{model}{_reason_text(v)}")
            if not verdicts:
                lines.append("     no verdict")
        lines += [f"  contradiction: {c}" for c in self.contradictions]
        lines += [f"  threshold: {t}" for t in self.thresholds]
        return "\n".join(lines)

    def payload(self) -> dict[str, Any]:
        """The explanation as plain JSON values."""
        steps = [
            {
                "kind": s.record.kind,
                "key": s.record.key,
                "id": s.record.id,
                **s.judged._asdict(),
                "verdicts": [v.payload() for v in s.verdicts],
            }
            for s in self.steps
        ]
        return {**self._asdict(), "steps": steps}


def explain(store: Store, rule: SplitRule, item: str, *, errata: Errata | None = None) -> Explanation:
    """Why an item is in or out under a rule; for several items make one ``Explainer``.

    Args:
        store: The store.
        rule: The rule, for example from a frozen split's header (``rule_of``).
        item: Key, id or the beginning of an id; an earlier version of an item is out.
        errata: Known faults.

    Raises:
        UserError: there is no such item, or it is of a kind that the rule does not decide.
    """
    return Explainer(store, rule, errata=errata).explain(item)


class Explainer:
    """Says why items are in or out under a rule; what all of them need is read from the store once.

    Args:
        store: The store.
        rule: The rule.
        errata: Known faults.
        many: Many items will be asked about, in order of their edits: edits are decided in blocks, not one by one.
    """

    def __init__(self, store: Store, rule: SplitRule, *, errata: Errata | None = None, many: bool = False) -> None:
        self.store, self.ruling, self._stale = store, Ruling(store, rule, errata=errata), store.stale()
        self._ranges = store.ranges(rule.prefix, BLOCK, kind=rule.edited) if many else []
        self._block = lru_cache(maxsize=100)(self._decided)
        # what several items of a case ask for is read once
        self.found = lru_cache(maxsize=1000)(lambda kind, key: store.by_keys(kind, [key]))
        self.beside = lru_cache(maxsize=1000)(lambda edits: store.edits_beside(edits))
        self.links = lru_cache(maxsize=1000)(lambda edits: store.of_parents(Neighbour, edits))
        self.prompts = lru_cache(maxsize=1000)(lambda fact: store.of_parents(ScriptPrompt, [fact]))

    def selected(self, key: str) -> tuple[AnyCase | None, dict[str, Loss]]:
        """The case of an edit, and why the rest of it is left out."""
        alone = KeyRange(key, f"{key}\x01", "")
        cases, losses = self._block(next((keys for keys in self._ranges if key in keys), alone))
        return cases.get(key), losses

    def _decided(self, keys: KeyRange) -> tuple[dict[str, AnyCase], dict[str, Loss]]:
        block = block_of(self.store, self.ruling, keys)
        return {case.request.key: case for case in block.cases()}, block.losses

    def explain(self, item: str) -> Explanation:
        """Why a fact, event or document, what asks about it, a neighbour or a case is in or out.

        The selection runs over the item's own edits, and over those that it is a neighbour's part of; of a case over
        its own alone. What is in by the rule and stale is ``held``.

        Raises:
            UserError: there is no such item, or it is of a kind that the rule does not decide.
        """
        trace = self._trace(item)
        status, why = self._status(trace)
        steps, record = trace.steps(), trace.record
        facts = [s.record.key for s in steps if isinstance(s.record, Fact)]
        against = tuple(f"{key}: {text}" for key in facts for text in self.store.contradictions(key))
        thresholds = tuple(t.text for t in self.ruling.rule.thresholds)
        return Explanation(record.key, record.kind, status, why, steps, thresholds, against)

    def reason(self, item: str) -> tuple[str, str]:
        """Status and deciding reason of an item, as ``explain`` has them."""
        return self._status(self._trace(item))

    def _trace(self, item: str) -> _Trace:
        record = self.store.get(item.removeprefix("case/"))
        is_case = item.startswith("case/")
        if isinstance(record, Case | EventCase | DocumentCase):
            record, is_case = record.request, True
        edited = next((name for name, kinds in _PARTS.items() if isinstance(record, kinds)), None)
        if edited is None:
            what = f"'{record.key}' is a {record.kind}, which no rule decides"
            raise UserError(what, allowed="fact, question, script, prompt")
        if edited != self.ruling.rule.edited:
            what = f"'{record.key}' belongs to a kind of edit ({edited}) that the rule is not about"
            raise UserError(what, fix=f"--set edits={edited}")
        return _Trace(self, record, is_case=is_case)

    def _status(self, trace: _Trace) -> tuple[str, str]:
        status, why = trace.status()
        if status != "in":
            return status, why
        cases = (case for case in trace.cases if _place_in(case, trace.record))  # neighbours' facts in them count, too
        edits = {r.key for case in cases for r in case_records(case) if isinstance(r, _EDITS)}
        path, keys = {record.id for record in trace.path}, {trace.record.key, *edits}
        stale = (s for s in self._stale if s.id in path or keys & set(s.origins.split()))
        return next((("held", f"{s.text}; splits with it are not frozen") for s in stale), (status, why))


def rule_of(header: dict[str, Any]) -> SplitRule:
    """The rule a split was frozen with.

    Raises:
        UserError: the header does not say (a published file, for example).
    """
    if not isinstance(header.get("rule"), dict):
        raise UserError("the split does not say by which rule it was made", fix="give the rule: --rule FILE")
    return read_rule(header["rule"], where="the split's header")


class _Trace:
    """The selection over the edits that an item belongs to: their cases, and why the rest is left out.

    Attributes:
        record: The item.
        path: The item first, then the records it depends on.
        cases: The cases of these edits.
    """

    def __init__(self, source: Explainer, record: Record, *, is_case: bool) -> None:
        self._source, self.record, facts = source, record, source.ruling.rule.edited == "fact"
        self._current = [r.id for r in source.found(type(record), record.key)] == [record.id]
        self.path = [record]
        for one in self.path:  # the list grows while it is gone through
            above = [found for kind, key in ancestors(one) for found in source.found(kind, key)]
            self.path += [found for found in above if found not in self.path]
        edits = {r.key for r in self.path if isinstance(r, _EDITS)}
        if isinstance(record, Neighbour):
            edits = {record.edit}
        elif facts and not is_case:  # it can be in as a neighbour's
            edits |= source.beside(frozenset(edits))
        self.path += source.prompts(record.key) if isinstance(record, Fact) else ()
        self._links = source.links(frozenset(edits)) if facts else []
        selected = [source.selected(key) for key in sorted(edits)]
        self.cases = [case for case, _ in selected if case is not None]
        self._losses = ChainMap(*(losses for _, losses in selected))

    def status(self) -> tuple[str, str]:
        """``in`` with the place in a case, or ``out`` or ``held`` with the reason."""
        if not self._current:
            return "out", _REPLACED
        if places := [place for case in self.cases if (place := _place_in(case, self.record))]:
            return "in", min(places, key=lambda place: place.startswith("as "))
        judged = self._decision(self.record)
        if judged.outcome != "keep":
            return self._told(Loss(judged, self.record))
        losses = list(self._losses_of(self.record))
        return min(losses, key=lambda s: s[0] == "out", default=("out", "no case holds it"))

    def steps(self) -> tuple[ExplanationStep, ...]:
        """What the rule makes of every record on the path by itself, with all verdicts on it."""
        steps = []
        for record in self.path if self._current else [self.record]:
            verdicts = tuple(self._source.store.verdicts([record.id]))
            decision = self._decision(record) if self._current else Decision("drop", reason=_REPLACED)
            steps.append(ExplanationStep(record, _with_reason(decision, verdicts), verdicts))
        return tuple(steps)

    def _decision(self, record: Record) -> Decision:
        ruling = self._source.ruling.over([record.id])
        return ruling.decide(record, beside=isinstance(record, Fact) and bool(ruling.out_of_scope(record)))

    def _losses_of(self, record: Record) -> Iterator[tuple[str, str]]:
        """Why an item that is kept by itself is in no case: its own loss, or those of what it could be in."""
        if loss := self._losses.get(record.id):
            yield self._told(loss)
            return
        if isinstance(record, ScriptQuestion | Script):
            facts = [r.key for r in self.path if isinstance(r, Fact)]
            prompts = [p for fact in facts for p in self._source.prompts(fact) if record.key in (p.question, p.script)]
            yield from (status for prompt in prompts for status in self._losses_of(prompt))
            if not prompts:
                yield "out", f"no script prompt was made of this {record.kind}"
            return
        for link in self._links:
            if isinstance(record, Fact | ScriptPrompt) and link.fact == getattr(record, "fact", record.key):
                if loss := self._losses.get(f"{link.id} {record.id}"):
                    yield _status_of(loss)[0], f"{loss.decision.by} says so beside '{link.edit}'"
                yield from self._losses_of(link)
        beside = "beside " if isinstance(record, Neighbour) else ""  # its fact first, then its edit
        for kind, key in ancestors(record):
            edits = self._source.found(kind, key)
            if kind in _EDITS and not edits:
                yield "out", f"its {kind.kind} '{key}' is not in the store"
            yield from (self._told(loss) for edit in edits if (loss := self._losses.get(f"{beside}{edit.id}")))
            beside = ""

    def _told(self, loss: Loss) -> tuple[str, str]:
        """A loss with the reason that the verdict gives."""
        decision = _with_reason(loss.decision, self._source.store.verdicts([loss.record.id]))
        return _status_of(loss._replace(decision=decision))


def _with_reason(decision: Decision, verdicts: Iterable[Verdict]) -> Decision:
    """A decision with the reason that the verdict gives."""
    if not decision.by or decision.reason:
        return decision
    reasons = [v.reason for v in verdicts if matches(v.by, decision.by) and v.reason and v.label != "keep"]
    return decision._replace(reason=reasons[0] if reasons else "")


def _status_of(loss: Loss) -> tuple[str, str]:
    return "out" if loss.decision.outcome == "drop" else "held", loss.text


def _place_in(case: AnyCase, record: Record) -> str:
    """Where an item is in a case, in a clause; empty where it is not in it."""
    name = record.key if isinstance(record, Script) else record.id
    if not isinstance(case, Case):
        ids = _names(case_records(case))
        noun = "probe" if isinstance(case, DocumentCase) else "question"
        return f"in '{case.key}', which has {counted(len(ids) - 1, noun)}" if name in ids else ""
    if name in _names((case.fact, *case.questions, *case.prompts)):
        near = counted(sum(bool(n.prompts) for n in case.neighbours), "neighbour")
        return f"in '{case.key}', which has {counted(len(case.prompts), 'script prompt')} and {near}"
    for neighbour in case.neighbours:
        if name in (neighbour.link.id, neighbour.fact.id):
            return f"as a neighbour in '{case.key}'"
        if name in _names((*neighbour.questions, *neighbour.prompts)):
            return f"as a neighbour's prompt of '{case.key}'"
    return ""


def _names(records: Iterable[Record]) -> set[str]:
    """Ids of records, and keys of the scripts that prompts were cut of."""
    return {name for r in records for name in (r.id, getattr(r, "script", None)) if name}


def _reason_text(decision: Decision | Verdict) -> str:
    """The reason behind a colon; empty where there is none."""
    return f": {decision.reason}" if decision.reason else ""
