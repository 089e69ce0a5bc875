"""Answers to questions about events, as a model would have given them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from evaluation.metrics.event_questions import choice_probes, fact_probe, open_probe
from evaluation.metrics.generation import EventChoice
from schemas.answers import Answer, GeneratedText, TargetScore
from schemas.events.questions import LETTERS, FactQuestion, TendencyQuestion


def said(question: FactQuestion, text: str, choice: EventChoice = EventChoice()) -> dict[str, Answer]:  # noqa: B008
    """A written answer."""
    probe = fact_probe(question, choice)
    return {probe.id: Answer(probe=probe.id, written=GeneratedText(text=text, tokens=1, ended="stop"))}


def chose(
    question: TendencyQuestion,
    *letters: Mapping[str, float],
    choice: EventChoice = EventChoice(),  # noqa: B008
) -> dict[str, Answer]:
    """Probabilities of the *shown* letters, one mapping an order; the last one serves for the orders left."""
    out = {}
    for n, probe in enumerate(choice_probes(question, choice)):
        letter = letters[min(n, len(letters) - 1)]
        targets = tuple(TargetScore(text=x, logprob=math.log(letter[x]), tokens=1) for x in LETTERS)
        out[probe.id] = Answer(probe=probe.id, targets=targets)
    return out


def prefers(question: TendencyQuestion, letter: str) -> dict[str, Answer]:
    """An option preferred wherever it stands: .6 for it, .2 and .1 for the others."""
    orders: Sequence[dict[str, float]] = [
        {LETTERS[(LETTERS.index(letter) + by - shift) % 3]: p for by, p in ((0, 0.6), (1, 0.2), (2, 0.1))}
        for shift in range(3)
    ]
    return chose(question, *orders)


def wrote(question: TendencyQuestion, text: str, choice: EventChoice = EventChoice()) -> dict[str, Answer]:  # noqa: B008
    """An open answer."""
    probe = open_probe(question, choice)
    return {probe.id: Answer(probe=probe.id, written=GeneratedText(text=text, tokens=1, ended="stop"))}
