"""What the verdicts on one item come to, as docs/deciding.md says it: all verdicts, looked through each time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from curation.rules.rule import Decision, Outcome, SplitRule, Threshold
from schemas.verdicts import Verdict

_SEVERE = ["drop", "unsure", "keep"]


def task_names(by: str) -> set[str]:
    """What a rule may call the giver of a verdict: ``leak`` and ``leak@1`` for ``leak@1``, and for a person's task."""
    task = by.split("/")[-1]
    return {task, task.split("@")[0]}


def is_person(verdict: Verdict) -> bool:
    """``person:NAME/TASK@N``."""
    return verdict.by.startswith("person:")


def looked_at(rule: SplitRule, verdict: Verdict) -> bool:
    """Whether the rule's ``checks``, ``ignore`` and ``models`` let a verdict count."""
    names = task_names(verdict.by)
    if names & set(rule.ignore) or (rule.checks is not None and not names & set(rule.checks)):
        return False
    return not [model for name, model in rule.models.items() if name in names and model != verdict.model]


def about(threshold: Threshold, verdict: Verdict) -> bool:
    """Whether a threshold is about a verdict's value."""
    if is_person(verdict) or threshold.check not in task_names(verdict.by):
        return False
    return threshold.model is None or threshold.model == verdict.model


def outside(threshold: Threshold, value: float) -> bool:
    """Whether a value is out of the bounds; what compares with nothing (NaN) is."""
    inner = [value == value]
    inner += [value <= threshold.max] if threshold.max is not None else []
    inner += [value >= threshold.min] if threshold.min is not None else []
    inner += [value < threshold.below] if threshold.below is not None else []
    return not all(inner)


class SlowVerdicts:
    """All verdicts of a store under a rule; ``settled``: what clusters of near-duplicates come to."""

    def __init__(self, verdicts: Sequence[Verdict], rule: SplitRule, settled: Mapping[str, Decision]) -> None:
        self._all = [v for v in verdicts if looked_at(rule, v)]
        self._rule, self._settled = rule, settled

    def judge(self, kind: str, item: str, *related: str) -> Decision:
        """People first where the rule says so; then the first drop, else the first hold, else keep."""
        people = self._votes_of_people(item, related)
        if people and self._rule.people_outrank:
            return self._of_people(people)
        pairs = [(self._label(label), by) for label, by in self._of_all(item, related)]
        if not related:
            if item in self._settled:
                pairs.append((self._settled[item].outcome, self._settled[item].by))
            for t in self._rule.thresholds:
                if t.missing != "keep" and t.kind == kind and not self._measured(t, item):
                    pairs.append((t.missing, t.check))
        for action in ("drop", "hold"):
            for outcome, by in pairs:
                if outcome == action:
                    return Decision(outcome, by)
        return Decision("keep")

    def by_people(self, item: str) -> Decision | None:
        """What people alone say of an item."""
        people = self._votes_of_people(item, ())
        return self._of_people(people) if people else None

    def saved(self, item: str) -> bool:
        """Whether people keep it, where they have the last word."""
        decision = self.by_people(item)
        return self._rule.people_outrank and decision is not None and decision.outcome == "keep"

    def _measured(self, threshold: Threshold, item: str) -> bool:
        _alls = [v for v in self._all if v.item_id == item and about(threshold, v)]
        return any(v.value is not None or v.label is not None for v in _alls)

    def _votes(self, item: str, related: tuple[str, ...]) -> list[tuple[Verdict, str]]:
        """(verdict, label) of what counts for an item, newest versions only, in the order of the store."""
        out: list[tuple[Verdict, str]] = []
        for v in self._all:
            bounds = [t for t in self._rule.thresholds if about(t, v)]
            if v.value is not None and bounds:
                if v.item_id == item and not related:
                    plain = [t for t in bounds if not t.clusters]
                    out += [(v, t.then if outside(t, v.value) else "keep") for t in plain]
            elif v.item_id == item and v.related == related and v.label is not None:
                if is_person(v):
                    out += [(v, v.label)] if v.label != "unscored" else []
                else:
                    out.append((v, self._rule.unscored if v.label == "unscored" else v.label))
        newest = {}
        for v, _ in out:
            name, version = v.by.split("@")
            newest[name, v.model, is_person(v)] = max(newest.get((name, v.model, is_person(v)), 0), int(version))
        return [
            (v, reply) for v, reply in out
            if int(v.by.split("@")[1]) == newest[v.by.split("@")[0], v.model, is_person(v)]
        ]  # fmt: skip

    def _of_all(self, item: str, related: tuple[str, ...]) -> list[tuple[str, str]]:
        return [(vote, v.by.split("/")[-1].split("@")[0]) for v, vote in self._votes(item, related)]

    def _votes_of_people(self, item: str, related: tuple[str, ...]) -> list[tuple[str, str]]:
        """(label, task) of each person: the most severe that they said."""
        votes: dict[str, tuple[str, str]] = {}
        for v, vote in self._votes(item, related):
            if is_person(v):
                person, task = v.by.split("/")[0], v.by.split("/")[-1].split("@")[0]
                if person not in votes or _SEVERE.index(vote) < _SEVERE.index(votes[person][0]):
                    votes[person] = (vote, task)
        return list(votes.values())

    def _of_people(self, votes: list[tuple[str, str]]) -> Decision:
        labels = [label for label, _ in votes]
        deciding = next(label for label in _SEVERE if label in labels)
        if self._rule.people == "majority":
            most = max(labels.count(label) for label in labels)
            first = {label for label in labels if labels.count(label) == most}
            if len(first) > 1:
                return Decision("hold", "people")
            deciding = first.pop()
        outcome = self._label(deciding)
        task = next(task for label, task in votes if label == deciding)
        return Decision(outcome, task if outcome != "keep" else "")

    def _label(self, label: str) -> Outcome:
        if label == "unsure":
            return self._rule.unsure
        outcomes: dict[str, Outcome] = {"drop": "drop", "hold": "hold", "keep": "keep"}
        return outcomes[label]
