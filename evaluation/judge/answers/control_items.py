"""Control items for the rubrics of open answers: hand-written answers whose rating is known.

The right option's words against a wrong option's, the answer of another event, a repetitive text, an
instruction to the judge. As with scripts, their ratings stand in the store's lineage and enter no mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Literal

from pydantic import model_validator

from evaluation.judge.answers.inputs import AnswerInput
from evaluation.judge.answers.steps import AnswerAspect, AnswerStep
from schemas.core.config import Options, read_toml, validate
from schemas.core.ids import content_id, slug
from schemas.ratings import RUBRICS, Aspect


class AnswerControl(Options):
    """One control item: what is shown, and the ratings that are accepted for some aspects, lowest and highest."""

    name: str
    rubric: Literal["tendency", "consistency"]
    event: str
    question: str
    right: str
    text: str
    before: str = ""
    accepted: dict[Aspect, tuple[int, int]]

    @model_validator(mode="after")
    def _on_the_scale(self) -> AnswerControl:
        rubric = RUBRICS[self.rubric]
        low, high = rubric.points
        for aspect, (lowest, most) in self.accepted.items():
            if aspect not in rubric.aspects or not low <= lowest <= most <= high:
                raise ValueError(f"{self.name}: {aspect} is accepted from {lowest} to {most}, off the rubric's scale")
        if rubric.rates_pairs != bool(self.before):
            raise ValueError(f"{self.name}: a pair, and nothing else, has a text before the edit")
        return self

    @property
    def ask(self) -> AnswerInput:
        """As a judge is asked about it."""
        item = content_id("answer_control", self.model_dump(mode="json"))
        return AnswerInput(
            item=item,
            case=f"control/{slug(self.name)}",
            text=self.text.strip(),
            question=self.question,
            event=self.event,
            right=self.right,
            edited=True,
            before=self.before.strip(),
            before_item=f"{item}-before" if self.before else None,
        )


class _AnswerControls(Options):
    control_items: tuple[AnswerControl, ...]


def answer_controls(rubrics: Sequence[str] = tuple(RUBRICS)) -> list[AnswerControl]:
    """The control items of some rubrics, in the order of their file."""
    path = Path(str(files("evaluation.judge.answers").joinpath("control_items.toml")))
    every = validate(_AnswerControls, read_toml(path), where=str(path)).control_items
    return [item for item in every if item.rubric in rubrics]


def control_pairs(step: AnswerStep, item: AnswerControl) -> list[AnswerAspect]:
    """The aspects of a step whose rating of an item is known."""
    return [aspect for aspect in step.aspects if aspect.aspect in item.accepted]
