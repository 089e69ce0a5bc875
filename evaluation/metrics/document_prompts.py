"""The prompt that asks a query about a document, and the hint that a cloze gives (MULFE, Example 7)."""

from __future__ import annotations

import re
from typing import NamedTuple

from evaluation.metrics.document_choice import DocumentChoice
from schemas.probes import ScoreProbe

LABELS = ("Question:", "Answer:")
"""What stands before a question and before its answer."""

_BLANK = re.compile("_{3,}")


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
    match = _BLANK.search(query)
    if match is None or "?" in query:
        return ClozeHint()
    before = query[: match.start()]
    if not before.strip():
        return ClozeHint()
    return ClozeHint(before.rstrip(), " " if before != before.rstrip() else "")


def cloze_probe(
    purpose: str, item: str, query: str, answer: str | tuple[str, ...], choice: DocumentChoice
) -> ScoreProbe:
    """Ask how probable an answer to a query is, or each of several, and whether greedy writing would begin with it."""
    prompt = prompt_of(query, choice)
    return ScoreProbe(
        purpose=purpose,
        item=item,
        prompt=prompt.text,
        separator=prompt.separator,
        targets=(answer,) if isinstance(answer, str) else answer,
        instruction=choice.instruction,
        greedy=True,
    )


def prompt_of(query: str, choice: DocumentChoice, *, labels: tuple[str, str] = LABELS) -> ClozeHint:
    r"""The prompt that asks a query, and what stands between it and the answer; ``labels`` stand before the two.

    Example:
        >>> prompt_of("Who designed it?", DocumentChoice())
        ClozeHint(text='Question: Who designed it?\nAnswer:', separator=' ')
        >>> prompt_of("It opened in ___.", DocumentChoice()).text
        'Question: It opened in ___.\nAnswer: It opened in'
    """
    hint = cloze_hint(query) if choice.hint else ClozeHint()
    hint_text = f" {hint.text}" if hint.text else ""
    return ClozeHint(f"{labels[0]} {query}\n{labels[1]}{hint_text}", hint.separator)
