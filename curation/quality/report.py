"""The report of a quality sample: acceptance, and apart from it the agreement between people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from curation.quality.sample import CRITERIA, Sample
from curation.store.store import Store
from schemas.raters import ADJUDICATED
from schemas.text.counting import counted

TASK = "quality"
VERSIONS = ("1", "2", "3")
"""Of the forms whose answers count."""
ASPECTS = ("all", *CRITERIA)


class SampleAnswers(NamedTuple):
    """Answers of people on a sample: aspect -> item id -> person -> whether they say yes.

    ``decided`` holds a lead's decisions: aspect -> item id -> yes. In the acceptance a decision replaces the answers of
    people; it is left out of the agreement.
    """

    of: Mapping[str, Mapping[str, Mapping[str, bool]]]
    decided: Mapping[str, Mapping[str, bool]] = MappingProxyType({})

    @property
    def people(self) -> tuple[str, ...]:
        """Everybody who answered."""
        return tuple(sorted({p for items in self.of.values() for by in items.values() for p in by}))


class QualityReport(NamedTuple):
    """A sample and what came back.

    Attributes:
        missing: Person -> items that they were asked about and have not answered; everybody who answered is there too.
        unanswered: Sampled items that nobody answered or was asked about.
        acceptance: Aspect -> share of yes, a mean over items (each the mean over its people) weighted by 1/probability.
        by_person: Person -> the same for their own overall verdicts.
        unanimous: Share of items that everybody accepts, weighted.
        decided: Items that a lead decided.
        agreement: Aspect -> agreement statistics (``curation.stats.agreement.Agreement``).
    """

    sample: Sample
    missing: dict[str, int]
    unanswered: int
    acceptance: dict[str, Any]
    by_person: dict[str, Any]
    unanimous: Any
    agreement: dict[str, Any]
    decided: int = 0

    @property
    def complete(self) -> bool:
        """Whether every item has the answers of everybody who was asked about it."""
        return bool(self.missing) and not self.unanswered and not any(self.missing.values())


def answers(store: Store, sample: Sample) -> SampleAnswers:
    """The current answers on a sample's items; of one person's under several forms those of the newest."""
    names = {TASK: "all"} | {f"{TASK}_{criterion}": criterion for criterion in CRITERIA}
    leads = {name.replace(TASK, f"{TASK}_{ADJUDICATED}", 1): aspect for name, aspect in names.items()}
    of: dict[str, dict[str, dict[str, bool]]] = {a: defaultdict(dict) for a in ASPECTS}
    decided: dict[str, dict[str, bool]] = {a: {} for a in ASPECTS}
    for verdict in sorted(store.verdicts([d.item_id for d in sample.items]), key=lambda v: v.by.rpartition("@")[2]):
        rater, (name, _, version) = verdict.judged_by, verdict.by.rpartition("/")[2].partition("@")
        if rater is None or name not in {**names, **leads} or version not in VERSIONS:
            continue
        yes = verdict.value == 1 if verdict.label is None else verdict.label == "keep"
        if name in leads:
            decided[leads[name]][verdict.item_id] = yes
            continue
        of[names[name]][verdict.item_id][rater.name] = yes
    return SampleAnswers(of, decided)


def report(store: Store, sample: Sample, *, resamples: int = 1000) -> QualityReport:
    """Acceptance and agreement of a sample.

    Intervals resample cases (strata and the finite split are not used, which makes them wide rather than narrow). Where
    every answer is the same, a bootstrap has no width and the exact interval over cases stands in.
    """
    from curation.stats.agreement import agreement
    from curation.stats.bootstrap import Resampling
    from curation.stats.rating_table import rating_table

    given, resampling = answers(store, sample), Resampling(resamples)
    missing = dict.fromkeys(sorted({*given.people, *(p for d in sample.items for p in d.people)}), 0)
    unanswered = 0
    for item in sample.items:
        judged = given.of["all"].get(item.item_id, {})
        for person in set(item.people) - set(judged):
            missing[person] += 1
        unanswered += not (item.people or judged or item.item_id in given.decided["all"])
    decided = {a: {item: float(yes) for item, yes in given.decided[a].items()} for a in ASPECTS}
    acceptance = {a: _acceptance(sample, {**_shares(given.of[a]), **decided[a]}, resampling, a) for a in ASPECTS}
    by_person = {
        p: _acceptance(sample, _shares(given.of["all"], only=p), resampling, f"all, by {p}") for p in given.people
    }
    everybody = {item: float(all(by.values())) for item, by in given.of["all"].items()}
    unanimous = _acceptance(sample, everybody, resampling, "accepted by everybody")
    cases = {d.item_id: d.case for d in sample.items}
    agree = {}
    for aspect in ASPECTS:
        rows = [
            (item, who, "yes" if yes else "no")
            for item, by in sorted(given.of[aspect].items())
            for who, yes in by.items()
        ]
        table = rating_table(rows, cases=cases, scale=("no", "yes"))
        agree[aspect] = agreement(table, level="nominal", resampling=resampling)
    return QualityReport(sample, missing, unanswered, acceptance, by_person, unanimous, agree, len(decided["all"]))


def _shares(items: Mapping[str, Mapping[str, bool]], *, only: str | None = None) -> dict[str, float]:
    """For each item the share of its people who say yes."""
    chosen = {item: [yes for who, yes in by.items() if only in (None, who)] for item, by in items.items()}
    return {item: sum(votes) / len(votes) for item, votes in chosen.items() if votes}


def _acceptance(sample: Sample, shares: Mapping[str, float], resampling: Any, name: str) -> Any:
    """Weighted mean of shares (Hajek's ratio estimate) with an interval over cases."""
    import numpy as np

    from curation.stats.bootstrap import bootstrap_sums, ends
    from curation.stats.estimates import Estimate, number_groups, sums_by, undefined
    from curation.stats.intervals import binomial_interval

    judged = [d for d in sample.items if d.item_id in shares]
    if not judged:
        return undefined(name, "nobody has answered")
    groups = number_groups([d.case for d in judged])
    weight = np.array([1 / d.probability for d in judged])
    value = np.array([shares[d.item_id] for d in judged])
    sums = sums_by(groups.of, np.column_stack([weight * value, weight]), len(groups.names))
    mean, cases = float((weight * value).sum() / weight.sum()), len(groups.names)
    if value.min() == value.max() and mean in (0.0, 1.0):
        exact = binomial_interval(round(mean * cases), cases)
        return exact._replace(name=name, n=len(judged), note="all answers are equal: exact interval over cases")
    draws = bootstrap_sums(sums, lambda s: np.asarray(s[:, 0] / s[:, 1]), resampling)
    low, high, note = ends(draws, resampling, cases=cases)
    method = resampling.describe("case bootstrap of the weighted mean") if low is not None else ""
    return Estimate(name, mean, low, high, len(judged), cases, method, note=note)


def text(report: QualityReport) -> str:
    """The report as lines."""
    s = report.sample
    lines = [f"sample {s.name} of {s.split}: {len(s.items)} of {counted(s.population, s.unit)}"]
    for person, lost in report.missing.items():
        answered = report.by_person[person].n if person in report.by_person else 0
        lines.append(f"  {person}: {answered} answered, {lost} missing")
    if report.unanswered:
        them = "it" if report.unanswered == 1 else "them"
        lines.append(f"  {counted(report.unanswered, 'item')} without an answer, and nobody was asked about {them}")
    if report.decided:
        lines.append(f"  {counted(report.decided, 'item')} decided by a lead: the decision counts for the item")
    if not report.acceptance["all"].defined:
        return "\n".join([*lines, "Nobody has answered yet."])
    lines.append("Acceptance (weighted to the split, 95 %)")
    lines += [f"  {name}: {e.text()}" for name, e in report.acceptance.items()]
    lines.append(f"  accepted by everybody: {report.unanimous.text()}")
    lines += [f"  all, by {name}: {e.text()}" for name, e in report.by_person.items()]
    lines.append("Agreement between people (unweighted)")
    for name, a in report.agreement.items():
        lines.append(f"  {name}: AC1 {a.ac1.text()}, alpha {a.alpha.text()}, exact {a.exact.text()}")
        lines.append(f"  {' ' * len(name)}  prevalence of yes {a.prevalence['yes'].text()}")
    return "\n".join(lines)


def summary(report: QualityReport) -> dict[str, Any]:
    """What a split's header keeps of a report: plain JSON values."""
    s = report.sample
    return {
        "sample": s.name,
        "unit": s.unit,
        "items": len(s.items),
        "population": s.population,
        "people": list(report.missing),
        "missing": report.missing,
        **({"unanswered": report.unanswered} if report.unanswered else {}),
        **({"decided_by_lead": report.decided} if report.decided else {}),
        "acceptance": {name: _plain_estimate(e) for name, e in report.acceptance.items()},
        "accepted_by_everybody": _plain_estimate(report.unanimous),
        "agreement": {
            name: {"ac1": _plain_estimate(a.ac1), "alpha": _plain_estimate(a.alpha), "exact": _plain_estimate(a.exact),
                   "prevalence_yes": _plain_estimate(a.prevalence["yes"])}
            for name, a in report.agreement.items()
        },
    }  # fmt: skip


def _plain_estimate(estimate: Any) -> dict[str, Any]:
    return {k: v for k, v in estimate._asdict().items() if v not in (None, "")}
