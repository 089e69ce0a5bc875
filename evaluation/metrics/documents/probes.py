"""Probes of documents as questions to a model (MULFE, Example 7)."""

from __future__ import annotations

import re

from evaluation.metrics.document_choice import DocumentChoice
from evaluation.metrics.document_prompts import cloze_probe, prompt_of
from schemas.documents.document import Document, DocumentProbe
from schemas.probes import GenerateProbe, ScoreProbe

ANSWER = "document_answer"
WRITTEN = "document_written"
TEXT = "document_text"
"""Purposes of the probes."""

_FIRST_WORD = re.compile(r"(\S+)(\s+)(\S.*)", re.DOTALL)


def answer_probe(probe: DocumentProbe, choice: DocumentChoice) -> ScoreProbe:
    """Ask how probable the answer is, and whether greedy writing would begin with it."""
    return cloze_probe(ANSWER, probe.key, probe.query, probe.answer, choice)


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
