"""What a judge is asked about an open answer, one call a rubric, and what its reply means; no network.

The judge sees the edited event, the question, the right option's words and one answer (or, of a pair, both answers),
and never the method, the model or other ratings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import BaseModel, model_validator

from construction.llm.prompt_file import PromptFile, PromptFolder
from construction.llm.prompt_text import LONGEST, fence_text, places, tidy
from construction.llm.step import Message, PromptStep, Request
from evaluation.judge.answers.inputs import ANSWER_RUBRICS, AnswerInput
from evaluation.judge.answers.replies import REPLIES, AnswerReply
from evaluation.judge.steps import judge_name
from schemas.ratings import RUBRICS, Aspect, Rating, Rubric
from schemas.text.escaping import escape_line

INPUTS: Mapping[str, frozenset[str]] = {
    "tendency": frozenset({"event", "question", "right", "text"}),
    "consistency": frozenset({"event", "question", "before", "text"}),
}
"""What the judge is shown under each rubric, exactly (ELKEN Table 14; the event is always the edited one)."""
_REASON = 300  # characters of a judge's reason that are kept


class AnswerPromptFile(PromptFile):
    """One prompt file of the judge of open answers (``RUBRIC.PROFILE.toml``).

    Attributes:
        rubric: Whose aspects are rated; ``name`` is what ratings name as their form.
        shape: ``reason``: the ratings, then one sentence; ``rating``: the ratings alone.
    """

    rubric: Literal["tendency", "consistency"]
    shape: Literal["reason", "rating"]

    @model_validator(mode="after")
    def _inputs(self) -> AnswerPromptFile:
        shown, wanted = places(self.user), INPUTS[self.rubric]
        if shown != wanted:
            raise ValueError(f"user: shows {sorted(shown)}, a judge of {self.rubric} sees exactly {sorted(wanted)}")
        return self


ANSWER_FILES = PromptFolder(
    AnswerPromptFile,
    package="evaluation.judge.answers",
    folder="prompts",
    tasks=tuple(r.name for r in ANSWER_RUBRICS),
    reader="the judge of open answers",
)


class AnswerStep(PromptStep[AnswerInput, Rating]):
    """Asks for all ratings of an answer, or of a pair, in one reply.

    Args:
        wording: Its prompt file.
        rater: Who answers, as ratings name it.
    """

    def __init__(self, wording: AnswerPromptFile, *, rater: str) -> None:
        self.wording, self.rater = wording, rater
        self.name, self.version = wording.name, wording.version
        self.reply: type[AnswerReply] = REPLIES[wording.rubric, wording.shape]

    @classmethod
    def load(cls, rubric: Rubric, profile: str, *, model: str) -> AnswerStep:
        """The step with the wording of a profile, for a model that answers.

        Raises:
            UserError: no such profile, or a broken file.
        """
        return cls(ANSWER_FILES.load(rubric.name, profile), rater=judge_name(model, profile))

    @property
    def rubric(self) -> Rubric:
        """What is rated."""
        return RUBRICS[self.wording.rubric]

    @property
    def aspects(self) -> Sequence[AnswerAspect]:
        """Each aspect by itself, as samples are brought together."""
        return [AnswerAspect(self, aspect) for aspect in self.rubric.aspects]

    def prompt(self, item: AnswerInput) -> list[Message]:
        """The messages: criteria, examples, then exactly the inputs of the rubric, as data."""
        known = {
            "event": tidy(item.event),
            "question": tidy(item.question),
            "right": tidy(item.right),
            "text": fence_text(item.text),
            "before": fence_text(item.before),
        }
        return self.wording.chat({name: known[name] for name in INPUTS[self.rubric.name]})

    def sampled(self, item: AnswerInput, *, temperature: float | None = None) -> Request:
        """The request for an item.

        Args:
            item: What to rate.
            temperature: Instead of the wording's, where several samples are to differ.
        """
        parameters = self.wording.sampling(item.item)
        if temperature is not None:
            parameters = {**self.wording.parameters, "temperature": temperature}
        return self.request(item, parameters=parameters)

    def parse(self, item: AnswerInput, reply: BaseModel) -> list[Rating]:
        """A rating of every aspect."""
        assert isinstance(reply, AnswerReply)
        return [aspect.rating(item, reply.ratings[aspect.aspect], reply.explanation) for aspect in self.aspects]

    def cannot(self, item: AnswerInput) -> str:
        """Why an item is not sent to a judge; empty where it is."""
        if item.refused:
            return "not asked: the model declined to answer"
        if not item.text.strip() or (self.rubric.rates_pairs and not item.before.strip()):
            return "not asked: the model wrote nothing"
        if len(item.text) + len(item.before) + len(item.question) + len(item.event) > LONGEST:
            return f"not asked: longer than {LONGEST} characters"
        return ""


class AnswerAspect(NamedTuple):
    """One aspect of a step: makes its ratings."""

    step: AnswerStep
    aspect: Aspect

    def rating(self, item: AnswerInput, value: int | None, reason: str) -> Rating:
        """A rating by this judge under this form."""
        step, rubric = self.step, self.step.rubric
        rated = f"{item.item}~{item.before_item}" if rubric.rates_pairs else item.item
        return Rating(
            key=f"rating/{step.label}/{step.rater}/{self.aspect}/{rated}",
            item_id=item.item,
            aspect=self.aspect,
            scale=rubric.scale,
            value=value,
            rater=step.rater,
            form=step.label,
            reason=escape_line(reason[:_REASON]),
            rubric=rubric.name,
            before_id=item.before_item if rubric.rates_pairs else None,
        )

    def unscored(self, item: AnswerInput, why: str) -> Rating:
        """A rating without a value, and why."""
        return self.rating(item, None, why)
