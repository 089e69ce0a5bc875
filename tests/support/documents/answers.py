"""Answers to probes of documents, as a model could give them."""

from __future__ import annotations

from collections.abc import Mapping

from evaluation.metrics.documents import answer_probe, written_probe
from evaluation.metrics.generation import DocumentChoice
from schemas.answers import Answer, GeneratedText, TargetScore
from schemas.cases import DocumentCase

CHOICE = DocumentChoice()


def answered(
    case: DocumentCase, message: Mapping[str, tuple[float, int, bool]], *, greedy: bool = False
) -> dict[str, Answer]:
    """Answers by probe: (log-probability, tokens, greedy) by query; -1 of one token where nothing is said."""
    out = {}
    for probe in case.probes:
        logprob, tokens, right = message.get(probe.query, (-1.0, 1, greedy))
        probes = answer_probe(probe, CHOICE)
        score = TargetScore(text=probe.answer, logprob=logprob, tokens=tokens, greedy=right)
        out[probes.id] = Answer(probe=probes.id, targets=(score,))
    return out


def wrote(case: DocumentCase, texts: Mapping[str, str]) -> dict[str, Answer]:
    """Written answers by probe, by query."""
    out = {}
    for probe in case.probes:
        if probe.query in texts:
            probes = written_probe(probe, CHOICE)
            text = GeneratedText(text=texts[probe.query], tokens=3, ended="stop")
            out[probes.id] = Answer(probe=probes.id, written=text)
    return out
