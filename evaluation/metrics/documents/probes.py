"""Probes of documents as questions to a model (MULFE, Example 7)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from evaluation.metrics.document_choice import DocumentChoice
from evaluation.metrics.document_prompts import ClozeHint, cloze_probe, prompt_of
from schemas.documents.document import Document, DocumentProbe
from schemas.probes import GenerateProbe, ScoreProbe

ANSWER = "document_answer"
WRITTEN = "document_written"
TEXT = "document_text"
PREMISE = "document_premise"
CHOICE = "document_choice"
"""Purposes of the probes."""

_FIRST_WORD = re.compile(r"(\S+)(\s+)(\S.*)", re.DOTALL)


_SCRIPT_CUT = re.compile(r"(.*?)( ?)_{3,}.*", re.DOTALL)


def answer_probe(probe: DocumentProbe, choice: DocumentChoice) -> ScoreProbe:
    """Ask how probable the answer is, and whether greedy writing would begin with it."""
    return _asked(ANSWER, probe, (probe.answer,), choice)


def any_answer_probe(probe: DocumentProbe, choice: DocumentChoice) -> ScoreProbe:
    """The same of every accepted answer."""
    return _asked(ANSWER, probe, probe.answers, choice)


def preference_probe(probe: DocumentProbe, choice: DocumentChoice) -> ScoreProbe:
    """Ask how probable the answer is and the one before the edit, in this order."""
    asked = _asked(CHOICE, probe, (probe.answer, str(probe.old_answer)), choice)
    return asked.model_copy(update={"greedy": False})


def premise_probes(probe: DocumentProbe, choice: DocumentChoice) -> list[ScoreProbe]:
    """Ask for all that a probe takes for granted: every right answer of each premise."""
    return [
        cloze_probe(PREMISE, f"{probe.key}/premise/{number}", premise.query, premise.answers, choice)
        for number, premise in enumerate(probe.premises, 1)
    ]


def _asked(purpose: str, probe: DocumentProbe, targets: Sequence[str], choice: DocumentChoice) -> ScoreProbe:
    """A query's probe. A script is continued as it is, as S-ES does: no instruction, no labels."""
    cut = script_cut(probe)
    if cut is None:
        return cloze_probe(purpose, probe.key, probe.query, tuple(targets), choice)
    return ScoreProbe(
        purpose=purpose, item=probe.key, prompt=cut.text, separator=cut.separator, targets=tuple(targets), greedy=True
    )


def script_cut(probe: DocumentProbe) -> ClozeHint | None:
    """A script up to its blank, and what stands between the two; None of a probe that is no script."""
    cut = _SCRIPT_CUT.fullmatch(probe.query) if probe.group == "script_hop" else None
    return None if cut is None else ClozeHint(cut[1], cut[2])


def written_probe(probe: DocumentProbe, choice: DocumentChoice) -> GenerateProbe:
    """Ask for a written answer, which ends with its line. Nothing is drawn; a script is continued as it is."""
    cut = script_cut(probe)
    return GenerateProbe(
        purpose=WRITTEN,
        item=probe.key,
        prompt=prompt_of(probe.query, choice).text if cut is None else cut.text,
        most=choice.answer_tokens,
        stop=("\n",),
        instruction=choice.instruction if cut is None else "",
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
