"""What an explanation consists of: the path from an item to its case, with every verdict on it."""

from __future__ import annotations

from typing import Any, NamedTuple

from curation.rules.rule import Decision, Threshold, matches
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
