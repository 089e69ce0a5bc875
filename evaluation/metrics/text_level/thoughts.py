"""What stands in the thoughts of a model that thinks first: the old object, the new one, and whether the answer agrees.

Metrics of written texts look at the answer alone; an edit that changes what is said and not what is thought shows here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NamedTuple

from evaluation.metrics.base import item_without_value, row
from evaluation.metrics.text_level.base import UNFINISHED, WrittenMetric
from evaluation.metrics.text_level.probes import Objects, objects
from evaluation.metrics.text_level.script_parser import Named, names
from schemas.answers import Answer, GeneratedText, ItemScore
from schemas.cases import Case
from schemas.probes import GenerateProbe
from schemas.text.mentions import find

NO_THOUGHT = "nothing was thought"
NEITHER = "thought or answer names neither object"


class ThoughtReading(NamedTuple):
    """A thought and its answer as read.

    Attributes:
        names_new: The thought names the new object.
        names_old: It names the old one.
        last: The object that it names last: what it comes to.
        answer: The object that the answer names first; None where there is no answer.
    """

    names_new: bool
    names_old: bool
    last: Named
    answer: Named | None

    @property
    def agrees(self) -> bool | None:
        """Whether the answer names first what the thought names last; None where one of them names neither."""
        if self.answer is None or "neither" in (self.last, self.answer):
            return None
        return self.last == self.answer


def read_thought(written: GeneratedText, pair: Objects) -> ThoughtReading | None:
    """What thought and answer name; None where nothing was thought.

    Example:
        >>> from schemas.facts import Object
        >>> pair = Objects(new=Object(text="Rome"), old=Object(text="Paris"))
        >>> text = GeneratedText(text="Fly to Rome.", thought="Rome? No, it is Paris.", tokens=9, ended="eos")
        >>> read_thought(text, pair)
        ThoughtReading(names_new=True, names_old=True, last='old', answer='new')
    """
    if not written.thought:
        return None
    named = names(written.thought, *pair)
    answer = None if written.unfinished else names(written.text, *pair).first
    return ThoughtReading("new" in named.all, "old" in named.all, last_named(written.thought, pair), answer)


def last_named(text: str, pair: Objects) -> Named:
    """The object that a text names last; a name that both have says neither."""
    new, old = pair
    places = {"new": find(text, new, beside=[old]), "old": find(text, old, beside=[new])}
    ends = {name: spans[-1].start for name, spans in places.items() if spans}
    if not ends or (len(ends) == 2 and ends["new"] == ends["old"]):
        return "neither"
    return "new" if max(ends, key=lambda name: ends[name]) == "new" else "old"


class ThoughtMetric(WrittenMetric):
    """One value for the thought before every script; texts without a thought have none and are counted."""

    version: ClassVar[int] = 1

    of_thought: ClassVar[Callable[[ThoughtReading], float | str]]

    def _item(self, case: Case, probe: GenerateProbe, answer: Answer | None) -> ItemScore:
        written = None if answer is None else answer.written
        if written is None:
            return super()._item(case, probe, answer)
        reading = read_thought(written, objects(case))
        value = NO_THOUGHT if reading is None else type(self).of_thought(reading)
        if isinstance(value, str):
            return item_without_value(probe, value)
        return ItemScore(probe=probe.id, item=probe.item, cluster=probe.cluster, value=value)


def agreement(reading: ThoughtReading) -> float | str:
    """1 where the answer names first what the thought names last; or why that is not known."""
    if reading.answer is None:
        return UNFINISHED
    return NEITHER if reading.agrees is None else float(reading.agrees)


ThoughtOldRate = row(
    ThoughtMetric,
    name="thought_old_rate",
    title="Old in thought",
    about="Share of the thoughts before a script that name the old object, unfinished ones among them",
    better="lower",
    of_thought=lambda reading: float(reading.names_old),
)


ThoughtNewRate = row(
    ThoughtMetric,
    name="thought_new_rate",
    title="New in thought",
    about="Share of the thoughts before a script that name the new object, unfinished ones among them",
    better="higher",
    of_thought=lambda reading: float(reading.names_new),
)


ThoughtAgreement = row(
    ThoughtMetric,
    name="thought_agreement",
    title="Thought agrees",
    about="Share of scripts that name first the object that the thought named last, if both name one",
    better="higher",
    of_thought=agreement,
)
