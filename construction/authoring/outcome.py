"""What came of one fact: its questions, their scripts, the cut prompts, and the verdicts on all of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
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


_ORDER: list[Standing] = ["drop", "unsure", "keep"]


@dataclass
class ScriptOutcome:
    """A script, its prompt where it could be cut, and the verdicts on both."""

    script: Script
    prompt: ScriptPrompt | None
    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def standing(self) -> Standing:
        """``keep``, ``unsure`` or ``drop``."""
        return overall_label(self.verdicts)


@dataclass
class QuestionOutcome:
    """A question, the verdicts on it, and its scripts; ``alone`` where no script was asked for."""

    question: ScriptQuestion
    verdicts: list[Verdict] = field(default_factory=list)
    scripts: list[ScriptOutcome] = field(default_factory=list)
    alone: bool = False

    @property
    def standing(self) -> Standing:
        """The worst of the question's and its best script's."""
        question_standing = overall_label(self.verdicts)
        if self.alone:
            return question_standing
        return worse(question_standing, better(*(script.standing for script in self.scripts)))


@dataclass
class Slot:
    """One of the questions that were asked for, with every attempt at it.

    Attributes:
        questions: The attempts; the last one is the one that counts.
        failure: Why there is none.
    """

    questions: list[QuestionOutcome] = field(default_factory=list)
    failure: str = ""

    @property
    def last(self) -> QuestionOutcome:
        """The attempt that counts."""
        return self.questions[-1]

    @property
    def passes(self) -> bool:
        """Whether its last question is not dropped."""
        return bool(self.questions) and overall_label(self.last.verdicts) != "drop"

    @property
    def standing(self) -> Standing:
        """The best of its attempts."""
        return better(*(question.standing for question in self.questions))


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
