"""Probes of documents as questions to a model (MULFE, Example 7)."""

from __future__ import annotations

import re
from typing import NamedTuple

from evaluation.metrics.document_choice import DocumentChoice
from schemas.documents.document import Document, DocumentProbe
from schemas.probes import GenerateProbe, ScoreProbe

ANSWER = "document_answer"
WRITTEN = "document_written"
TEXT = "document_text"
"""Purposes of the probes."""

_BLANK = re.compile("_{3,}")
_FIRST_WORD = re.compile(r"(\S+)(\s+)(\S.*)", re.DOTALL)


class ClozeHint(NamedTuple):
    """What stands before a cloze's blank, and what stands between that and the blank: a space or nothing."""

    text: str = ""
    separator: str = " "


def cloze_hint(query: str) -> ClozeHint:
    """The hint that a query gives: its text before the blank.

    A question has none, nor has a cloze with a question mark. In our copy of the published evaluation part 857 of 1,008
    clozes go on after the blank; the hint ends before it all the same. A blank after an opening quotation mark or a
    hyphen follows it without a space.

    Example:
        >>> cloze_hint("Hulu calls The Great '___'."), cloze_hint("Is ___ a city?").text, cloze_hint("___ won.").text
        (ClozeHint(text="Hulu calls The Great '", separator=''), '', '')
    """
    found = _BLANK.search(query)
    if found is None or "?" in query:
        return ClozeHint()
    before = query[: found.start()]
    if not before.strip():
        return ClozeHint()
    return ClozeHint(before.rstrip(), " " if before != before.rstrip() else "")


def prompt_of(query: str, choice: DocumentChoice) -> ClozeHint:
    r"""The prompt that asks a query, and what stands between it and the answer.

    Example:
        >>> prompt_of("Who designed it?", DocumentChoice())
        ClozeHint(text='Question: Who designed it?\nAnswer:', separator=' ')
        >>> prompt_of("It opened in ___.", DocumentChoice()).text
        'Question: It opened in ___.\nAnswer: It opened in'
    """
    hint = cloze_hint(query) if choice.hint else ClozeHint()
    told = f" {hint.text}" if hint.text else ""
    return ClozeHint(f"Question: {query}\nAnswer:{told}", hint.separator)


def answer_probe(probe: DocumentProbe, choice: DocumentChoice) -> ScoreProbe:
    """Ask how probable the answer is, and whether greedy writing would begin with it."""
    prompt = prompt_of(probe.query, choice)
    return ScoreProbe(
        purpose=ANSWER,
        item=probe.key,
        prompt=prompt.text,
        separator=prompt.separator,
        targets=(probe.answer,),
        instruction=choice.instruction,
        greedy=True,
    )


def written_probe(probe: DocumentProbe, choice: DocumentChoice) -> GenerateProbe:
    """Ask for a written answer, which ends with its line. Nothing is drawn."""
    return GenerateProbe(
        purpose=WRITTEN,
        item=probe.key,
        prompt=prompt_of(probe.query, choice).text,
        most=choice.answer_tokens,
        stop=("\n",),
        instruction=choice.instruction,
    )


def text_probe(document: Document) -> ScoreProbe | None:
    """Ask how probable the document is after its first word; None where it has only one.

    The published measure leaves the first token out; a probe knows no tokens, so here it is the first word.
    """
    found = _FIRST_WORD.fullmatch(document.text)
    if found is None:
        return None
    first, space, rest = found.groups()
    return ScoreProbe(purpose=TEXT, item=document.key, prompt=first, separator=space, targets=(rest,))
