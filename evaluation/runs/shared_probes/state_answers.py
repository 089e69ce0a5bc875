"""Answers to shared questions, a line a state of the model: arrays, not 400 objects.

A line of 400 questions takes about 9 KiB (as objects 68). Its key is the state and the digest of all shared
questions as they were asked, so other questions, or the same asked otherwise, stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from curation.files.journal import Journal
from evaluation.metrics.shared_questions import SharedQuestions
from schemas.answers import Answer, TargetScore
from schemas.core.ids import content_id
from schemas.core.records import Frozen
from schemas.probes import ScoreProbe

FILE = "shared.jsonl"
UNEDITED = "unedited"
"""The state of the model before any edit: one, however many cases there are."""


class StateScores(Frozen):
    """What the model said to shared questions in one state. Arrays are in the order of ``places``.

    Attributes:
        case: Key of the case with which they were asked: the first whose edit stands in the model.
        after: Number of edits in the model, where there are several.
        places: Places of the questions in the set, ascending.
        logprobs: Sums over the answers' tokens (nats).
        tokens: Their numbers.
        greedy: ``1`` or ``0`` a question: all tokens are the most probable ones; ``-`` where that is not known.
        truncated: Places of questions that lost their beginning.
        errors: Why there is no answer, by place.
    """

    case: str
    after: int | None = None
    places: tuple[int, ...]
    logprobs: tuple[float | None, ...]
    tokens: tuple[int, ...]
    greedy: str
    truncated: tuple[int, ...] = ()
    errors: dict[int, str] = Field(default_factory=dict)


def questions_digest(probes: Sequence[ScoreProbe]) -> str:
    """What tells shared questions, as they are asked, from others."""
    return content_id("shared_questions", [probe.id for probe in probes])[:16]


def to_arrays(case: str, after: int | None, answers: Iterable[Answer], probes: Sequence[ScoreProbe]) -> StateScores:
    """Answers to some of the probes as arrays; each has one target."""
    place = {probe.id: n for n, probe in enumerate(probes)}
    rows = sorted({place[a.probe]: a for a in answers}.items())
    first = [a.targets[0] if a.targets else None for _, a in rows]
    return StateScores(
        case=case,
        after=after,
        places=tuple(n for n, _ in rows),
        logprobs=tuple(None if t is None else t.logprob for t in first),
        tokens=tuple(0 if t is None else t.tokens for t in first),
        greedy="".join("-" if t is None or t.greedy is None else str(int(t.greedy)) for t in first),
        truncated=tuple(n for n, a in rows if a.truncated),
        errors={n: a.error for n, a in rows if a.error is not None},
    )


def to_answers(scores: StateScores, probes: Sequence[ScoreProbe]) -> tuple[Answer, ...]:
    """The answers that arrays hold."""
    cut, out = set(scores.truncated), []
    for n, logprob, tokens, greedy in zip(scores.places, scores.logprobs, scores.tokens, scores.greedy, strict=True):
        targets: tuple[TargetScore, ...] = ()
        if logprob is not None:
            known = None if greedy == "-" else greedy == "1"
            targets = (TargetScore(text=probes[n].targets[0], logprob=logprob, tokens=tokens, greedy=known),)
        answer = Answer(probe=probes[n].id, targets=targets, truncated=n in cut, error=scores.errors.get(n))
        out.append(answer)
    return tuple(out)


class StateAnswers:
    """The journal of one method's states, open for writing.

    Args:
        journal: Where they are kept.
        questions: All shared questions of the run.
    """

    def __init__(self, journal: Journal, questions: SharedQuestions) -> None:
        self._journal, self.probes = journal, questions.probes
        self._digest = questions_digest(self.probes)
        self.ids = frozenset(probe.id for probe in self.probes)
        self._known: dict[str, dict[str, Answer]] = {}

    def known(self, state: str) -> dict[str, Answer]:
        """Answers of a state by probe."""
        if state not in self._known:
            answers: tuple[Answer, ...] = ()
            if (key := self._key(state)) in self._journal:
                answers = to_answers(StateScores.model_validate(self._journal[key]), self.probes)
            self._known[state] = {answer.probe: answer for answer in answers}
        return self._known[state]

    def missing(self, state: str, wanted: Sequence[ScoreProbe], *, retry: bool = False) -> tuple[ScoreProbe, ...]:
        """What was not asked in a state; with ``retry`` also what ended in an error."""
        known = self.known(state)
        return tuple(p for p in wanted if p.id not in known or (retry and known[p.id].error is not None))

    def add(self, state: str, case: str, after: int | None, answers: Iterable[Answer]) -> None:
        """Keep answers of a state beside those that it has."""
        known = self.known(state)
        known.update({answer.probe: answer for answer in answers})
        line = to_arrays(case, after, known.values(), self.probes).model_dump(mode="json", exclude_defaults=True)
        self._journal.append(self._key(state), line)

    def _key(self, state: str) -> str:
        return f"{state}#{self._digest}"


def read_states(folder: Path, questions: SharedQuestions) -> dict[tuple[str, int | None], tuple[Answer, ...]]:
    """Answers by (case, edits in the model) of one method, from its folder; those of other questions are left out."""
    path = folder / FILE
    if not path.exists():
        return {}
    ending = f"#{questions_digest(questions.probes)}"
    out: dict[tuple[str, int | None], tuple[Answer, ...]] = {}
    with Journal(path) as journal:
        lines: list[dict[str, Any]] = [value for key, value in journal.items() if key.endswith(ending)]
    for line in lines:
        scores = StateScores.model_validate(line)
        out[scores.case, scores.after] = to_answers(scores, questions.probes)
    return out
