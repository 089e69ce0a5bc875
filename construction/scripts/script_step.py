"""Scripts: short steps that answer a script question and contain the old object (ScEdit Appendix B.1, Figure 7)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, NamedTuple

from pydantic import BaseModel, Field, StringConstraints, create_model, field_validator
from typing_extensions import override

from construction.llm.prompt_file import PromptStep
from construction.llm.prompt_text import fill, tidy
from construction.llm.step import Message, Request, StrictReply
from construction.prompts.prompt_file import WriterPrompt
from schemas.core.ids import content_id
from schemas.facts import Object
from schemas.scripts import MAX_WORDS, Script, ScriptQuestion, strip_label

_PLACES = (17, 19, 20, 27, 30, 36, 131, 159, 276, 495, 740, 937)
_LANGUAGES = (37, 103, 364, 407, 1412)
_PEOPLE = (6, 35, 127, 137, 169, 286, 488, 1037, 3975)
_MAKERS = (50, 57, 58, 86, 87, 98, 110, 162, 170, 175, 676)
_FIRMS = (54, 108, 123, 176, 178, 264, 272, 449)
_KINDS = (
    (_PLACES, ("to", "in")),
    (_LANGUAGES, ("in", "into")),
    (_PEOPLE, ("to", "with", "from", "for")),
    (_MAKERS, ("by", "about", "of")),
    (_FIRMS, ("from", "to", "by", "at")),
    ((641,), ("of", "for", "in", "about")),
    ((1303,), ("on the", "for the", "of the")),
    ((38,), ("into the", "with the", "for the")),
)
LEADING: Mapping[str, tuple[str, ...]] = {f"P{n}": words for numbers, words in _KINDS for n in numbers}
"""Words that lead to the objects of a relation; other relations have none."""

_ESCAPED = re.compile(r"[\\.^$|?*+()\[\]{}/-]")
SPARE = 1
"""Words that a step may have beyond the format: who needs them all is refused by the format anyway."""
_WORD = "[a-z][a-z'-]{0,15}"
_BESIDE = f"^[A-Z][a-z]{{1,15}}( [A-Za-z0-9][A-Za-z0-9'-]{{0,15}}){{1,{MAX_WORDS - 1 + SPARE}}}$"
_Beside = Annotated[str, StringConstraints(pattern=_BESIDE)]


class ObjectLast(StrictReply):
    """Preparing steps, then a step that ends with the object, then what comes after.

    Attributes:
        leading: Words one of which stands before the object; none where any word may.
        pattern: What the step with the object looks like.
    """

    leading: ClassVar[tuple[str, ...]] = ()
    pattern: ClassVar[str] = ""
    before: Annotated[list[_Beside], Field(min_length=2, max_length=2)]
    key_step: str
    after: Annotated[list[_Beside], Field(min_length=1, max_length=2)]


@lru_cache(maxsize=4096)
def object_last(old: str, leading: tuple[str, ...] = ()) -> type[ObjectLast]:
    """The reply type for one object: a pattern in its JSON schema has the step end with the object.

    After every word another may follow, up to one more than the format allows. A pattern that wants a longer word where
    the model has begun a short one, or has no room for one more, has words run together ("Send it bymail to Oslo",
    "Fill in the orderform to Oslo"); here that can only happen in a step that is too long. The check ``script_format``
    refuses that one, and holds words that cannot follow each other.

    Args:
        old: The object.
        leading: Words one of which stands before it, after some other word. A long name has them right after the verb,
            so that the step keeps to its length.

    Example:
        >>> reply = object_last("Oslo", ("to", "in"))
        >>> steps = {"before": ["Pack a bag", "Lock the door"], "after": ["Rest there"]}
        >>> reply.model_validate({**steps, "key_step": "Take the train to Oslo"}).key_step
        'Take the train to Oslo'
    """
    room = MAX_WORDS - 1 - len(old.split())  # words between the verb and the object
    way = ""
    if leading and room >= (longest_leading := max(len(words.split()) for words in leading)):
        way, room = f" ({'|'.join(leading)})", room - longest_leading
    between = f"( {_WORD}){{{min(1, max(0, room))},{max(0, room) + SPARE}}}"
    pattern = f"^[A-Z][a-z]{{1,15}}{between}{way} {_ESCAPED.sub(lambda m: chr(92) + m.group(), old)}$"
    step = Annotated[str, StringConstraints(pattern=pattern)]
    reply_type = create_model("ObjectLast", __base__=ObjectLast, key_step=(step, ...))
    reply_type.leading, reply_type.pattern = leading, pattern
    return reply_type


def usual_step(form: type[ObjectLast], old: str) -> str:
    """A step with the object, in the form that the reply type fixes."""
    way = form.leading[0] if form.leading else "for"
    steps = (f"Ask someone {way} {old}", f"Ask {way} {old}", f"Ask for {old}", f"Ask {old}")
    return next((step for step in steps if re.search(form.pattern, step)), steps[0])


_HIDDEN = re.compile("[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_LINK = re.compile(r"!?\[([^\[\]]+)\]\([^()\s]*\)")
_PAIRED = re.compile(r"(?<![\w\\])(\*{1,3}|_{1,3}|`{1,3}|~~)(?=\S)(.+?)(?<=\S)\1(?!\w)")
_TAG = re.compile(r"</?(?:a|b|i|u|s|em|strong|mark|code|span|p|li|br)(?:\s[^<>]*=[^<>]*)?\s*/?>", re.IGNORECASE)
_BULLET = re.compile(r"^(?:#{1,6}\s+|[-*+•·–—→✓✔☐☑]\s+|\[[ xX]?\]\s+)+")
_STEP = re.compile(r"^[(\[]?step\s*\d{1,2}(?:\s?(?:/|of)\s?\d{1,2})?\s?[)\]]?\s*[:.)–—-]+\s*", re.IGNORECASE)
_NUMBER = re.compile(r"^[(\[]?(?P<number>\d{1,2})[)\].:]+\s*(?=[^\W\d])")


def clean_steps(steps: Sequence[str], *, names: Iterable[str] = ()) -> tuple[str, ...]:
    """Steps without "4. ", "1) ", "- ", "**Step 1:** ", and without markdown marks around words.

    A number at the front is a label where it counts the steps, or where several steps have one; not where it begins one
    of the given names ("1. FC Köln").

    Args:
        steps: The steps, each on one line.
        names: Names of the object, which stay whole.

    Example:
        >>> clean_steps(["**Step 1:** Pack", "2) Fly to **Rome**", "- See [it](https://example.org)"])
        ('Pack', 'Fly to Rome', 'See it')
        >>> clean_steps(["4 boxes are enough", "Write 1984"])
        ('4 boxes are enough', 'Write 1984')
    """
    folded = tuple(name.casefold() for name in names)
    plain = [_without_marks(step) for step in steps]
    labels = [None if step.casefold().startswith(folded) else _NUMBER.match(step) for step in plain]
    several = sum(label is not None for label in labels) > 1
    return tuple(
        step[label.end() :] if label and (several or int(label["number"]) == place) else step
        for place, (step, label) in enumerate(zip(plain, labels, strict=True), 1)
    )


def _without_marks(step: str) -> str:
    """The step without hidden characters, tags, links, marks of emphasis, bullets and "Step 4:"."""
    bare, tags = _TAG.subn("", _HIDDEN.sub("", step))
    step = _LINK.sub(r"\1", re.sub(" {2,}", " ", bare) if tags else bare).strip()
    for _ in range(3):  # marks within marks
        step = _PAIRED.sub(r"\2", step)
    return strip_label(_STEP.sub("", _BULLET.sub("", step))).strip()


LONGEST = 400  # characters of one step before it is looked at; far above what the format allows
MOST = 60  # steps of one reply, likewise


class RejectedScript(NamedTuple):
    """Steps of an earlier attempt that cannot be used, and why, in words that name no object which they do not name."""

    steps: tuple[str, ...]
    reason: str


@dataclass(frozen=True, kw_only=True)
class ScriptAsk:
    """One call for scripts: questions and the old object. There is no place for the new object, on purpose.

    Attributes:
        questions: One script each.
        relation: What relates the object to the questions' subject, in words.
        relation_id: Its id, as the facts give it.
        rejected: What was written before for these questions, in their order; empty at the first attempt.
    """

    questions: tuple[ScriptQuestion, ...]
    old: Object
    relation: str = ""
    relation_id: str = ""
    rejected: tuple[RejectedScript, ...] = ()


class Draft(tuple[str, ...]):
    """Steps as the model wrote them, tidied and without labels, not yet held against the format."""

    __slots__ = ()


class NumberedSteps(StrictReply):
    """The script of one of several questions: its number, and the steps in order."""

    steps: list[str]
    n: int

    @field_validator("steps")
    @classmethod
    def _check_not_empty(cls, steps: list[str]) -> list[str]:
        if not any(strip_label(tidy(s)) for s in steps):
            raise ValueError("at least one step is needed")
        if len(steps) > MOST or any(len(s) > LONGEST for s in steps):
            raise ValueError("far too long: nine short steps at most")
        return steps


class ScriptList(StrictReply):
    """The reply of a capable model about all questions of a fact."""

    scripts: list[NumberedSteps]


_REPLIES: Mapping[str, type[BaseModel]] = {
    "scripts": ScriptList,
    "object_last": ObjectLast,
}


def script_of(question: ScriptQuestion, draft: Draft) -> Script:
    """The draft as a script; its key is made of its question and its words, case and spacing aside.

    Raises:
        pydantic.ValidationError: it breaks the format (more than nine steps, a step of eight words or more).
    """
    key = f"{question.key}/s-{content_id('words', [step.casefold() for step in draft])[:8]}"
    return Script(key=key, question=question.key, steps=tuple(draft))


class ScriptStep(PromptStep[ScriptAsk, Draft | None, WriterPrompt]):
    """Asks for scripts.

    Args:
        prompt: The wording; its ``shape`` decides the reply: ``scripts`` for those of several questions,
            ``object_last`` for one in a guided form.
    """

    def __init__(self, prompt: WriterPrompt) -> None:
        super().__init__(prompt)
        self.reply = _REPLIES[prompt.shape]

    def request(self, item: ScriptAsk, *, parameters: dict[str, Any], sample: int = 0) -> Request:
        """The whole request; where the step with the object has a fixed form, its reply type is made for the object."""
        request = super().request(item, parameters=parameters, sample=sample)
        if self.wording.shape == "object_last":
            request = request._replace(reply=object_last(tidy(item.old.text), LEADING.get(item.relation_id, ())))
        return request

    @override
    def usual(self, item: ScriptAsk) -> BaseModel:
        old = item.old.text
        before, after = ["Look for some help", "Pack a bag"], ["Agree on a date", "Come back in the evening"]
        if self.wording.shape == "scripts":
            steps = [*before, f"Ask for {old}", *after]
            numbers = range(1, len(item.questions) + 1)
            return ScriptList.model_construct(
                scripts=[NumberedSteps.model_construct(n=n, steps=steps) for n in numbers]
            )
        form = object_last(tidy(old), LEADING.get(item.relation_id, ()))
        return form.model_construct(key_step=usual_step(form, old), before=before, after=after[:1])

    def prompt(self, item: ScriptAsk) -> list[Message]:
        """The messages; after rejected scripts with their steps and the reasons, where the wording has it."""
        numbered = "\n".join(f"Question {n}: {question.text}" for n, question in enumerate(item.questions, 1))
        values = {"question": item.questions[0].text, "questions": numbered}
        messages = self.wording.messages(values | {"object": item.old.text, "relation": item.relation})
        if self.wording.again is None or not item.rejected:
            return messages
        earlier = {"scripts": [{"n": n, "steps": one.steps} for n, one in enumerate(item.rejected, 1)]}
        reason = " ".join(f"Script {n}: {one.reason}." for n, one in enumerate(item.rejected, 1))
        return [
            *messages,
            Message(role="assistant", content=json.dumps(earlier, ensure_ascii=False)),
            Message(role="user", content=fill(self.wording.again, {"reason": reason}).strip()),
        ]

    def parse(self, item: ScriptAsk, reply: BaseModel) -> list[Draft | None]:
        """A draft for each question, None where the reply has none or two: tidied steps without labels and markup."""
        if isinstance(reply, ScriptList):
            found: list[list[str] | None] = []
            for n in range(1, len(item.questions) + 1):
                own = [script.steps for script in reply.scripts if script.n == n]
                found.append(own[0] if len(own) == 1 else None)
        else:
            assert isinstance(reply, ObjectLast)
            found = [[*reply.before, reply.key_step, *reply.after]]
        return [None if steps is None else self._draft(item, steps) for steps in found]

    @staticmethod
    def _draft(item: ScriptAsk, steps: Sequence[str]) -> Draft:
        return Draft(s for s in clean_steps([tidy(s) for s in steps], names=item.old.names) if s)
