"""What a campaign says of methods: corrected means, the stop rule, strengths."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from annotation_ui.agreement.report import Judgement, live_judgements
from annotation_ui.campaigns.assignment import keep_assignments, pairs_in_words
from annotation_ui.campaigns.campaign import assign_items, campaign_task, started_pairs
from annotation_ui.ratings.database import Assignment, RatingsDB
from annotation_ui.ratings.raters import list_raters
from annotation_ui.tasks.base import RatingTask
from annotation_ui.tasks.generated_scripts import OUTCOMES, ComparisonTask, method_of
from curation.stats.bradley_terry import PairedComparison, Strengths, bradley_terry
from curation.stats.severity_means import ScaleRating, SeverityReport, severity_report
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.generated_scripts import GeneratedScript


class MethodMeans(NamedTuple):
    """What a campaign says of methods.

    Attributes:
        report: The means, or None where severity cannot be told; ``refused`` says why then, in a sentence.
        width: The width that every difference's interval is to fall below, in points; None for no stop rule.
        left_out: Aspects that tell nothing, each in a sentence.
    """

    report: SeverityReport | None
    refused: str = ""
    width: float | None = None
    left_out: tuple[str, ...] = ()

    @property
    def reached(self) -> bool:
        """Whether the stop rule is met."""
        return self.report is not None and self.width is not None and self.report.reached(self.width)

    @property
    def more(self) -> int | None:
        """About how many ratings more the stop rule takes, at the present mix of cases and people.

        An interval narrows with the square root of the ratings. None without a rule, means or a difference.
        """
        if self.report is None or self.width is None or not self.report.differences:
            return None
        return max(0, math.ceil(self.report.ratings * ((self.report.widest / self.width) ** 2 - 1)))


def methods_of(db: RatingsDB, name: str) -> dict[str, str]:
    """The method (the stratum) of each real item of a campaign."""
    return {i: p.item.stratum for i, p in db.items(name).items() if p.purpose == "real"}


def scale_ratings(judgements: Sequence[Judgement], methods: Mapping[str, str], task: RatingTask) -> list[ScaleRating]:
    """The answers of people on scales."""
    scales = {f.name for f in task.form.asked_fields() if f.kind == "scale"}
    return [
        ScaleRating(m.item, m.case, methods[m.item], m.name, m.aspect, int(m.value))
        for m in judgements
        if not m.rater.is_judge and m.aspect in scales and m.item in methods
    ]


def method_means(
    judgements: Sequence[Judgement], methods: Mapping[str, str], task: RatingTask, *, width: float | None = None
) -> MethodMeans:
    """The means of a campaign's answers, or the reason why there are none.

    Args:
        judgements: Of ``live_judgements``; those of judges are left out.
        methods: Of ``methods_of``.
        task: What was asked.
        width: Of the stop rule.
    """
    ratings = scale_ratings(judgements, methods, task)
    scales = {f.name: (float(f.low), float(f.high)) for f in task.form.asked_fields() if f.kind == "scale"}
    if not scales:
        return MethodMeans(None, "means of methods are for ratings on a scale, which this task does not ask for", width)
    values: defaultdict[str, set[int]] = defaultdict(set)
    for r in ratings:
        values[r.aspect].add(r.value)
    flat = {aspect: next(iter(given)) for aspect, given in values.items() if len(given) == 1}
    flat = flat if len(flat) < len(values) else {}  # of aspects that tell nothing severity_report says so
    left_out = tuple(f"{aspect} is left out: every rating is {value}." for aspect, value in flat.items())
    try:
        report = severity_report([r for r in ratings if r.aspect not in flat], scales)
        return MethodMeans(report, width=width, left_out=left_out)
    except UserError as error:
        return MethodMeans(None, f"{error.what}; {error.fix}" if error.fix else error.what, width)


def stop_lines(means: MethodMeans) -> list[str]:
    """What the stop rule says; nothing where there is none."""
    if means.width is None or means.report is None or not means.report.differences:
        return []
    wide = f"the widest interval of a difference is {means.report.widest:.2f}"
    if means.reached:
        return [f"Stop rule: met, {wide}, below {means.width:g}."]
    return [
        f"Stop rule: not met, {wide}, not below {means.width:g}; about {means.more} ratings more at the present mix "
        "of cases and people."
    ]


def comparisons_of(
    judgements: Sequence[Judgement], pairs: Mapping[str, tuple[str, ...]], store: Store, aspect: str
) -> list[PairedComparison]:
    """Answers about an aspect as comparisons of methods; those who could not judge are left out.

    Args:
        judgements: Answers.
        pairs: A and B by item.
        store: Where the scripts are.
        aspect: Name of the form's field.

    Raises:
        UserError: a script is not in the store.
    """
    methods = {script.id: method_of(script) for script in store.all(GeneratedScript)}
    out = []
    for j in judgements:
        if j.aspect != aspect or j.value not in OUTCOMES:
            continue
        if lost := [s for s in pairs[j.item] if s not in methods]:
            raise UserError(
                f"the store has no script '{lost[0]}' of the item '{j.item}'", where=str(store.path),
                fix="name the store that the campaign was made from",
            )  # fmt: skip
        a, b = (methods[s] for s in pairs[j.item])
        out.append(PairedComparison(a, b, OUTCOMES[str(j.value)], j.case))
    return out


def method_strengths(
    db: RatingsDB, store: Store, name: str, *, raters: Collection[str] = ()
) -> dict[str, Strengths | str]:
    """Strengths of the compared methods by aspect, or the sentence that says why there are none.

    Args:
        db: The ratings file.
        store: Where the scripts are.
        name: Of the campaign.
        raters: Whose answers count; everybody's where none is named.

    Raises:
        UserError: the campaign's items are no pairs, or its scripts are not in the store.
    """
    task = campaign_task(db, name)
    if not isinstance(task, ComparisonTask):
        raise UserError(f"the raters of '{name}' compare nothing: its task is '{task.form.name}'", where=str(db.path),
                        allowed="campaigns of compare_scripts or compare_executability")  # fmt: skip
    judgements = [j for j in live_judgements(db, name) if not raters or j.name in raters]
    pairs = {i: p.item.related for i, p in db.items(name).items() if p.purpose == "real"}
    out: dict[str, Strengths | str] = {}
    for field in task.form.asked_fields():
        rows = comparisons_of(judgements, pairs, store, field.name)
        try:
            out[field.name] = bradley_terry(rows)
        except UserError as error:
            out[field.name] = str(error)
    return out


class AssignResult(NamedTuple):
    """What assigning did.

    Attributes:
        added, taken: Assignments added, and taken back.
        lines: In sentences: items that raters have in common, the stop rule.
    """

    added: int
    taken: int
    lines: tuple[str, ...] = ()


def assign_campaign(db: RatingsDB, name: str) -> AssignResult:
    """Share a campaign out evenly; not at all once its stop rule is met.

    Answers, and batches that have begun, are never moved; training and attention items stay with everybody.

    Raises:
        UserError: as ``assign_items``.
    """
    width = db.campaign(name).settings.get("stop_width")
    lines: list[str] = []
    if width is not None:
        task = campaign_task(db, name)
        means = method_means(live_judgements(db, name), methods_of(db, name), task, width=width)
        lines = [*stop_lines(means)] if means.report else [f"No stop yet: {means.refused}."]
        if means.reached:
            taken = _open_assignments(db, name)
            db.add_items(name, [], [], taken)
            return AssignResult(
                0, len(taken), (*lines, f"{len(taken)} open assignments taken back: the round is over.")
            )
    return AssignResult(*assign_items(db, name), (*_pairs_lines(db, name), *lines))


def _pairs_lines(db: RatingsDB, name: str) -> list[str]:
    """What raters have in common, and who has nothing to do because all batches have begun."""
    real, assigned = methods_of(db, name), db.assignments(name)
    busy = {a.person for a in assigned if a.item in real}
    idle = [p.name for p in list_raters(db) if p.role == "rater" and p.name not in busy]
    left = f"No items are left for {', '.join(idle)}." if idle else ""
    return [line for line in (pairs_in_words(assigned, real), left) if line]


def _open_assignments(db: RatingsDB, name: str) -> list[Assignment]:
    """Assignments of real items that nobody has begun, in batches that have not begun either."""
    every, real = db.assignments(name), methods_of(db, name)
    firm = keep_assignments(every, started_pairs(db, name), {a.person for a in every})
    return [a for a in every if a not in firm and a.item in real]
