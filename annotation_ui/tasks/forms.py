"""Forms: what a person sees and is asked. One definition serves Label Studio, the rating app and the import."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import StringConstraints, model_validator

from schemas.core.ids import digest
from schemas.core.records import Frozen
from schemas.text.escaping import escape_line
from schemas.verdicts import Span

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Answers = Mapping[str, Any]
"""Answers by name of the field: ``"yes"``, ``"no"``, an integer of the scale, choices, marked words, or text."""

COMMENT_LENGTH = 4000
MOST_SPANS = 100
_SPAN_KEYS = {"text": str, "start": int, "end": int, "words": str, "label": str, "digest": str}


class FieldOption(Frozen):
    """One thing to choose: the value that is kept, and what people read."""

    value: Name
    text: str


class Field(Frozen):
    """One question to the person.

    Attributes:
        name: Under which the answer is kept.
        kind: ``yes_no``; ``scale`` (integers ``low`` to ``high``); ``one`` or ``many`` of ``choices``; ``text``;
            ``spans`` (marked words of the shown texts: see ``annotation_ui.tasks.forms``).
        asks: The question.
        hint: The anchors, beside the question.
        choices: For ``one`` and ``many``; the labels of ``spans``.
        low, high: Ends of a ``scale``; ``low_text`` and ``high_text`` say what they mean.
        required: Whether an answer must be there (``many`` and ``text``: see ``Form.reasons``).
    """

    name: Name
    kind: Literal["yes_no", "scale", "one", "many", "text", "spans"]
    asks: str
    hint: str = ""
    choices: tuple[FieldOption, ...] = ()
    low: int = 1
    high: int = 7
    low_text: str = ""
    high_text: str = ""
    required: bool = True

    @model_validator(mode="after")
    def _validate_whole(self) -> Field:
        if (self.kind in ("one", "many", "spans")) != bool(self.choices):
            raise ValueError("a field of kind 'one', 'many' or 'spans', and no other, has choices")
        if self.low >= self.high:
            raise ValueError("a scale goes from a lower to a higher number")
        return self

    @property
    def allowed(self) -> tuple[Any, ...]:
        """The values that can be answered, in order; empty for text."""
        if self.kind == "yes_no":
            return ("yes", "no")
        if self.kind == "scale":
            return tuple(range(self.low, self.high + 1))
        return tuple(c.value for c in self.choices)

    @property
    def categories(self) -> tuple[Any, ...]:
        """The same as tables of agreement list them: ``no`` before ``yes``."""
        return ("no", "yes") if self.kind == "yes_no" else self.allowed

    def fault(self, answer: Any) -> str:
        """What is wrong with a given answer; empty when nothing is.

        Example:
            >>> Field(name="coherence", kind="scale", asks="?").fault(9)
            "'coherence' is 9; allowed: 1 to 7"
        """
        if self.kind == "text":
            if not isinstance(answer, str):
                return f"'{self.name}' is not text"
            if any("\ud800" <= c <= "\udfff" for c in answer):
                return f"'{self.name}' holds half a character, which cannot be stored"
            long = len(answer) > COMMENT_LENGTH
            return f"'{self.name}' is longer than {COMMENT_LENGTH} characters" if long else ""
        if self.kind == "many":
            if not isinstance(answer, list | tuple) or len(set(map(str, answer))) != len(answer):
                return f"'{self.name}' is not a list of different choices"
            unknown = [a for a in answer if a not in self.allowed]
            return f"'{self.name}' names {_shorten(unknown[0])}; allowed: {', '.join(self.allowed)}" if unknown else ""
        if self.kind == "spans":
            return self._span_fault(answer)
        if self.kind == "scale":
            if isinstance(answer, bool) or not isinstance(answer, int) or answer not in self.allowed:
                return f"'{self.name}' is {_shorten(answer)}; allowed: {self.low} to {self.high}"
            return ""
        known = isinstance(answer, str) and answer in self.allowed
        return "" if known else f"'{self.name}' is {_shorten(answer)}; allowed: {', '.join(self.allowed)}"

    def _span_fault(self, answer: Any) -> str:
        """What is wrong with marked words by themselves; whether they stand in the texts is asked elsewhere."""
        if not isinstance(answer, list | tuple):
            return f"'{self.name}' is not a list of marked words"
        if len(answer) > MOST_SPANS:
            return f"'{self.name}' has {len(answer)} marks; allowed: at most {MOST_SPANS}"
        for m in answer:
            whole = isinstance(m, Mapping) and m.keys() == _SPAN_KEYS.keys()
            if not whole or any(type(m[k]) is not kind for k, kind in _SPAN_KEYS.items()):
                return f"'{self.name}' holds {_shorten(m)}, which is no mark; allowed: {', '.join(_SPAN_KEYS)}"
            if m["label"] not in self.allowed:
                return f"'{self.name}' is labelled {_shorten(m['label'])}; allowed: {', '.join(self.allowed)}"
            if not 0 <= m["start"] < m["end"]:
                return f"'{self.name}' goes from {_shorten(m['start'])} to {_shorten(m['end'])}, where no words are"
        places = sorted((m["text"], m["label"], m["start"], m["end"]) for m in answer)
        for one, other in pairwise(places):
            if one[:2] == other[:2] and other[2] < one[3]:
                return f"'{self.name}' marks words twice under one label"
        return ""


class ShownText(Frozen):
    """One text that the person sees: its key in an item's ``shown``, its title, and whether it is a script."""

    name: Name
    title: str
    style: Literal["plain", "script"] = "plain"
    optional: bool = False


class Form(Frozen):
    """What is shown and asked, under a name and version that stand in every verdict and rating.

    Attributes:
        name: Name of the task.
        version: Raised when people would answer otherwise.
        title: Heading.
        intro: What to do, in a few sentences.
        shows: Texts of the item.
        fields: Questions.
        reasons: Name of the ``many`` field that must be filled when a ``yes_no`` is answered no, or None.
        comment_for: Choice of ``reasons`` that needs the comment, or None.
        comment_on_no: Whether a no needs the comment (for forms without a list of reasons).
        reasons_on: Choices of ``one`` fields that need a reason as a no does ("unsure").
    """

    name: Name
    version: int
    title: str
    intro: str
    shows: tuple[ShownText, ...]
    fields: tuple[Field, ...]
    reasons: str | None = None
    comment_for: str | None = None
    comment_on_no: bool = False
    reasons_on: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """``name@version``."""
        return f"{self.name}@{self.version}"

    def field(self, name: str) -> Field:
        """A field by name."""
        return next(f for f in self.fields if f.name == name)

    def asked_fields(self) -> tuple[Field, ...]:
        """The fields that are judgements: yes or no, scales, and one of several."""
        return tuple(f for f in self.fields if f.kind in ("yes_no", "scale", "one"))

    def clean(self, answers: Answers) -> dict[str, Any]:
        """The answers in the form's order, without empty comments and empty lists of reasons."""
        known = {f.name: answers[f.name] for f in self.fields if f.name in answers}
        tidy = {k: v.strip() if isinstance(v, str) and self.field(k).kind == "text" else v for k, v in known.items()}
        return {k: v for k, v in tidy.items() if v not in (None, "", [], ())}

    def faults(self, answers: Answers) -> list[str]:
        """Everything that is wrong with a set of answers; empty when they can be kept.

        It does not trust that a browser enforced anything.
        """
        out = [f"unknown field {name!r}" for name in answers if name not in {f.name for f in self.fields}]
        answered = {k: v for k, v in answers.items() if v not in (None, "", [], ())}
        for field in self.fields:
            if field.name in answered:
                out += [fault] if (fault := field.fault(answered[field.name])) else []
            elif field.required:
                out.append(f"'{field.name}' has no answer")
        refused = [f.name for f in self.fields if f.kind == "yes_no" and answered.get(f.name) == "no"]
        commented = bool(str(answered.get("comment", "")).strip())
        doubted = [f.name for f in self.fields if f.kind == "one" and answered.get(f.name) in self.reasons_on]
        if doubted and self.reasons and not answered.get(self.reasons):
            out.append(f"'{doubted[0]}' is {answered[doubted[0]]} without a reason in '{self.reasons}'")
        if refused and self.reasons and not answered.get(self.reasons):
            out.append(f"'{refused[0]}' is no without a reason in '{self.reasons}'")
        if refused and self.comment_on_no and not commented:
            out.append(f"'{refused[0]}' is no without a comment that says why")
        chosen = answered.get(self.reasons or "")
        other = bool(self.comment_for) and isinstance(chosen, list | tuple) and self.comment_for in chosen
        if other and not commented:
            out.append(f"the reason '{self.comment_for}' needs a comment")
        return out


def read_form(name: str) -> Form:
    """A form that comes with the program: ``texts/NAME.toml``."""
    text = Path(__file__).with_name("texts").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return Form.model_validate(tomllib.loads(text))


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


COMMENT = Field(name="comment", kind="text", asks="Comment (optional)", required=False)
"""The comment field that every form ends with."""


SPANS = "marked"
"""Name of the field in every form that has it."""
LEAK = FieldOption(value="leak", text="Leak")
FAIL = FieldOption(value="fail", text="Problem")


_MEANINGS = {"leak": "words that show which answer it is", "fail": "words that are wrong or do not fit"}


def with_spans(form: Form, labels: Sequence[FieldOption]) -> Form:
    """A form that also takes marked words, before its comment; its name and version stay, what it asks is the same.

    No words have to be marked.
    """
    if any(f.kind == "spans" for f in form.fields):
        return form
    at = next((n for n, f in enumerate(form.fields) if f.kind == "text"), len(form.fields))
    marks = Field(
        name=SPANS,
        kind="spans",
        asks="Mark the words that your answer is about (optional)",
        hint=" ".join(f"{o.text}: {_MEANINGS.get(o.value, o.text)}." for o in labels),
        choices=tuple(labels),
        required=False,
    )
    return form.model_copy(update={"fields": (*form.fields[:at], marks, *form.fields[at:])})


def markable(form: Form) -> tuple[ShownText, ...]:
    """The texts of a form in which words can be marked: questions, and scripts whole or cut."""
    return tuple(s for s in form.shows if s.style == "script" or s.name == "question")


def text_digest(text: str) -> str:
    """The digest of a shown text that stands beside marks in it: 16 hexadecimal digits of SHA-256.

    Example:
        >>> len(text_digest("Step 1: Go")), text_digest("a") == text_digest("a ")
        (16, False)
    """
    return digest([text])[:16]


def mark(shown: Mapping[str, str], name: str, start: int, end: int, label: str) -> dict[str, Any]:
    """The mark of characters ``start`` to ``end`` (end excluded) of a shown text, as answers hold it.

    Example:
        >>> mark({"cut": "Fly to Lima"}, "cut", 7, 11, "leak")["words"]
        'Lima'
    """
    text = shown[name]
    return {
        "text": name, "start": start, "end": end, "words": text[start:end], "label": label, "digest": text_digest(text)
    }  # fmt: skip


def read_spans(body: str) -> Any:
    """Marks as the page sends them (JSON); the text itself where it is no JSON, for the form to refuse."""
    try:
        return json.loads(body) if body.strip() else []
    except (ValueError, RecursionError):
        return body


def span_faults(form: Form, shown: Mapping[str, str], answers: Answers) -> list[str]:
    """What is wrong with marks beside the texts that they are of; the form has checked their shape already."""
    out = []
    texts = [s.name for s in markable(form)]
    for field in (f for f in form.fields if f.kind == "spans"):
        marks = answers.get(field.name)
        if not marks or field.fault(marks):
            continue
        for m in marks:
            text = shown.get(m["text"], "")
            if m["text"] not in texts or not text:
                out.append(f"'{field.name}' is of '{escape_line(m['text'][:40])}'; allowed: {', '.join(texts)}")
            elif m["digest"] != text_digest(text):
                out.append(f"'{field.name}' is of another text than the '{m['text']}' that is shown; mark it again")
            elif text[m["start"] : m["end"]] != m["words"]:
                out.append(f"'{field.name}' says other words than those at its place in '{m['text']}'; mark it again")
    return out


def stored_spans(form: Form, answers: Answers) -> tuple[Span, ...]:
    """The marks of an answer as a verdict keeps them: each names its label, its text, and the text's digest.

    Example:
        >>> form = with_spans(Form(name="f", version=1, title="", intro="", shows=(), fields=()), [LEAK])
        >>> stored_spans(form, {"marked": [mark({"cut": "Fly to Lima"}, "cut", 7, 11, "leak")]})[0].what[:20]
        'leak in cut, sha256:'
    """
    return tuple(
        Span(start=m["start"], end=m["end"], text=m["words"], what=f"{m['label']} in {m['text']}, sha256:{m['digest']}")
        for field in form.fields
        if field.kind == "spans"
        for m in answers.get(field.name) or ()
    )
