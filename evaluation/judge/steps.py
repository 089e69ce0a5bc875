"""What a judge is asked about a text, one call a prompt file, and the ratings that it makes; no network.

The judge sees the inputs of ScEdit's Figures 8 to 11, or of ELKEN's Table 14, and nothing else: never the method, the
model or other ratings. A reply can become a rating, or an unscored one with its reason; nothing is imputed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import model_validator

from construction.llm.prompt_file import PromptFile, PromptFolder
from construction.llm.prompt_text import LONGEST, fence_text, find_quote, places, tidy
from construction.llm.step import Message, PromptStep, Request
from evaluation.judge.inputs import JudgeInput
from evaluation.judge.replies import JudgeReply, ReplyShape, reply_type
from schemas.raters import Rater
from schemas.ratings import RUBRICS, SCRIPT, Aspect, Rating, Rubric
from schemas.text.escaping import escape_line
from schemas.verdicts import Span

_FACT = frozenset({"question", "prompt", "old", "new", "text"})
INPUTS: Mapping[str, frozenset[str]] = {
    "script_executability": frozenset({"text"}),
    "script_coherence": _FACT,
    "script_consistency": _FACT,
    "script_completeness": _FACT | {"counts"},
    "tendency": frozenset({"event", "question", "right", "text"}),
    "consistency": frozenset({"event", "question", "before", "text"}),
}
"""What the judge is shown, exactly, by task (ScEdit Figures 8 to 11, ELKEN Table 14)."""
_FENCED = ("text", "before")
_ABSENT = "absent"
_REASON = 300  # characters of a judge's reason that are kept
_REPLY_TOKENS = {"reason": 30, "evidence": 60, "rating": 0}  # beside the ratings
_RATING_TOKENS = 10


class JudgePrompt(PromptFile):
    """One prompt file of the judge (``TASK.PROFILE.toml``); ``name`` is what ratings name as their form.

    Attributes:
        rubric: Under which texts are rated.
        aspect: The only aspect that is asked about; None for all of the rubric in one reply.
        shape: ``reason`` (ratings, then one sentence), ``evidence`` (quotes first) or ``rating`` (ratings alone).
    """

    rubric: Literal["script", "tendency", "consistency"]
    aspect: Aspect | None = None
    shape: ReplyShape

    @property
    def task(self) -> str:
        """What is asked, as the file is called."""
        return self.rubric if self.aspect is None else f"{self.rubric}_{self.aspect}"

    @model_validator(mode="after")
    def _inputs(self) -> JudgePrompt:
        if self.task not in INPUTS:
            raise ValueError(f"aspect: there is no task '{self.task}': {', '.join(INPUTS)}")
        shown, wanted = places(self.user), INPUTS[self.task]
        if shown != wanted:
            raise ValueError(f"user: shows {sorted(shown)}, a judge of {self.task} sees exactly {sorted(wanted)}")
        return self


def prompt_folder(rubric: Rubric) -> PromptFolder[JudgePrompt]:
    """The prompts of a rubric: scripts are asked about one aspect a call, open answers about all in one."""
    tasks = [f"{rubric.name}_{aspect}" for aspect in rubric.aspects] if rubric is SCRIPT else [rubric.name]
    reader = "the judge" if rubric is SCRIPT else "the judge of open answers"
    return PromptFolder(JudgePrompt, package="evaluation.judge", folder="prompts", tasks=tasks, reader=reader)


def judge_name(model: str, profile: str) -> str:
    """The judge's name in ratings: its model, and the profile where that is not the paper's.

    Example:
        >>> judge_name("gpt-4o-2024-11-20", "paper"), judge_name("SmolLM2 (embedded, Q4_1)", "embedded")
        ('judge:gpt-4o-2024-11-20', 'judge:SmolLM2-embedded-Q4_1+embedded')
    """
    name = re.sub(r"[\s(),]+", "-", model).strip("-") or "unnamed"
    return Rater.judge(name + ("" if profile == "paper" else f"+{profile}")).stored


class JudgeStep(PromptStep[JudgeInput, Rating]):
    """Asks for the ratings of one prompt file.

    Args:
        wording: The prompt file.
        rater: Who answers, as ratings name it.
    """

    def __init__(self, wording: JudgePrompt, *, rater: str) -> None:
        self.wording, self.rater = wording, rater
        self.name, self.version = wording.name, wording.version
        self.rubric = RUBRICS[wording.rubric]
        self.aspects = self.rubric.aspects if wording.aspect is None else (wording.aspect,)
        self.reply: type[JudgeReply] = reply_type(self.rubric, self.aspects, wording.shape)

    @property
    def reply_tokens(self) -> int:
        """Roughly how long its replies are."""
        return _REPLY_TOKENS[self.wording.shape] + _RATING_TOKENS * len(self.aspects)

    def prompt(self, item: JudgeInput) -> list[Message]:
        """The messages: criteria, examples, then exactly the inputs of the task, as data."""
        shown = {name: value for name, value in item.shown.items() if name in INPUTS[self.wording.task]}
        return self.wording.chat({n: fence_text(v) if n in _FENCED else tidy(v) for n, v in shown.items()})

    def sampled(self, item: JudgeInput, *, temperature: float | None = None, logprobs: int = 0) -> Request:
        """The request for an item.

        Args:
            item: What to rate.
            temperature: Instead of the wording's, where several samples are to differ.
            logprobs: Alternatives a token whose log-probabilities are asked for; 0 for none.
        """
        if temperature is None:
            parameters = self.wording.sampling(item.item)
        else:
            parameters = {**self.wording.parameters, "temperature": temperature}
        if logprobs:
            parameters |= {"logprobs": True, "top_logprobs": logprobs}
        return self.request(item, parameters=parameters)

    def rating(self, item: JudgeInput, aspect: Aspect, value: int | None, reason: str) -> Rating:
        """A rating by this judge under this form; without a value it is unscored, and the reason says why."""
        rated = item.item if item.before_item is None else f"{item.item}~{item.before_item}"
        return Rating(
            key=f"rating/{self.label}/{self.rater}/{aspect}/{rated}",
            item_id=item.item,
            aspect=aspect,
            scale=self.rubric.scale,
            value=value,
            rater=self.rater,
            form=self.label,
            reason=escape_line(reason[:_REASON]),
            rubric=self.rubric.name,
            before_id=item.before_item,
        )

    def cannot(self, item: JudgeInput) -> str:
        """Why an item is not sent to a judge; empty where it is."""
        if item.refused:
            return "not asked: the model declined to answer"
        if not item.text.strip() or (self.rubric.rates_pairs and not item.before.strip()):
            return "not asked: the model wrote nothing"
        if len(item.text) + len(item.before) + len(item.question) + len(item.event) > LONGEST:
            return f"not asked: longer than {LONGEST} characters"
        return ""


def quoted_spans(text: str, quotes: Sequence[str]) -> list[Span]:
    """Where quotes are in a text; empty for "absent"."""
    spans = [find_quote(text, q, what="evidence") for q in _given(quotes)]
    return [span for span in spans if span is not None]


def evidence_fault(text: str, quotes: Sequence[str] | None) -> str:
    """What is wrong with the evidence; empty where all quotes are in the text, or none was asked for."""
    if quotes is None:
        return ""
    if not quotes:
        return "no evidence: neither a quote nor 'absent'"
    false = next((q for q in _given(quotes) if find_quote(text, q, what="evidence") is None), None)
    return f"false quote: '{false[:80]}' does not stand in the script" if false is not None else ""


def _given(quotes: Sequence[str]) -> list[str]:
    return [q for q in quotes if q.strip(" \t\n\"'.").casefold() != _ABSENT]
