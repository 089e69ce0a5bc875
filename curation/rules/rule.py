"""What the verdicts on an item come to under a split's rule: thresholds, newest versions, people before checks."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any, ClassVar, Literal, NamedTuple, Self

from pydantic import Field, NonNegativeInt, model_validator

from schemas.core.config import Options, validate
from schemas.core.errors import DataError
from schemas.raters import ADJUDICATED, rater_of_verdict
from schemas.verdicts import Verdict

Outcome = Literal["keep", "drop", "hold"]
Kind = Literal["fact", "question", "script", "prompt", "neighbour", "event", "fact_question", "tendency_question",
               "document", "document_probe"]  # fmt: skip


class Threshold(Options):
    """A bound on what a check measured; it replaces the check's own label wherever there is a value.

    Attributes:
        check: Name of the check, or ``check@version``.
        max: A greater value is out.
        min: A smaller value is out.
        below: This value or a greater one is out.
        unit: Unit the bound is in; a verdict in another unit is an error. Left out: all values must have one unit.
        model: Only values measured with this model count.
        then: What becomes of an item that is out.
        kind: Which kind of item must have been measured, where ``missing`` says so.
        missing: What becomes of an item of that kind without a measurement.
        clusters: The value is a similarity to the related item: of items linked by values that are out one stays.
    """

    check: str
    max: float | None = None
    min: float | None = None
    below: float | None = None
    unit: str | None = None
    model: str | None = None
    then: Literal["drop", "hold"] = "drop"
    kind: Kind | None = None
    missing: Outcome = "keep"
    clusters: bool = False

    @model_validator(mode="after")
    def _validate_whole(self) -> Threshold:
        if self.max is None and self.min is None and self.below is None:
            raise ValueError(f"the threshold on '{self.check}' has no bound: give max, min or below")
        if self.missing != "keep" and self.kind is None:
            raise ValueError(f"'missing' of the threshold on '{self.check}' needs a kind of item")
        return self

    def on(self, by: str, model: str | None) -> bool:
        """Whether it is about a check's (never a person's) values, by this model."""
        return rater_of_verdict(by) is None and matches(by, self.check) and self.model in (None, model)

    def out(self, value: float) -> bool:
        """Whether a value is out of bounds; NaN always is.

        Example:
            >>> Threshold(check="near_duplicate", max=0.4).out(0.4), Threshold(check="x", below=0.4).out(0.4)
            (False, True)
        """
        inside = (
            (self.max is None or value <= self.max)
            and (self.min is None or value >= self.min)
            and (self.below is None or value < self.below)
        )
        return not inside

    @property
    def text(self) -> str:
        """The bound in words, with what becomes of an item that is out."""
        bounds = [("at most", self.max), ("at least", self.min), ("below", self.below)]
        bounds_text = ", ".join(f"{word} {bound:g}" for word, bound in bounds if bound is not None)
        model = f" with {self.model}" if self.model else ""
        clusters = ", one of each cluster stays" if self.clusters else ""
        return (
            f"{self.check}{model} {bounds_text}{f' {self.unit}' if self.unit else ''}, otherwise {self.then}{clusters}"
        )


class SplitRule(Options):
    """What goes into a split.

    Attributes:
        prefix: Only facts whose key begins so ("facts/cf/"); empty for all.
        changes: Kinds of edits.
        checks: Only these checks and tasks count (``name`` or ``name@version``); None for all.
        ignore: Checks whose verdicts do not count.
        models: Of a check, only the verdicts of this model count (``known_before = "gpt2-xl"``).
        thresholds: Bounds on measured values.
        unsure: ``hold`` leaves out what a check is unsure of until a person has judged it; ``keep`` takes it.
        unscored: What becomes of an item that a check could not judge.
        people_outrank: People's verdicts replace those of the checks and thresholds.
        people: ``any``: one drop is enough. ``majority``: the label that most people gave; a tie is held.
        min_prompts: A case has at least this many script prompts.
        min_neighbours: A case has at least this many neighbours with a script prompt.
    """

    prefix: str = ""
    changes: tuple[Literal["counterfactual", "temporal"], ...] = ("counterfactual", "temporal")
    checks: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    models: dict[str, str] = Field(default_factory=dict)
    thresholds: tuple[Threshold, ...] = ()
    unsure: Literal["hold", "keep"] = "hold"
    unscored: Outcome = "keep"
    people_outrank: bool = True
    people: Literal["any", "majority"] = "any"
    min_prompts: NonNegativeInt = 1
    min_neighbours: NonNegativeInt = 0

    edited: ClassVar[str] = "fact"

    def named(self) -> list[str]:
        """Checks that the rule names."""
        return [*(self.checks or ()), *self.ignore, *self.models, *(t.check for t in self.thresholds)]


class RequestRule(SplitRule):
    """What rules about events and documents share: the part of ``SplitRule`` that is about verdicts, and people.

    Attributes:
        min_people: What asks needs the verdicts of at least this many people (ELKEN: two, and with ``people = "any"``
            one drop is enough); those with fewer are held.
    """

    min_people: int = Field(default=0, ge=0)

    @model_validator(mode="after")
    def _no_scripts(self) -> Self:
        of_facts = ("changes", "min_prompts", "min_neighbours")
        if changed := [n for n in of_facts if getattr(self, n) != SplitRule.model_fields[n].default]:
            what = f"a split of {self.edited}s has not"
            raise ValueError(f"'{changed[0]}' is about facts and script prompts, which {what}")
        return self


class EventRule(RequestRule):
    """What goes into a split of events.

    Attributes:
        edits: Tells it from a rule about facts.
        types: Only events of these types or topics; None for all.
        min_questions: An event has at least this many questions that are kept.
    """

    edited: ClassVar[str] = "event"
    edits: Literal["event"] = "event"
    types: tuple[str, ...] | None = None
    min_questions: int = Field(default=1, ge=1)


class DocumentRule(RequestRule):
    """What goes into a split of documents.

    Attributes:
        edits: Tells it from a rule about facts.
        min_probes: A document has at least this many probes that are kept.
    """

    edited: ClassVar[str] = "document"
    edits: Literal["document"] = "document"
    min_probes: int = Field(default=1, ge=1)


def read_rule(table: Mapping[str, Any], where: str) -> SplitRule:
    """The rule in a table, of facts, or of what ``edits`` says: ``event`` or ``document``.

    Raises:
        UserError: an unknown name or an impossible value.
    """
    for rule in (EventRule, DocumentRule):
        if table.get("edits") == rule.edited:
            return validate(rule, dict(table), where=where)
    return validate(SplitRule, {k: v for k, v in table.items() if k != "edits" or v != "fact"}, where=where)


class Decision(NamedTuple):
    """What the verdicts on an item come to; ``by`` names the deciding check, ``reason`` is filled where it is known."""

    outcome: Outcome
    by: str = ""
    reason: str = ""


KEPT = Decision("keep")


Said = tuple[str, Verdict]
"""What a verdict comes to, and the verdict: of a check it is an outcome, of a person the label."""


def matches(by: str, name: str) -> bool:
    """Whether ``check@version``, with or without a person before it, is what a rule names.

    A lead's decision belongs to the task that it decides.

    Example:
        >>> matches("person:ann/filter@2", "filter"), matches("leak@1", "leak@2")
        (True, False)
        >>> matches("person:lea/filter_adjudicated@2", "filter")
        True
    """
    stored = by.rsplit("/", 1)[-1]
    names = (stored, stored.replace(f"_{ADJUDICATED}", "", 1))
    return any(name in (task, task.partition("@")[0]) for task in names)


def counts(rule: SplitRule, by: str, model: str | None) -> bool:
    """Whether the rule looks at a verdict at all."""
    if any(matches(by, name) for name in rule.ignore):
        return False
    if rule.checks is not None and not any(matches(by, name) for name in rule.checks):
        return False
    return all(model == wanted for name, wanted in rule.models.items() if matches(by, name))


def check_units(verdicts: Iterable[tuple[str, str | None, str, str]], rule: SplitRule) -> None:
    """Refuse a threshold whose values are in another unit than its own, or than that of the first verdict.

    Args:
        verdicts: (check, model, unit, key of the first verdict) in order of those keys.
        rule: The rule.

    Raises:
        DataError: values of one threshold are in two units.
    """
    units: list[str | None] = [t.unit for t in rule.thresholds]
    for by, model, unit, key in verdicts:
        for n, threshold in enumerate(rule.thresholds):
            if threshold.on(by, model) and counts(rule, by, model):
                units[n] = units[n] or unit
                if unit != units[n]:
                    raise DataError(
                        f"the threshold on '{threshold.check}' is in {units[n]}, this verdict's value is in {unit}",
                        where=key,
                        fix="name the unit and, where two checks share a name, check@version or the model",
                    )


class Verdicts:
    """What verdicts on items come to.

    Args:
        verdicts: Any number of verdicts; they are read once.
        rule: The rule.
        settled: What near-duplicate clusters come to, by item id (``curation.rules.selection``).
    """

    def __init__(
        self, verdicts: Iterable[Verdict], rule: SplitRule, *, settled: Mapping[str, Decision] | None = None
    ) -> None:
        self._rule, self._settled = rule, settled or {}
        self._rows: defaultdict[str, list[Said]] = defaultdict(list)
        self._measured: list[set[str]] = [set() for _ in rule.thresholds]
        self._needed = any(t.missing != "keep" for t in rule.thresholds)
        self._on = cache(lambda by, model: [n for n, t in enumerate(rule.thresholds) if t.on(by, model)])
        looked_at = cache(partial(counts, rule))
        for verdict in verdicts:
            if looked_at(verdict.by, verdict.model):
                self._add(verdict)

    def _add(self, verdict: Verdict) -> None:
        place = _place(verdict.item_id, verdict.related)
        if verdict.judged_by is not None:
            if verdict.label not in (None, "unscored"):
                self._rows[place].append((str(verdict.label), verdict))
            return
        numbers = self._on(verdict.by, verdict.model)
        for n in numbers:
            self._measured[n].add(verdict.item_id)
        outcomes: list[str] = []
        if verdict.value is not None and numbers:
            place = verdict.item_id
            bounds = [self._rule.thresholds[n] for n in numbers]
            # of a cluster, an item that is out may be the one that stays
            outcomes = [t.then if t.out(verdict.value) else "keep" for t in bounds if not t.clusters]
        elif verdict.label is not None:
            policy = {"unsure": self._rule.unsure, "unscored": self._rule.unscored}
            outcomes = [policy.get(verdict.label, verdict.label)]
        self._rows[place] += [(outcome, verdict) for outcome in outcomes]

    def judge(self, kind: str, item: str, *related: str) -> Decision:
        """Drop before hold before keep; people first where the rule says so, and a lead's decision before people."""
        stored = self._rows.get(_place(item, related))
        if not stored and not self._needed and (related or item not in self._settled):
            return KEPT
        verdicts = _without_overruled(_keep_newest(stored or ()))
        if (people := _of_people(verdicts)) and self._rule.people_outrank:
            return self._people(people)
        decisions = [Decision(self._outcome(label), verdict.check) for label, verdict in verdicts]
        if not related:
            decisions += [self._settled[item]] if item in self._settled else []
            decisions += [
                Decision(t.missing, t.check, "not measured")
                for t, measured in zip(self._rule.thresholds, self._measured, strict=True)
                if t.missing != "keep" and t.kind == kind and item not in measured
            ]
        return worst(decisions)

    def saved(self, item: str) -> bool:
        """Whether people keep an item whatever the checks say."""
        return self._rule.people_outrank and (people := self.by_people(item)) is not None and people.outcome == "keep"

    def number_of_people(self, item: str) -> int:
        """How many people judged an item by themselves; a lead who decides between others is none of them."""
        raters = [verdict.judged_by for _, verdict in self._rows.get(item, ())]
        return len({rater.name for rater in raters if rater is not None and rater.kind != "adjudicated"})

    def by_people(self, item: str) -> Decision | None:
        """What people alone say of an item; None where nobody said anything."""
        people = _of_people(_keep_newest(self._rows.get(item, ())))
        return self._people(_without_overruled(people)) if people else None

    def _outcome(self, label: str) -> Outcome:
        label = self._rule.unsure if label == "unsure" else label
        return "drop" if label == "drop" else "hold" if label == "hold" else "keep"

    def _people(self, people: Sequence[Said]) -> Decision:
        severe = ("drop", "unsure", "keep")
        votes: dict[str, Said] = {}  # one vote a person: the most severe of their verdicts on the item
        for label, verdict in sorted(people, key=lambda one: severe.index(one[0])):
            if (rater := verdict.judged_by) is not None:
                if rater.kind == "adjudicated":
                    return Decision(self._outcome(label), verdict.check, f"decided by {rater.name}")
                votes.setdefault(rater.name, (label, verdict))
        label, verdict = next(iter(votes.values()))
        if self._rule.people == "majority":
            first, *rest = Counter(label for label, _ in votes.values()).most_common()
            if rest and rest[0][1] == first[1]:
                split = ", ".join(f"{n} {label}" for label, n in sorted([first, *rest]))
                return Decision("hold", "people", f"a tie of people: {split}")
            label, verdict = next(vote for vote in votes.values() if vote[0] == first[0])
        outcome = self._outcome(label)
        return Decision(outcome, verdict.check if outcome != "keep" else "")


def worst(decisions: Iterable[Decision]) -> Decision:
    """The first drop, else the first hold, else keep.

    Example:
        >>> worst([Decision("keep"), Decision("hold", "a"), Decision("drop", "b")]).by
        'b'
    """
    first = min(decisions, key=lambda one: ("drop", "hold", "keep").index(one.outcome), default=KEPT)
    return first if first.outcome != "keep" else KEPT


def _place(item: str, related: tuple[str, ...]) -> str:
    return "~".join((item, *related))


def _kind_of_rater(said: Said) -> str:
    rater = said[1].judged_by
    return rater.kind if rater is not None else "check"


def _of_people(verdicts: Iterable[Said]) -> list[Said]:
    return [said for said in verdicts if _kind_of_rater(said) != "check"]


def _without_overruled(verdicts: list[Said]) -> list[Said]:
    """All verdicts; where a lead decided, without those of the people between whom the lead decided."""
    by_lead = any(_kind_of_rater(said) == "adjudicated" for said in verdicts)
    return [said for said in verdicts if not by_lead or _kind_of_rater(said) in ("check", "adjudicated")]


def _keep_newest(verdicts: Iterable[Said]) -> list[Said]:
    """Of each check (or person's task) and model, the newest version only."""
    newest: dict[tuple[str, str | None], tuple[int, list[Said]]] = {}
    for one in verdicts:
        name, _, version = one[1].by.rpartition("@")
        model = None if one[1].judged_by is not None else one[1].model
        known = newest.setdefault((name, model), (int(version), []))
        if int(version) > known[0]:
            newest[(name, model)] = (int(version), [one])
        elif int(version) == known[0]:
            known[1].append(one)
    return [s for _, group in newest.values() for s in group]
