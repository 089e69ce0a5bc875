"""Control items: hand-written scripts whose rating is known; a judge that misses them has not understood the scale.

Their ratings stand in the store's lineage (stage ``judge_control``) and not among its ratings: they enter no mean, no
count and no agreement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from pydantic import model_validator

from evaluation.judge.judging import JudgeRating
from evaluation.judge.steps import JudgeInput, JudgeStep
from schemas.core.config import Options, read_toml, validate
from schemas.core.ids import content_id, slug
from schemas.facts import Entity, Fact, Object, Relation, Source
from schemas.lineage import Lineage
from schemas.ratings import Aspect, Rating

if TYPE_CHECKING:
    from curation.store.store import Store

STAGE = "judge_control"
_NUMBER = "came"  # of a line's detail


class ControlItem(Options):
    """One control item: what is shown, and the ratings that are accepted for some aspects, lowest and highest."""

    name: str
    question: str
    prompt: str
    subject: str
    old: str
    new: str
    edited: bool
    text: str
    accepted: dict[Aspect, tuple[int, int]]

    @model_validator(mode="after")
    def _on_the_scale(self) -> ControlItem:
        if any(not 1 <= low <= high <= 7 for low, high in self.accepted.values()):
            raise ValueError(f"{self.name}: accepted ratings run from 1 to 7, the lower one first")
        return self

    @property
    def ask(self) -> JudgeInput:
        """As a judge is asked about it; its key and id are those of the first version, when it was a "canary"."""
        fact = Fact(
            key=f"canary/{slug(self.name)}",
            subject=Entity(text=self.subject),
            relation=Relation(id="canary"),
            prompt=self.prompt,
            old=Object(text=self.old),
            new=Object(text=self.new),
            source=Source(name="canaries", licence="CC0-1.0"),
        )
        item = content_id("canary", self.model_dump(mode="json"))
        text, question = self.text.strip(), self.question
        return JudgeInput(item=item, case=fact.key, text=text, question=question, fact=fact, edited=self.edited)


class _ControlItems(Options):
    control_items: tuple[ControlItem, ...]


def control_items() -> tuple[ControlItem, ...]:
    """All of them."""
    path = Path(str(files("evaluation.judge").joinpath("control_items.toml")))
    return validate(_ControlItems, read_toml(path), where=str(path)).control_items


class MissedControl(NamedTuple):
    """A control item that was rated otherwise, or not at all (``given`` None)."""

    name: str
    aspect: Aspect
    given: int | None
    accepted: tuple[int, int]


class ControlResult(NamedTuple):
    """How a judge did on the control items: ratings asked for, those accepted, and the others."""

    asked: int
    accepted: int
    missed: tuple[MissedControl, ...]


def control_questions(steps: Sequence[JudgeStep]) -> list[tuple[JudgeStep, ControlItem]]:
    """Which control item is asked about with which step."""
    return [(step, item) for item in control_items() for step in steps if step.aspect in item.accepted]


class AspectStep(Protocol):
    """What says which aspect is asked for."""

    @property
    def aspect(self) -> Aspect:
        """The aspect."""
        ...


class RatedControl(Protocol):
    """An item whose ratings are known."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def accepted(self) -> Mapping[Aspect, tuple[int, int]]:
        """The ratings that are accepted, lowest and highest, by aspect."""
        ...


def check_controls(pairs: Sequence[tuple[AspectStep, RatedControl]], ratings: Sequence[Rating]) -> ControlResult:
    """Compare ratings with what is accepted.

    Args:
        pairs: From ``control_questions``.
        ratings: One each, in the same order.
    """
    missed = []
    for (step, item), rating in zip(pairs, ratings, strict=True):
        low, high = item.accepted[step.aspect]
        if rating.value is None or not low <= rating.value <= high:
            missed.append(MissedControl(item.name, step.aspect, rating.value, (low, high)))
    return ControlResult(len(pairs), len(pairs) - len(missed), tuple(missed))


def control_lineage(step: AspectStep, item: RatedControl, judged: JudgeRating) -> Lineage:
    """What the store keeps of one control rating: who gave it under which form, and what is accepted."""
    rating = judged.rating
    detail: dict[str, Any] = {"control": item.name, "aspect": step.aspect, "accepted": list(item.accepted[step.aspect])}
    detail |= {"rater": rating.rater, "form": rating.form, "value": rating.value, "reason": rating.reason}
    return judged.line.model_copy(update={"stage": STAGE, "detail": {**judged.line.detail, **detail}})


def put_controls(store: Store, lines: Sequence[Lineage]) -> None:
    """Put control ratings into the store, numbered by when they came: replies carry their time in seconds only.

    Those of one call have one number, above all before. The store leaves out what it has already (replies on record).
    """
    number = 1 + max(map(_number, store.lineages(stage=STAGE)), default=0)
    store.put([], [line.model_copy(update={"detail": {**line.detail, _NUMBER: number}}) for line in lines])


def _number(line: Lineage) -> int:
    """When a control rating came, among those of its store; 0 for those that an earlier version stored."""
    return int(line.detail.get(_NUMBER, 0))


def stored_controls(store: Store) -> dict[str, ControlResult]:
    """How the judges of a store did on the control items, by rater; of several answers the newest counts."""
    newest: dict[tuple[str, str, str], Lineage] = {}
    for line in store.lineages(stage=STAGE):
        key = (line.detail["rater"], line.detail["control"], line.detail["aspect"])
        before_it = newest.get(key)
        if before_it is None or (_number(before_it), before_it.made_at) <= (_number(line), line.made_at):
            newest[key] = line
    out: dict[str, ControlResult] = {}
    for (rater, name, aspect), line in sorted(newest.items()):
        (low, high), value = line.detail["accepted"], line.detail["value"]
        before = out.get(rater, ControlResult(0, 0, ()))
        if value is not None and low <= value <= high:
            out[rater] = before._replace(asked=before.asked + 1, accepted=before.accepted + 1)
        else:
            missed = MissedControl(name, cast(Aspect, aspect), value, (low, high))
            out[rater] = before._replace(asked=before.asked + 1, missed=(*before.missed, missed))
    return out
