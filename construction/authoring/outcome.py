"""What came of one fact: its questions, their scripts by author, the cut prompts, and the verdicts on all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from schemas.core.records import Record
from schemas.facts import Fact
from schemas.lineage import Lineage
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict, verdict_key

Standing = Literal["keep", "unsure", "drop"]
MARK = "asked_as_edit"


def overall_label(verdicts: Iterable[Verdict]) -> Standing:
    """``drop`` where any verdict says so, else ``unsure`` where any is unsure or unscored, else ``keep``.

    Example:
        >>> overall_label([])
        'keep'
    """
    labels = {v.label for v in verdicts}
    if "drop" in labels:
        return "drop"
    return "unsure" if labels & {"unsure", "unscored"} else "keep"


def asked_as_edit(fact: Fact, *, edited: bool) -> Verdict:
    """Whether a fact's questions were written for its change; one that only serves as a neighbour makes no case."""
    by = f"{MARK}@1"
    reason = "" if edited else "only serves as a neighbour here: its questions were written without its change"
    key = verdict_key(item_id=fact.id, by=by)
    return Verdict(key=key, item_id=fact.id, by=by, label="keep" if edited else "drop", reason=reason)


REPEATED = "duplicate"
"""How the failure of a slot begins whose question stands in an earlier slot."""
_ORDER: list[Standing] = ["drop", "unsure", "keep"]


@dataclass(frozen=True)
class ScriptOutcome:
    """A script, its prompt where it could be cut, and the verdicts on both."""

    script: Script
    prompt: ScriptPrompt | None
    verdicts: tuple[Verdict, ...]

    @property
    def standing(self) -> Standing:
        """``keep``, ``unsure`` or ``drop``."""
        return overall_label(self.verdicts)


@dataclass(frozen=True)
class AuthorAttempts:
    """What one author wrote when asked for one script.

    Attributes:
        author: The model.
        scripts: Every attempt in the format, each text once.
        trouble: Verdicts on the question where there is none: no usable reply, or none in the format.
    """

    author: str
    scripts: tuple[ScriptOutcome, ...] = ()
    trouble: tuple[Verdict, ...] = ()

    @property
    def standing(self) -> Standing:
        """That of the best attempt; ``drop`` where there is none."""
        return max((s.standing for s in self.scripts), key=_ORDER.index, default="drop")


@dataclass(frozen=True)
class QuestionOutcome:
    """A question, the verdicts on it, and what the authors wrote; ``alone`` where no script was asked for."""

    question: ScriptQuestion
    verdicts: tuple[Verdict, ...]
    written: tuple[AuthorAttempts, ...] = ()
    alone: bool = False

    @property
    def scripts(self) -> tuple[ScriptOutcome, ...]:
        """All scripts, each text once, whoever wrote it."""
        return tuple({s.script.id: s for w in self.written for s in w.scripts}.values())

    @property
    def standing(self) -> Standing:
        """The worst of the question's and its best script's."""
        question_standing = overall_label(self.verdicts)
        if self.alone:
            return question_standing
        if question_standing == "drop" or not self.scripts:
            return "drop"
        best = max((s.standing for s in self.scripts), key=_ORDER.index)
        return min(question_standing, best, key=_ORDER.index)


@dataclass(frozen=True)
class Slot:
    """One of the questions that were asked for, with every attempt at it.

    Attributes:
        questions: The attempts; the last one is the one that counts.
        failure: Why there is none.
        surplus: As many as wanted were chosen without it: it would have done, or the model left it out.
    """

    questions: tuple[QuestionOutcome, ...] = ()
    failure: str = ""
    surplus: bool = False

    @property
    def passes(self) -> bool:
        """Whether its last question is not dropped."""
        return bool(self.questions) and overall_label(self.questions[-1].verdicts) != "drop"

    def with_verdicts(self, verdicts: Iterable[Verdict]) -> Slot:
        """The slot with more verdicts on its last question."""
        *earlier, last = self.questions
        return replace(self, questions=(*earlier, replace(last, verdicts=(*last.verdicts, *verdicts))))

    @property
    def standing(self) -> Standing:
        """The best of its attempts."""
        return max((q.standing for q in self.questions), key=_ORDER.index, default="drop")


@dataclass(frozen=True)
class FactOutcome:
    """All that came of one fact.

    Attributes:
        slots: One for each question asked for.
        verdicts: Verdicts on the fact itself.
        unfinished: Why the endpoint left a call unanswered; then nothing here is stored, and a later run finishes it.
    """

    fact: Fact
    slots: tuple[Slot, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    lineage: tuple[Lineage, ...] = ()
    unfinished: str = ""

    def questions(self) -> Iterator[QuestionOutcome]:
        """Every attempt of every slot."""
        for slot in self.slots:
            yield from slot.questions

    def records(self) -> Iterator[Record]:
        """Everything to store, the fact aside."""
        yield from self.verdicts
        for question in self.questions():
            yield question.question
            yield from question.verdicts
            for script in question.scripts:
                yield script.script
                if script.prompt is not None:
                    yield script.prompt
                yield from script.verdicts

    def prompts(self) -> list[ScriptPrompt]:
        """Prompts that no check drops, with their questions."""
        return [
            s.prompt
            for q in self.questions()
            if overall_label(q.verdicts) != "drop"
            for s in q.scripts
            if s.prompt is not None and s.standing != "drop"
        ]


def better(*standings: Standing) -> Standing:
    """The best of some; ``drop`` of none.

    Example:
        >>> better("drop", "unsure")
        'unsure'
    """
    return max(standings, key=_ORDER.index, default="drop")


def worse(*standings: Standing) -> Standing:
    """The worst of some.

    Example:
        >>> worse("keep", "unsure")
        'unsure'
    """
    return min(standings, key=_ORDER.index)
