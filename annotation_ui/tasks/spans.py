"""Marked words: places in the texts that a person was shown, each with that text's digest."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from annotation_ui.tasks.forms import Answers, Field, FieldOption, Form, ShownText
from schemas.core.ids import digest
from schemas.text.escaping import escape_line
from schemas.verdicts import Span

SPANS = "marked"
"""Name of the field in every form that has it."""
LEAK = FieldOption(value="leak", text="Leaks")
FAIL = FieldOption(value="fail", text="Fails")


def spans_field(labels: Sequence[FieldOption]) -> Field:
    """The field that takes marked words under these labels; no words have to be marked.

    Example:
        >>> spans_field([LEAK]).kind
        'spans'
    """
    return Field(
        name=SPANS,
        kind="spans",
        asks="Mark the words that show it (optional)",
        hint=" ".join(f"{o.text}: {_MEANINGS.get(o.value, o.text)}." for o in labels),
        choices=tuple(labels),
        required=False,
    )


_MEANINGS = {"leak": "words that give an object away", "fail": "words for which the text fails"}


def with_spans(form: Form, labels: Sequence[FieldOption]) -> Form:
    """A form that also takes marked words, before its comment; its name and version stay, what it asks is the same."""
    if any(f.kind == "spans" for f in form.fields):
        return form
    at = next((n for n, f in enumerate(form.fields) if f.kind == "text"), len(form.fields))
    return form.model_copy(update={"fields": (*form.fields[:at], spans_field(labels), *form.fields[at:])})


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
