"""Control items: hand-written texts whose rating is known; a judge that misses them has not understood the scale.

Their ratings stand in the store's lineage (stage ``judge_control``) and not among its ratings: they enter no mean, no
count and no agreement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from pydantic import model_validator

from construction.llm.client import Client, gather_all
from evaluation.judge.inputs import JudgeInput
from evaluation.judge.judging import JudgeOptions, JudgeRating, judge_text
from evaluation.judge.steps import JudgeStep
from schemas.core.config import Options, read_toml, validate
from schemas.core.ids import content_id, slug
from schemas.facts import Entity, Fact, Object, Relation, Source
from schemas.lineage import Lineage
from schemas.ratings import RUBRICS, SCRIPT, Aspect

if TYPE_CHECKING:
    from curation.store.store import Store

STAGE = "judge_control"
_NUMBER = "came"  # of a line's detail


class ControlItem(Options):
    """One control item: what is shown, and the ratings that are accepted for some aspects, lowest and highest.

    A script has a fact (``subject``, ``prompt``, ``old``, ``new``); an open answer has an event and its right option,
    and of a pair the text before the edit.
    """

    name: str
    rubric: Literal["script", "tendency", "consistency"] = "script"
    question: str
    text: str
    accepted: dict[Aspect, tuple[int, int]]
    edited: bool = True
    subject: str = ""
    prompt: str = ""
    old: str = ""
    new: str = ""
    event: str = ""
    right: str = ""
    before: str = ""

    @model_validator(mode="after")
    def _on_the_scale(self) -> ControlItem:
        rubric = RUBRICS[self.rubric]
        low, high = rubric.points
        for aspect, (lowest, highest) in self.accepted.items():
            if aspect not in rubric.aspects or not low <= lowest <= highest <= high:
                raise ValueError(f"{self.name}: {aspect} from {lowest} to {highest} is off the rubric's scale")
        if rubric.rates_pairs != bool(self.before):
            raise ValueError(f"{self.name}: a pair, and nothing else, has a text before the edit")
        return self

    @property
    def ask(self) -> JudgeInput:
        """As a judge is asked about it."""
        item, key = content_id("control", self.model_dump(mode="json")), f"control/{slug(self.name)}"
        return JudgeInput(
            item=item,
            case=key,
            text=self.text.strip(),
            question=self.question,
            edited=self.edited,
            rubric=RUBRICS[self.rubric],
            fact=self._fact(key) if self.rubric == SCRIPT.name else None,
            event=self.event,
            right=self.right,
            before=self.before.strip(),
            before_item=f"{item}-before" if self.before else None,
        )

    def _fact(self, key: str) -> Fact:
        return Fact(
            key=key,
            subject=Entity(text=self.subject),
            relation=Relation(id="control"),
            prompt=self.prompt,
            old=Object(text=self.old),
            new=Object(text=self.new),
            source=Source(name="control items", licence="CC0-1.0"),
        )


class _ControlItems(Options):
    control_items: tuple[ControlItem, ...]


@lru_cache(maxsize=1)
def control_items() -> tuple[ControlItem, ...]:
    """All of them."""
    path = Path(str(files("evaluation.judge").joinpath("control_items.toml")))
    return validate(_ControlItems, read_toml(path), where=str(path)).control_items


class ControlQuestion(NamedTuple):
    """A control item, the step that asks about it, and the aspects of the step whose rating is known."""

    step: JudgeStep
    item: ControlItem
    aspects: tuple[Aspect, ...]


def control_questions(steps: Mapping[str, Sequence[JudgeStep]]) -> list[ControlQuestion]:
    """Which control item is asked about with which step.

    Args:
        steps: By name of the rubric.
    """
    questions = []
    for item in control_items():
        for step in steps.get(item.rubric, ()):
            if aspects := tuple(a for a in step.aspects if a in item.accepted):
                questions.append(ControlQuestion(step, item, aspects))
    return questions


class RatedControl(NamedTuple):
    """The rating of a control item on one aspect: what was given (None: unscored), and what is accepted."""

    name: str
    aspect: Aspect
    given: int | None
    accepted: tuple[int, int]


class ControlResult(NamedTuple):
    """How a judge did on the control items: ratings asked for, those accepted, and those missed."""

    asked: int
    accepted: int
    missed: tuple[RatedControl, ...]


def control_result(given: Sequence[RatedControl]) -> ControlResult:
    """Compare ratings of control items with what is accepted."""
    missed = tuple(g for g in given if g.given is None or not g.accepted[0] <= g.given <= g.accepted[1])
    return ControlResult(len(given), len(given) - len(missed), missed)


async def ask_controls(
    questions: Sequence[ControlQuestion], store: Store, client: Client, options: JudgeOptions
) -> ControlResult:
    """Ask about control items once each; what is answered goes into the store's lineage."""
    once = options.model_copy(update={"samples": 1, "retest": 0.0})
    answered = await gather_all([judge_text(q.step, q.item.ask, client, once) for q in questions])
    given, lines = [], []
    for question, ratings in zip(questions, answered, strict=True):
        judged_by_aspect = {j.rating.aspect: j for j in ratings if j is not None}
        for aspect in question.aspects:
            judged, accepted = judged_by_aspect.get(aspect), question.item.accepted[aspect]
            value = None if judged is None else judged.rating.value
            given.append(RatedControl(question.item.name, aspect, value, accepted))
            lines += [] if judged is None else [_lineage(given[-1], judged)]
    put_controls(store, lines)
    return control_result(given)


def _lineage(given: RatedControl, judged: JudgeRating) -> Lineage:
    """What the store keeps of one control rating: who gave it under which form, and what is accepted."""
    rating = judged.rating
    detail: dict[str, Any] = {"control": given.name, "aspect": given.aspect, "accepted": list(given.accepted)}
    detail |= {"rater": rating.rater, "form": rating.form, "value": rating.value, "reason": rating.reason}
    return judged.line.model_copy(update={"stage": STAGE, "detail": {**judged.line.detail, **detail}})


def put_controls(store: Store, lines: Sequence[Lineage]) -> None:
    """Put control ratings into the store, numbered by when they came: replies carry their time in seconds only.

    Those of one call have one number, above all before. The store leaves out what it has already (replies on record).
    """
    number = 1 + max((int(line.detail[_NUMBER]) for line in store.lineages(stage=STAGE)), default=0)
    store.put([], [line.model_copy(update={"detail": {**line.detail, _NUMBER: number}}) for line in lines])


def stored_controls(store: Store) -> dict[str, ControlResult]:
    """How the judges of a store did on the control items, by rater; of several answers the newest counts."""
    newest: dict[tuple[str, str, str], dict[str, Any]] = {}
    for line in sorted(store.lineages(stage=STAGE), key=lambda line: int(line.detail[_NUMBER])):
        newest[line.detail["rater"], line.detail["control"], line.detail["aspect"]] = line.detail
    given: dict[str, list[RatedControl]] = {}
    for (rater, name, aspect), detail in sorted(newest.items()):
        low, high = detail["accepted"]
        given.setdefault(rater, []).append(RatedControl(name, cast(Aspect, aspect), detail["value"], (low, high)))
    return {rater: control_result(some) for rater, some in given.items()}
