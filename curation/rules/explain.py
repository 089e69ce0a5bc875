"""Why an item is in a split or out of it: the trace of the selection over the item's own edits, with every verdict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from curation.rules.rule import Decision, SplitRule, Threshold, matches, read_rule
from curation.rules.ruling import Ruling
from curation.rules.selection import Loss, block_of
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
from schemas.verdicts import Verdict

_EDITS: dict[str, type[Record]] = {"fact": Fact, "event": Event, "document": Document}
_OF_FACTS = (Fact, ScriptQuestion, Script, ScriptPrompt, Neighbour)
_OF_EVENTS = (Event, FactQuestion, TendencyQuestion)
_OF_DOCUMENTS = (Document, DocumentProbe)


class Status(NamedTuple):
    """``in``, ``out`` (dropped, or its case cannot be) or ``held`` (waits for people), and the reason in a clause."""

    status: str
    why: str


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
    """Why an item is in or out under a rule: a fact, event or document, what asks about it, a neighbour or a case.

    The selection runs over the item's own edits, and over those that it is a neighbour's part of.

    Args:
        store: The store.
        rule: The rule, for example from a frozen split's header (``rule_of``).
        item: Key, id or the beginning of an id; an earlier version of an item is out.
        errata: Known faults.

    Returns:
        What is in by the rule and stale is ``held``.

    Raises:
        UserError: there is no such item, or it is of a kind that the rule does not decide.
    """
    record = store.get(item.removeprefix("case/"))
    if isinstance(record, Case | EventCase | DocumentCase):
        record = record.request
    _check_kind(record, rule)
    explanation = _Trace(store, rule, record, errata).explain()
    path = {step.record.id for step in explanation.steps}
    stale = [s for s in store.stale() if s.id in path or explanation.key in s.origins.split()]
    if explanation.status != "in" or not stale:
        return explanation
    return explanation._replace(status="held", why=f"{stale[0].text}; splits with it are not frozen")


def rule_of(header: dict[str, Any]) -> SplitRule:
    """The rule a split was frozen with.

    Raises:
        UserError: the header does not say (a published file, for example).
    """
    if not isinstance(header.get("rule"), dict):
        raise UserError("the split does not say by which rule it was made", fix="give the rule: --rule FILE")
    return read_rule(header["rule"], where="the split's header")


def threshold_text(threshold: Threshold) -> str:
    """A threshold in words, with what becomes of an item that is out."""
    clusters = ", one of each cluster stays" if threshold.clusters else ""
    return f"{threshold.text}, otherwise {threshold.then}{clusters}"


def _check_kind(record: Record, rule: SplitRule) -> None:
    for edited, kinds in (("fact", _OF_FACTS), ("event", _OF_EVENTS), ("document", _OF_DOCUMENTS)):
        if isinstance(record, kinds):
            if rule.edited != edited:
                what = f"'{record.key}' belongs to a kind of edit ({edited}) that the rule is not about"
                raise UserError(what, fix=f"--set edits={edited}")
            return
    raise UserError(
        f"'{record.key}' is a {record.kind}, which no rule decides", allowed="fact, question, script, prompt"
    )


class _Trace:
    """The selection over the edits that an item belongs to: their cases, and why the rest is left out."""

    def __init__(self, store: Store, rule: SplitRule, record: Record, errata: Errata | None) -> None:
        self._store, self._rule, self._record = store, rule, record
        self._ruling = Ruling(store, rule, errata=errata, local=True)
        self._of = self._edit_key(record)
        edits = {record.edit} if isinstance(record, Neighbour) else {self._of}
        if isinstance(record, _OF_FACTS) and not isinstance(record, Neighbour):  # it can be in as a neighbour's
            edits |= store.edits_beside({self._of})
        self._links = store.of_parents(Neighbour, edits) if rule.edited == "fact" else []
        self._cases: list[AnyCase] = []
        self._losses: dict[str, Loss] = {}
        for key in sorted(edit for edit in edits if edit.startswith(rule.prefix)):
            block = block_of(store, self._ruling, KeyRange(key, f"{key}\x01", ""))
            self._cases += block.cases()
            self._losses = block.losses | self._losses

    def _edit_key(self, record: Record) -> str:
        """Key of the fact, event or document that an item belongs to; a link belongs to the neighbour's fact."""
        if isinstance(record, Script):
            questions = self._store.by_keys(ScriptQuestion, [record.question])
            return questions[0].fact if questions else ""
        return str(next((getattr(record, n) for n in ("fact", "event", "document") if hasattr(record, n)), record.key))

    def explain(self) -> Explanation:
        record = self._record
        current = self._store.by_keys(type(record), [record.key])
        if [r.id for r in current] == [record.id]:
            path = list({r.id: r for r in self._path(record)}.values())
            ruling = self._ruling.over(r.id for r in path)
            steps = [self._step(r, self._decide(ruling, r)) for r in path]
            status = self._status(steps[0])
        else:
            status = Status("out", "this version was replaced by another")
            steps = [self._step(record, Decision("drop", reason=status.why))]
        facts = [s.record.key for s in steps if isinstance(s.record, Fact)]
        against = tuple(f"{key}: {c.text}" for key in facts for c in self._store.contradictions(key))
        thresholds = tuple(threshold_text(t) for t in self._rule.thresholds)
        return Explanation(record.key, record.kind, *status, tuple(steps), thresholds, against)

    def _path(self, record: Record) -> Iterator[Record]:
        """The record and what it depends on; of a fact also its prompts."""
        yield record
        if isinstance(record, Fact):
            yield from self._store.of_parents(ScriptPrompt, [record.key])
        if isinstance(record, ScriptPrompt):
            yield from self._store.by_keys(ScriptQuestion, [record.question])
            yield from self._store.by_keys(Script, [record.script])
        if isinstance(record, Script):
            for question in self._store.by_keys(ScriptQuestion, [record.question]):
                yield from self._path(question)
        above = (record.edit, record.fact) if isinstance(record, Neighbour) else (self._of,)
        for key in above:
            yield from self._store.by_keys(_EDITS[self._rule.edited], [key])

    def _step(self, record: Record, decision: Decision) -> ExplanationStep:
        verdicts = tuple(self._store.verdicts([record.id]))
        return ExplanationStep(record, self._with_reason(decision, verdicts), verdicts)

    @staticmethod
    def _with_reason(decision: Decision, verdicts: Iterable[Verdict]) -> Decision:
        """A decision with the reason that the verdict gives."""
        if not decision.by or decision.reason:
            return decision
        reasons = [v.reason for v in verdicts if matches(v.by, decision.by) and v.reason and v.label != "keep"]
        return decision._replace(reason=reasons[0] if reasons else "")

    def _decide(self, ruling: Ruling, record: Record) -> Decision:
        if isinstance(record, Fact) and not ruling.in_scope(record):
            return ruling.of_neighbour(record)
        if isinstance(record, Fact | Event | Document):
            return ruling.of_edit(record)
        if isinstance(record, FactQuestion | TendencyQuestion | DocumentProbe):
            return ruling.of_question(record)
        return ruling.of(record)

    # ---- the trace of the item --------------------------------------------------------------------------------

    def _status(self, step: ExplanationStep) -> Status:
        if places := [place for case in self._cases if (place := _place_in(case, step.record))]:
            return Status("in", min(places, key=lambda place: place.startswith("as ")))
        if step.judged.outcome != "keep":
            return _status_of(Loss(step.judged, step.record))
        losses = list(self._losses_of(step.record))
        return min(losses, key=lambda s: s.status == "out", default=Status("out", "no case holds it"))

    def _losses_of(self, record: Record) -> Iterator[Status]:
        """Why an item that is kept by itself is in no case."""
        if isinstance(record, Fact):
            yield from self._loss_of_edit(record.key)
            yield from (s for link in self._links if link.fact == record.key for s in self._loss_of_link(link))
        elif isinstance(record, ScriptPrompt):
            yield from self._loss_of_prompt(record)
        elif isinstance(record, Neighbour):
            yield from self._loss_of_link(record)
        elif isinstance(record, ScriptQuestion | Script):
            field = "question" if isinstance(record, ScriptQuestion) else "script"
            prompts = self._store.of_parents(ScriptPrompt, [self._of])
            mine = [p for p in prompts if getattr(p, field) == record.key]
            yield from (s for prompt in mine for s in self._loss_of_prompt(prompt))
            if not mine:
                yield Status("out", f"no script prompt was made of this {record.kind}")
        else:
            yield from self._loss_of_edit(self._of)

    def _loss_of_prompt(self, prompt: ScriptPrompt) -> Iterator[Status]:
        if loss := self._losses.get(prompt.id):
            yield self._told(loss)
            return
        for link in self._links:
            if link.fact == prompt.fact:
                if loss := self._losses.get(f"{link.id} {prompt.id}"):
                    status = _status_of(loss)
                    yield status._replace(why=f"{loss.decision.by} says so beside '{link.edit}'")
                yield from self._loss_of_link(link)
        yield from self._loss_of_edit(prompt.fact)

    def _loss_of_link(self, link: Neighbour) -> Iterator[Status]:
        facts = self._store.by_keys(Fact, [link.fact])
        if not facts:
            yield Status("out", f"its fact '{link.fact}' is not in the store")
        for item in (link.id, *(f"beside {fact.id}" for fact in facts)):
            if loss := self._losses.get(item):
                yield self._told(loss)
        yield from self._loss_of_edit(link.edit)

    def _loss_of_edit(self, key: str) -> Iterator[Status]:
        """Why a fact, event or document has no case."""
        rule = self._rule
        records = self._store.by_keys(_EDITS[rule.edited], [key])
        if not records:
            yield Status("out", f"its {rule.edited} '{key}' is not in the store")
            return
        (edit,) = records
        if isinstance(edit, Fact) and edit.change not in rule.changes:
            near = " (it can be a neighbour)" if edit.change == "none" else ""
            yield Status("out", f"its change is '{edit.change}', the rule takes {', '.join(rule.changes)}{near}")
        elif not key.startswith(rule.prefix):
            yield Status("out", f"its key does not begin with '{rule.prefix}'")
        elif loss := self._losses.get(edit.id):
            yield self._told(loss)

    def _told(self, loss: Loss) -> Status:
        """A loss with the reason that the verdict gives."""
        decision = self._with_reason(loss.decision, self._store.verdicts([loss.record.id]))
        return _status_of(loss._replace(decision=decision))


def _status_of(loss: Loss) -> Status:
    return Status("out" if loss.decision.outcome == "drop" else "held", loss.text)


def _place_in(case: AnyCase, record: Record) -> str:
    """Where an item is in a case, in a clause; empty where it is not in it."""
    edited = case.request.id == record.id
    if isinstance(case, EventCase | DocumentCase):
        asked = (*case.facts, *case.tendencies) if isinstance(case, EventCase) else case.probes
        if not edited and all(r.id != record.id for r in asked):
            return ""
        return (
            f"in '{case.key}', which has {counted(len(asked), 'probe' if case.kind == 'document_case' else 'question')}"
        )
    if edited or _holds(case, record):
        near = sum(bool(n.prompts) for n in case.neighbours)
        return (
            f"in '{case.key}', which has {counted(len(case.prompts), 'script prompt')} and {counted(near, 'neighbour')}"
        )
    for neighbour in case.neighbours:
        if record.id in (neighbour.link.id, neighbour.fact.id):
            return f"as a neighbour in '{case.key}'"
        if _holds(neighbour, record):
            return f"as a neighbour's prompt of '{case.key}'"
    return ""


def _holds(case: Case | CaseNeighbour, record: Record) -> bool:
    """Whether a case or neighbour holds a prompt or question, or was cut of a script."""
    if isinstance(record, Script):
        return any(p.script == record.key for p in case.prompts)
    return any(r.id == record.id for r in (*case.prompts, *case.questions))


def _reason_text(decision: Decision | Verdict) -> str:
    """The reason behind a colon; empty where there is none."""
    return f": {decision.reason}" if decision.reason else ""
