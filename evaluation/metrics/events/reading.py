"""How answers to questions about events are read: short answers, and the letter that the model holds likeliest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from evaluation.metrics.base import Answers, target_values
from evaluation.metrics.event_choice import EventChoice
from evaluation.metrics.events.probes import choice_probes
from evaluation.metrics.text_level.base import text_of
from schemas.answers import Answer
from schemas.events.questions import LETTERS, UNKNOWN, FactQuestion, TendencyQuestion
from schemas.probes import ScoreProbe


def fold_answer(text: str) -> str:
    r"""An answer's first line, case, outer spaces and a final full stop aside.

    Example:
        >>> fold_answer("  São Tomé.\nQuestion: ...")
        'são tomé'
    """
    lines = text.strip().splitlines()
    return " ".join(lines[0].casefold().split()).rstrip(".").rstrip() if lines else ""


def says_unknown(answer: str, choice: EventChoice) -> bool:
    """Whether an answer, folded, says that there is none.

    Example:
        >>> [says_unknown(text, EventChoice()) for text in ("unknown", "unknown, sorry", "the unknown soldier")]
        [True, True, False]
    """
    if choice.unknown == "anywhere":
        return UNKNOWN in answer
    return answer.startswith(UNKNOWN) and not answer.removeprefix(UNKNOWN)[:1].isalnum()


def is_right(question: FactQuestion, answer: str, choice: EventChoice) -> bool:
    """Whether an answer, folded, is the one that the question wants: its name or an alias, or that it is unknown."""
    return says_unknown(answer, choice) if question.unknown else answer in _names(question)


def is_same(question: FactQuestion, one: str, other: str, choice: EventChoice) -> bool:
    """Whether two answers, folded, say the same: the same words, two names of the given answer, or both unknown."""
    if one == other or (says_unknown(one, choice) and says_unknown(other, choice)):
        return True
    return {one, other} <= _names(question)


def _names(question: FactQuestion) -> set[str]:
    return {fold_answer(name) for name in question.answer.names} - {""}


def short_answer(answer: Answer | None) -> tuple[str | None, str]:
    """A written answer, folded; or None and why there is none."""
    written = text_of(answer)
    return (None, written) if isinstance(written, str) else (fold_answer(written.text), "")


class ChosenOption(NamedTuple):
    """What a model chose among three options.

    Attributes:
        letter: Letter, in the data's order, of the option with the largest share; None where two share it.
        shares: Share of each option, mean over the orders of its letter's probability over that of all three.
        mass: Joint probability of the three letters, mean over the orders.
        by_order: The letter chosen in each order, as the data names that option; None for a tie.
        truncated: Whether a prompt lost its beginning.
    """

    letter: str | None
    shares: tuple[float, ...]
    mass: float
    by_order: tuple[str | None, ...]
    truncated: bool = False


def chosen_option(question: TendencyQuestion, answers: Answers, choice: EventChoice) -> ChosenOption | str:
    """What a model chose, or why that is not known: all orders must be answered."""
    probes = choice_probes(question, choice)
    rows: list[list[float]] = []
    for shift, probe in enumerate(probes):
        values = _letters(probe, answers.get(probe.id))
        if isinstance(values, str):
            return values
        rows.append([values[(option - shift) % len(LETTERS)] for option in range(len(LETTERS))])
    each = [[math.exp(v) for v in row] for row in rows]
    parts = [_shares(row) for row in rows]
    shares = tuple(math.fsum(p[i] for p in parts) / len(parts) for i in range(len(LETTERS)))
    return ChosenOption(
        _largest(shares),
        shares,
        math.fsum(map(math.fsum, each)) / len(each),
        tuple(_largest(p) for p in parts),
        any((a := answers.get(p.id)) is not None and a.truncated for p in probes),
    )


def _letters(probe: ScoreProbe, answer: Answer | None) -> tuple[float, ...] | str:
    return target_values(probe, answer, "sum")


def _shares(values: Sequence[float]) -> list[float]:
    """Probabilities among the three, from log-probabilities however small."""
    largest = max(values)
    if largest == -math.inf:
        return [1 / len(values)] * len(values)
    raw = [math.exp(v - largest) for v in values]
    return [r / math.fsum(raw) for r in raw]


_ROUNDING = 1e-12


def _largest(shares: Sequence[float]) -> str | None:
    largest = max(shares)
    letters = [letter for letter, share in zip(LETTERS, shares, strict=True) if largest - share <= _ROUNDING]
    return letters[0] if len(letters) == 1 else None
