"""What an explanation consists of: the path from an item to its case, with every verdict on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from curation.rules.request_selection import RequestRuling
from curation.rules.rule import Decision, Threshold, matches
from curation.store.store import Store
from schemas.core.records import Record
from schemas.verdicts import Verdict


class ExplanationStep(NamedTuple):
    """One record on the path: what the rule makes of it by itself, and all verdicts on it, counted or not."""

    record: Record
    judged: Decision
    verdicts: tuple[Verdict, ...]


class Explanation(NamedTuple):
    """Whether an item is in, the deciding reason, and the path.

    Attributes:
        status: ``in``, ``out`` (dropped, or its case cannot be), or ``held`` (waits for people).
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
            lines.append(f"  {record.kind} {record.key}: {judged.outcome}{by}{reason_text(judged)}")
            for v in verdicts:
                mark = "*" if judged.by and matches(v.by, judged.by) else " "
                value = "" if v.value is None else f" {v.value:g} {v.unit}"
                model = f" ({v.model})" if v.model else ""
                lines.append(f"   {mark} {v.label or 'measured'}{value} by {v.by}{model}{reason_text(v)}")
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


def reason_text(decision: Decision | Verdict) -> str:
    """The reason behind a colon; empty where there is none."""
    return f": {decision.reason}" if decision.reason else ""


class Standing(NamedTuple):
    """``in``, ``out`` or ``held``, and why."""

    status: str
    why: str


def find_loss(judged: Decision, record: Record) -> Standing | None:
    """What a decision that is no keep makes of a record; None for a keep."""
    if judged.outcome == "keep":
        return None
    status, verb = ("out", "drops") if judged.outcome == "drop" else ("held", "holds")
    return Standing(status, f"{judged.by} {verb} the {record.kind} '{record.key}'{reason_text(judged)}")


def threshold_text(threshold: Threshold) -> str:
    """A threshold in words, with what becomes of an item that is out."""
    clusters = ", one of each cluster stays" if threshold.clusters else ""
    return f"{threshold.text}, otherwise {threshold.then}{clusters}"


def replaced_or_alone(
    record: Record, requests: Sequence[Record], asked: Sequence[Record], name: str
) -> Standing | None:
    """Why an event or document, or what asks about it, is out before any rule is asked; None where the rule decides.

    Args:
        record: What is explained.
        requests: The current event or document; none where it is not in the store.
        asked: What asks about it now.
        name: The event or document in words.
    """
    current = next((r for r in (*requests, *asked) if r.key == record.key and r.kind == record.kind), None)
    if current is None or current.id != record.id:
        return Standing("out", "this version was replaced by another")
    return None if requests else Standing("out", f"{name} is not in the store")


def explain_request(
    store: Store, ruling: RequestRuling[Any], record: Record, requests: Sequence[Record], standing: Standing
) -> Explanation:
    """The explanation of an event or document, or of what asks about it, with the verdicts on both."""
    path = [record, *(r for r in requests if r.key != record.key)]
    steps = tuple(ExplanationStep(r, ruling.decide(r), tuple(store.verdicts([r.id]))) for r in path)
    limits = tuple(threshold_text(t) for t in ruling.rule.thresholds)
    return Explanation(record.key, record.kind, standing.status, standing.why, steps, limits)
