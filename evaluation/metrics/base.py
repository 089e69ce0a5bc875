"""What a metric is, and what most metrics share: preferring one object."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from curation.stats.bounded import SHARE, PairedItem, Scale, clustered_interval, difference_interval
from curation.stats.intervals import PUBLISHED, Interval
from schemas.answers import Answer, CaseScores, ItemScore
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.probes import Probe, ScoreProbe

_T = TypeVar("_T")
Answers = Mapping[str, Answer]
Normalisation = Literal["mean", "sum"]
NORMALISATIONS: dict[str, str] = {
    "mean": "log-probability per target token (as the published code)",
    "sum": "log-probability of the whole target (as the paper's formula)",
}
TRUNCATED = "truncated"
Bounds = tuple[float, float]
NEVER_NEGATIVE: Bounds = (0.0, math.inf)
_ROUNDING = 1e-9  # of sums, by which a mean may lie outside its bounds

Role = Literal[
    "efficacy",
    "generalisation",
    "locality",
    "script_efficacy",
    "script_locality",
    "bleed_over",
    "text_efficacy",
    "script_written",
    "text",
    "event_efficacy",
    "event_tendency",
    "event_locality",
    "document_efficacy",
    "document_locality",
    "other",
]
"""What a metric is to a report, whatever its name: what it measures, and on prompts of which kind."""


class Summary(NamedTuple):
    """A metric over cases: mean of case means with a 95 % interval over cases, and what was left out or uncertain.

    ``half`` is half the width of the published interval (1.96·sd/√cases, by case); ``ends`` are those of the default
    one, and ``kind`` says which it is (two-way where neighbours recur); a metric without ends has the published one.
    ``cases`` and ``items`` count what was scored; ``unscored`` items have no value and are in no mean; ``ties`` are
    scored as not preferred; ``truncated`` prompts lost their beginning and are scored on what was left. ``level`` is
    what the mean is over: ``case`` means or every ``question``; the interval is over cases both times. ``share`` is
    the mean as a share of the largest mean that was possible, where items say theirs.
    """

    metric: str
    mean: float | None
    half: float | None
    cases: int
    items: int
    unscored: int = 0
    ties: int = 0
    truncated: int = 0
    level: str = "case"
    ends: tuple[float, float] | None = None
    kind: str = PUBLISHED
    unit: str = "fraction"
    share: float | None = None

    @property
    def interval(self) -> Interval:
        """The mean and its interval."""
        return Interval(self.mean, self.half, self.cases, self.ends, self.kind, self.unit)


def metric_of(metrics: Iterable[Metric], role: Role) -> Metric | None:
    """The first of the metrics with a role, or None."""
    return next((m for m in metrics if m.role == role), None)


def scale_of(metric: Metric) -> Scale | None:
    """Lowest and highest possible mean of a case; None where an end is infinite."""
    low, high = metric.bounds
    return (low, high) if math.isfinite(low) and low < high < math.inf else None


def within_bounds(metric: Metric, interval: Interval) -> Interval:
    """The interval of a metric, cut at its bounds.

    Raises:
        UserError: the mean is outside of the bounds.
    """
    low, high = metric.bounds
    if interval.mean is None or low - _ROUNDING <= interval.mean <= high + _ROUNDING:
        ends = interval.ends
        return interval if ends is None else interval._replace(ends=(max(ends[0], low), min(ends[1], high)))
    raise UserError(
        f"the metric '{metric.name}' has the mean {interval.mean:g}, outside of its bounds {low:g} to {high:g}",
        fix="state its bounds: bounds = (lowest, highest)",
    )


def case_mean_interval(metric: Metric, scores: Iterable[CaseScores], *, tail: float = 0.025) -> Interval:
    """Mean of the case means of a metric with its interval, two-way where neighbours recur, within known limits.

    ``tail`` is the chance left out at each end: 0.025 for 95 %.
    """
    scored = [(i, s.case) for s in scores for i in s.items if i.value is not None]
    limits = [i.largest for i, _ in scored if i.largest is not None]
    interval = clustered_interval(
        [i.value or 0.0 for i, _ in scored],
        [case for _, case in scored],
        [i.cluster for i, _ in scored],
        scale_of(metric),
        limits=limits if len(limits) == len(scored) else (),
        tail=tail,
    )
    return within_bounds(metric, interval)


def case_mean_difference(metric: Metric, first: Mapping[str, CaseScores], second: Mapping[str, CaseScores]) -> Interval:
    """Mean of ``first - second`` over the cases that both have: two-way where the metric's neighbours recur."""
    one, two = ({k: s.mean for k, s in side.items() if s.mean is not None} for side in (first, second))
    return difference_interval(one, two, scale=scale_of(metric), items=paired_items(first, second))


def paired_items(first: Mapping[str, CaseScores], second: Mapping[str, CaseScores]) -> list[PairedItem]:
    """Prompts with a neighbour fact or a limit that both sides have a value for; empty where a metric has neither."""
    out = []
    for key, mine in first.items():
        theirs = {i.probe: i.value for i in second[key].items} if key in second else {}
        for i in mine.items:
            other = theirs.get(i.probe)
            if (i.cluster is not None or i.largest is not None) and i.value is not None and other is not None:
                out.append(PairedItem(key, i.cluster, i.value, other, i.largest))
    return out


class Metric:
    """A metric asks probes of a case, scores their answers, and summarises over cases.

    ``score`` is pure: the same answers give the same scores. A metric that does not apply to a case asks nothing of it
    and returns no items. Tables show fractions in percent, other units as they are. Unless it says otherwise, it is
    about facts, more is better, its values are fractions from 0 to 1, and every case counts once.

    Attributes:
        name: As in the table ``METRICS``.
        version: Raised when the same answers would give other scores.
        title: Heading of its column.
        about: One line for lists.
        better: Which values are better.
        role: What it is to a report.
        unit: What its values are: ``fraction`` (0 to 1), ``perplexity`` (its items are in nats per token, and two
            values differ by a ratio) or another unit, such as ``bits``.
        bounds: Lowest and highest possible value of an item; infinite where there is none. No interval leaves them.
        unedited: The value that the unedited model has by definition, where the metric compares answers with those
            before the edit; None where it is measured.
        asks_for_texts: Whether it asks for texts; it is then made with a ``Generation``.
        takes: Types of case that it asks something of: ``fact``, ``event``, ``document``.
        pooled: Whether its value is a mean over questions, not over cases (``evaluation.metrics.pooled``).
        shared: Whether its questions are those of the whole run, asked once a state of the model.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    version: ClassVar[int] = 1
    better: ClassVar[Literal["higher", "lower"]] = "higher"
    role: ClassVar[Role] = "other"
    unit: ClassVar[str] = "fraction"
    bounds: ClassVar[Bounds] = SHARE
    unedited: ClassVar[float | None] = None
    asks_for_texts: ClassVar[bool] = False
    takes: ClassVar[tuple[str, ...]] = ("fact",)
    pooled: ClassVar[bool] = False
    shared: ClassVar[bool] = False

    def probes(self, case: Any) -> Sequence[Probe]:
        """What the model is asked for a case; defined by the metric."""
        raise NotImplementedError

    def score(self, case: Any, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """An item for every probe."""
        items = [self.item_of(case, p, after.get(p.id), before.get(p.id), normalisation) for p in self.probes(case)]
        return CaseScores(case=case.key, metric=self.name, items=tuple(items))

    def item_of(
        self, case: Any, probe: Any, after: Answer | None, before: Answer | None, normalisation: Normalisation
    ) -> ItemScore:
        """The score of one probe, by its answers after and before the edit; defined by the metric."""
        raise NotImplementedError

    def summarise(self, scores: Sequence[CaseScores]) -> Summary:
        """Mean of case means, its published and its default interval, and the counts."""
        return self._summary(scores, case_mean_interval(self, scores))

    def _summary(self, scores: Sequence[CaseScores], interval: Interval, **more: Any) -> Summary:
        items = [i for s in scores for i in s.items]
        largest = [s.largest for s in scores if s.mean is not None]
        most = math.fsum(v for v in largest if v is not None) / len(largest) if largest and None not in largest else 0.0
        return Summary(
            metric=self.name,
            mean=interval.mean,
            half=interval.half,
            cases=interval.n,
            items=sum(i.value is not None for i in items),
            unscored=sum(i.value is None for i in items),
            ties=sum(i.tie for i in items),
            truncated=sum(i.reason.startswith(TRUNCATED) for i in items),
            ends=interval.ends,
            kind=interval.kind,
            unit=self.unit,
            share=interval.mean / most if interval.mean is not None and most > 0 else None,
            **more,
        )


def row(*kinds: type[Any], **fields: Any) -> type[Any]:
    """A metric as one row: the kinds that say how it asks and scores, and what is its own (name, title, about ...).

    Example:
        >>> row(Metric, name="mine", title="Mine", about="A metric of mine").title
        'Mine'
    """
    own = {"__doc__": fields["about"], "__module__": kinds[0].__module__}
    return type(str(fields["name"]), kinds, own | fields)


class Preference(Metric):
    """Share of prompts at which one object is strictly more probable than the other.

    Probes have the targets (new object, old object), in this order. A subclass says which of them should win and which
    prompts it asks.
    """

    wanted: ClassVar[Literal["new", "old"]]

    def item_of(
        self, case: Case, probe: ScoreProbe, after: Answer | None, before: Answer | None, normalisation: Normalisation
    ) -> ItemScore:
        """1 where the wanted object is strictly more probable, else 0; ties are 0 and counted."""
        return preferred(probe, after, normalisation, self.wanted)


def preferred(
    probe: ScoreProbe, answer: Answer | None, normalisation: Normalisation, wanted: Literal["new", "old"] = "new"
) -> ItemScore:
    """1 where the wanted one of a probe's two targets (new, old) is strictly more probable, else 0; ties are marked."""
    values = target_values(probe, answer, normalisation)
    if isinstance(values, str):
        return item_without_value(probe, values)
    new, old = values
    won = new > old if wanted == "new" else old > new
    return item_with_value(probe, float(won), answer, tie=new == old)


def target_values(probe: ScoreProbe, answer: Answer | None, normalisation: Normalisation) -> tuple[float, ...] | str:
    """Normalised log-probability of each target in the probe's order, or why there is none."""
    if answer is None:
        return "no answer"
    if answer.error is not None:
        return f"{TRUNCATED}: {answer.error}" if answer.truncated else answer.error
    if tuple(t.text for t in answer.targets) != probe.targets:
        return TRUNCATED if answer.truncated else "the answer has other targets than the probe"
    if any(t.tokens < 1 for t in answer.targets):
        return "a target has no token"
    values = tuple(t.value(normalisation) for t in answer.targets)
    if any(math.isnan(v) for v in values):
        return "the log-probability is not a number"
    return values


def item_without_value(probe: Probe, reason: str) -> ItemScore:
    """An item without a value, and why."""
    return ItemScore(probe=probe.id, item=probe.item, cluster=probe.cluster, value=None, reason=reason)


def item_with_value(probe: Probe, value: float, *answers: Answer | None, **more: Any) -> ItemScore:
    """An item with the value that some answers give; marked where one of them is to a truncated prompt."""
    reason = TRUNCATED if any(a is not None and a.truncated for a in answers) else ""
    return ItemScore(probe=probe.id, item=probe.item, cluster=probe.cluster, value=value, reason=reason, **more)


def after_and_before(now: _T | str, then: _T | str) -> tuple[_T, _T] | str:
    """What was read after and before the edit, or why one of them is missing."""
    if isinstance(now, str):
        return now
    return f"before the edit: {then}" if isinstance(then, str) else (now, then)
