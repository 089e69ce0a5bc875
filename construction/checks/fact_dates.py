"""Is a temporal edit dated, and does it come in order?"""

from __future__ import annotations

import re
from datetime import date
from typing import ClassVar

from typing_extensions import override

from construction.checks.base import CheckInputs, RuleCheck, Stage
from curation.loaders.sources import stated_order
from schemas.facts import Fact
from schemas.verdicts import Verdict

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?\Z", re.ASCII)


def days(text: str) -> tuple[date, date] | None:
    """First and last day that a date may mean ("2021", "2021-12" and "2021-12-08"); None where it is no date.

    Example:
        >>> days("2020-02")
        (datetime.date(2020, 2, 1), datetime.date(2020, 2, 29))
        >>> days("2021-02-30") is None
        True
    """
    match = _DATE.match(text)
    if match is None:
        return None
    year, month, day = (int(part) if part else None for part in match.groups())
    assert year is not None
    try:
        first = date(year, month or 1, day or 1)
        if day:
            return first, first
        last = date(year + (month or 12) // 12, (month or 12) % 12 + 1, 1).toordinal() - 1
        return first, date.fromordinal(last)
    except ValueError:
        return None


class FactDates(RuleCheck):
    """The date of the change dates both facts of a temporal edit: the old one ends then, the new one begins.

    ``unscored`` where the date cannot be read, ``drop`` where the change lies after its source was made. Without a
    date, ``keep`` where the data set itself states that the old object came first, else ``unsure``. ``unsure``, too,
    where the order looks wrong beside the other facts of the subject and relation: an object that is changed away
    before it came (unless somebody comes back, which people know), or two changes that undo each other at the same
    time. Facts of other kinds are not judged.
    """

    name: ClassVar[str] = "fact_dates"
    version: ClassVar[int] = 2
    on: ClassVar[Stage] = "fact"
    about: ClassVar[str] = "are temporal edits dated and in order?"
    not_applicable: ClassVar[str] = "no temporal edit"

    def applies(self, inputs: CheckInputs) -> bool:
        """Only to temporal edits."""
        return inputs.fact.change == "temporal"

    @override
    def judge_one(self, inputs: CheckInputs) -> Verdict:
        fact = inputs.fact
        if fact.changed_on is None:
            stated = stated_order(fact.source)
            if stated:
                return self.verdict(fact, "keep", f"without a date, but in order: {stated}")
            return self.verdict(fact, "unsure", "a temporal edit without the date of its change")
        when = days(fact.changed_on)
        if when is None:
            reason = f"'{fact.changed_on}' is no date such as 2021, 2021-12 or 2021-12-08"
            return self.verdict(fact, "unscored", reason)
        source_days = days(fact.source.date or "")
        if source_days and when[0] > source_days[1]:
            reason = f"changed on {fact.changed_on}, after its source was made ({fact.source.date})"
            return self.verdict(fact, "drop", reason)
        for other in inputs.facts or ():
            then = days(other.changed_on or "")
            if then and other.id != fact.id and _same_place(fact, other) and (wrong := _order(fact, when, other, then)):
                return self.verdict(fact, "unsure", wrong).model_copy(update={"related": (other.id,)})
        return self.verdict(fact, "keep")


def _same_place(fact: Fact, other: Fact) -> bool:
    same = fact.subject.text.casefold() == other.subject.text.casefold()
    return same and fact.relation.id == other.relation.id and other.change == "temporal"


def _order(fact: Fact, when: tuple[date, date], other: Fact, then: tuple[date, date]) -> str | None:
    """What is wrong between two changes of one subject and relation: what came first must be there to be changed."""
    arrives = (
        fact.new_object.text.casefold() == other.old.text.casefold()
    )  # this edit brings what the other one takes away
    leaves = fact.old.text.casefold() == other.new_object.text.casefold()
    if arrives and leaves and then == when:
        return f"'{other.key}' undoes it at the same time"
    if arrives and not leaves and then[1] < when[0]:
        return f"'{fact.new_object.text}' came on {fact.changed_on}, but '{other.key}' ends it on {other.changed_on}"
    if leaves and not arrives and when[1] < then[0]:
        return f"'{fact.old.text}' was changed on {fact.changed_on}, but '{other.key}' brings it on {other.changed_on}"
    return None
