"""What a judge is asked about a text, one call a prompt file; how its reply is read, and the ratings that it makes.

The judge sees the inputs of ScEdit's Figures 8 to 11, or of ELKEN's Table 14, and nothing else: never the method, the
model or other ratings. ``5``, ``"5"``, ``"5/7"``, ``5.0`` and keys that nobody asked for are read, and what was read is
kept; ``true``, ``"4 or 5"`` and ``"5/10"`` are not. A reply that lacks an aspect or breaks the rubric's rule goes back
to the judge once, with what is wrong; after that it is unscored. Nothing is imputed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Literal, Self

from pydantic import (
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    create_model,
    model_validator,
)

from construction.llm.prompt_file import PromptFile, PromptFolder, PromptStep
from construction.llm.prompt_text import LONGEST, fence_text, find_quote, places, tidy
from construction.llm.step import Message, Request, StrictReply
from evaluation.judge.inputs import JudgeInput
from schemas.raters import Rater
from schemas.ratings import RUBRICS, SCRIPT, Aspect, Rating, Rubric
from schemas.text.escaping import escape_line
from schemas.verdicts import Span

ReplyShape = Literal["reason", "evidence", "rating"]
_SCALES: dict[str, Any] = {"likert7": Literal[1, 2, 3, 4, 5, 6, 7], "likert5": Literal[1, 2, 3, 4, 5]}
_POINTS = re.compile(r"\s*([1-9])(?:\.0+)?(?:\s*(?:/|out of|of)\s*([1-9]))?\s*")
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able|not comfortable)|i (?:cannot|can't|can not|won't|will not|refuse)|"
    r"i (?:must |have to )?(?:decline|refuse)|i(?:'d| would) rather not|i apologi[sz]e|my apologies|"
    r"as an? (?:ai|(?:large )?language model)\b|unable to (?:rate|assist|help|comply))",
    re.IGNORECASE,
)
_CUT_OFF = re.compile(
    r'\{((?:\s*"\w+"\s*:\s*(?:[^,{}\[\]"]+|"[^",{}\[\]]*")\s*,)+)'  # whole fields
    r'\s*(?:"(?:[^"\\]|\\.)*(?:"\s*:?\s*(?:"(?:[^"\\]|\\.)*\\?)?)?)?',  # and one that breaks off
    re.DOTALL,
)
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


class JudgeReply(StrictReply):
    """What every judge's reply says: a rating of each aspect that was asked about.

    Attributes:
        rubric: Under which it rates.
        rated: The aspect of each field that holds a rating.
    """

    rubric: ClassVar[Rubric]
    rated: ClassVar[Mapping[str, Aspect]]

    _read: str = PrivateAttr(default="")

    @model_validator(mode="wrap")
    @classmethod
    def _read_plainly(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        plain, read = plain_reply(data, tuple(cls.model_fields), cls.rated, highest=cls.rubric.points[1])
        reply = handler(plain)
        if fault := cls.rubric.fault(reply.ratings):
            raise ValueError(fault)
        reply._read = read
        return reply

    @property
    def ratings(self) -> dict[Aspect, int]:
        """The ratings by aspect."""
        return {aspect: int(getattr(self, field)) for field, aspect in self.rated.items()}

    @property
    def read_as(self) -> str:
        """What was read into a reply of another shape; empty where it was as asked for."""
        return self._read

    @property
    def explanation(self) -> str:
        """The sentence that explains the ratings; empty where none is asked for."""
        return str(getattr(self, "reason", ""))

    @property
    def evidence(self) -> list[str] | None:
        """Quotes from the text; None where none are asked for."""
        return getattr(self, "quotes", None)


@lru_cache
def reply_type(rubric: Rubric, aspects: tuple[Aspect, ...], shape: ReplyShape) -> type[JudgeReply]:
    """The reply's type; its fields stand in the order in which they are asked for.

    Args:
        rubric: Under which texts are rated.
        aspects: Those of one call. A script is rated on one, and the field is called ``rating``.
        shape: ``reason`` (ratings, then one sentence), ``evidence`` (quotes first) or ``rating`` (ratings alone).

    Example:
        >>> list(reply_type(SCRIPT, ("coherence",), "evidence").model_fields)
        ['quotes', 'rating', 'reason']
    """
    rated = {"rating" if rubric is SCRIPT else aspect: aspect for aspect in aspects}
    fields: dict[str, Any] = {"quotes": (list[str], ...)} if shape == "evidence" else {}
    fields |= {name: (_SCALES[rubric.scale], ...) for name in rated}
    fields |= {} if shape == "rating" else {"reason": (str, ...)}
    reply = create_model("JudgeReply", __base__=JudgeReply, __doc__="", **fields)
    reply.rubric, reply.rated = rubric, rated
    return reply


def points(value: Any, *, highest: int = 7) -> int | None:
    """A rating from 1 to the highest one; None for anything that does not plainly say one.

    Example:
        >>> [points(v) for v in (5, 5.0, "5", "5/7", " 5 out of 7 ", True, "5/10", "4 or 5", 8, 4.5)]
        [5, 5, 5, 5, 5, None, None, None, None, None]
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        is_whole = 1 <= value <= highest and value == int(value)  # infinite and NaN are no integers
        return int(value) if is_whole else None
    match = _POINTS.fullmatch(value) if isinstance(value, str) else None
    if match is None or int(match[1]) > highest or match[2] not in (None, str(highest)):
        return None
    return int(match[1])


def plain_reply(data: Any, fields: Sequence[str], rated: Mapping[str, Aspect], *, highest: int) -> tuple[Any, str]:
    """A decoded reply with its ratings as numbers and without keys not asked for; what was read into it, in words.

    Args:
        data: The decoded JSON.
        fields: Names of the fields that were asked for.
        rated: Those of them that hold ratings.
        highest: End of the scale.
    """
    if not isinstance(data, dict):
        value = points(data, highest=highest)
        if len(fields) == 1 and value is not None:
            return {fields[0]: value}, f"the bare rating {data!r}"
        return data, ""
    notes = []
    if extra := [name for name in data if name not in fields]:
        notes.append(f"passed over: {', '.join(map(str, extra))[:80]}")
    clean = {name: value for name, value in data.items() if name in fields}
    for name in [name for name in clean if name in rated]:
        given = clean[name]
        value = points(given, highest=highest)
        if isinstance(given, bool):
            clean[name] = str(given).casefold()  # a truth value is no 1
        elif value is not None and type(given) is not int:
            notes.append(f"{name} {given!r} read as {value}")
            clean[name] = value
    return clean, "; ".join(notes)


def is_refusal(text: str) -> bool:
    """Whether a reply without a usable object declines in words.

    Example:
        >>> is_refusal("I'm sorry, but I can't rate this script."), is_refusal("The rating is five.")
        (True, False)
    """
    return bool(_REFUSAL.search(_THOUGHT.sub("", text)[:400].replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")))


def ratings_alone(text: str, reply: type[JudgeReply]) -> JudgeReply | None:
    """A reply that is its ratings and nothing else, bare or in an object, or breaks off in the reason after them.

    A judge that leaves the reason out, or does not get to its end, and does so again when told has still rated.

    Args:
        text: The reply.
        reply: Type of a reply without a reason.

    Example:
        >>> only = reply_type(SCRIPT, ("coherence",), "rating")
        >>> read = [ratings_alone(t, only) for t in ("5/7", '{"rating": 5}', "5 or 6", '{"rating": 5, "reason": "The')]
        >>> [None if r is None else r.ratings["coherence"] for r in read]
        [5, 5, None, 5]
    """
    bare = _THOUGHT.sub("", text).strip()
    cut = _CUT_OFF.fullmatch(bare)
    try:
        data = json.loads("{" + cut[1].strip().removesuffix(",") + "}" if cut else bare)
    except (ValueError, RecursionError):
        data = bare
    if isinstance(data, dict) and set(data) != set(reply.rated):
        return None
    try:
        value = reply.model_validate(data)
    except ValidationError:
        return None
    note = (
        "the rating of a reply that breaks off in its reason" if cut else f"the rating {bare[:80]!r} without a reason"
    )
    value._read = note
    return value


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
_QUOTE, _SENTENCE = 40, 120  # characters of a quote and of a reason, as long as is usual


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


class JudgeStep(PromptStep[JudgeInput, Rating, JudgePrompt]):
    """Asks for the ratings of one prompt file.

    Args:
        wording: The prompt file.
        rater: Who answers, as ratings name it.
    """

    def __init__(self, wording: JudgePrompt, *, rater: str) -> None:
        super().__init__(wording)
        self.rater = rater
        self.rubric = RUBRICS[wording.rubric]
        self.aspects = self.rubric.aspects if wording.aspect is None else (wording.aspect,)
        self.reply: type[JudgeReply] = reply_type(self.rubric, self.aspects, wording.shape)

    def usual(self, item: JudgeInput) -> JudgeReply:
        """A rating in the middle of the scale for each aspect, with a sentence and a quote where they are asked for."""
        said: dict[str, Any] = {"quotes": [item.text[:_QUOTE]], "reason": "." * _SENTENCE}
        said |= dict.fromkeys(self.reply.rated, 4)
        return self.reply.model_construct(**{name: said[name] for name in self.reply.model_fields})

    def prompt(self, item: JudgeInput) -> list[Message]:
        """The messages: criteria, examples, then exactly the inputs of the task, as data."""
        shown = {name: value for name, value in item.shown.items() if name in INPUTS[self.wording.task]}
        return self.wording.chat({n: fence_text(v) if n in _FENCED else tidy(v) for n, v in shown.items()})

    def sampled(self, item: JudgeInput, *, temperature: float | None = None) -> Request:
        """The request for an item.

        Args:
            item: What to rate.
            temperature: Instead of the wording's, where several samples are to differ.
        """
        if temperature is None:
            parameters = self.wording.sampling(item.item)
        else:
            parameters = {**self.wording.parameters, "temperature": temperature}
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


def read_quotes(text: str, quotes: Sequence[str] | None) -> tuple[list[Span], str]:
    """Where the quotes of a reply are in a text, and what is wrong with them; empty where all are there.

    Args:
        text: The text that is rated.
        quotes: What the judge quotes, or "absent"; None where it was not asked for quotes.
    """
    if quotes is None:
        return [], ""
    if not quotes:
        return [], "no evidence: neither a quote nor 'absent'"
    spans = []
    for quote in quotes:
        if quote.strip(" \t\n\"'.").casefold() == _ABSENT:
            continue
        if (span := find_quote(text, quote, what="evidence")) is None:
            return [], f"false quote: '{quote[:80]}' does not stand in the script"
        spans.append(span)
    return spans, ""
