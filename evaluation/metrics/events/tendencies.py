"""Tendencies of events by choice among three options (T-M): right, unchanged, and what the letters themselves do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from evaluation.metrics.base import TRUNCATED, Answers, row
from evaluation.metrics.events.base import Question, QuestionMetric, WholeEventMetric
from evaluation.metrics.events.facts import in_scope
from evaluation.metrics.events.reading import ChosenOption, chosen_option
from schemas.answers import ItemScore
from schemas.cases import EventCase
from schemas.events.questions import TendencyQuestion


def tendencies_in_scope(case: EventCase) -> list[TendencyQuestion]:
    """Questions whose answer the event decides."""
    return [q for q in case.tendencies if q.scope == "in"]


def tendencies_out_of_scope(case: EventCase) -> list[TendencyQuestion]:
    """Questions that the event leaves alone."""
    return [q for q in case.tendencies if q.scope == "out"]


def all_in_scope(case: EventCase) -> list[Question]:
    """All questions in scope, of events with a tendency question in scope."""
    tendencies = tendencies_in_scope(case)
    return [*in_scope(case), *tendencies] if tendencies else []


EventChoiceRight = row(
    QuestionMetric,
    name="ev_choice",
    role="event_tendency",
    title="Tendencies",
    about=(
        "Share of tendency questions in scope whose right option is the most probable, over the orders of the options "
        "(ELKEN Table 2, T-M, Q-level)"
    ),
    asks=tendencies_in_scope,
)


EventChoiceWhole = row(
    WholeEventMetric,
    name="ev_choice_edit",
    title="Tendencies, whole event",
    about="Share of events all of whose tendency questions in scope are right (ELKEN Table 2, E-level)",
    asks=tendencies_in_scope,
)


# The published column "overall" takes open answers in the place of choices.
EventAllWhole = row(
    WholeEventMetric,
    name="ev_all_choice_edit",
    title="Whole event",
    about=(
        "Share of events with tendency questions all of whose questions in scope are right, facts and choices (as "
        "ELKEN Table 2, overall, with choices for open answers)"
    ),
    asks=all_in_scope,
)


def all_tendencies(case: EventCase) -> Sequence[TendencyQuestion]:
    """Questions in scope and out of it."""
    return case.tendencies


class ChoiceValue(QuestionMetric):
    """A value of the choice that is made in a question; a subclass says which."""

    asks = all_tendencies

    def value(self, question: Question, after: Answers, before: Answers) -> ItemScore:
        """The value of the choice after the edit."""
        assert isinstance(question, TendencyQuestion)
        option = chosen_option(question, after, self.choice)
        if isinstance(option, str):
            return self.item(question, None, option)
        return self.item(question, self.of_choice(option), TRUNCATED if option.truncated else "")

    def of_choice(self, chosen: ChosenOption) -> float:
        """A number from 0 to 1; defined by the metric."""
        raise NotImplementedError


class EventChoiceLocality(ChoiceValue):
    """Is the same option the most probable before and after the edit, out of scope (Table 2, T-M, locality)?

    Options are compared, not first lines of written answers, which also differ in their form.
    """

    name: ClassVar[str] = "ev_choice_local"
    title: ClassVar[str] = "Tendencies, locality"
    about: ClassVar[str] = "Share of tendency questions out of scope with the same option as before (ELKEN Table 2)"

    asks = tendencies_out_of_scope

    def value(self, question: Question, after: Answers, before: Answers) -> ItemScore:
        """1 for the same option; a tie is no option, and the same as nothing."""
        assert isinstance(question, TendencyQuestion)
        now, then = (chosen_option(question, answers, self.choice) for answers in (after, before))
        if isinstance(now, str):
            return self.item(question, None, now)
        if isinstance(then, str):
            return self.item(question, None, f"before the edit: {then}")
        same = now.letter is not None and now.letter == then.letter
        reason = TRUNCATED if now.truncated or then.truncated else ""
        return self.item(question, float(same), reason, tie=now.letter is None or then.letter is None)


class EventChoiceMass(ChoiceValue):
    """How much of its probability does the model give to the three letters together?"""

    name: ClassVar[str] = "ev_choice_mass"
    title: ClassVar[str] = "Letters"
    about: ClassVar[str] = (
        "Joint probability of the three letters: where it is small, the model would answer something else"
    )

    def of_choice(self, chosen: ChosenOption) -> float:
        """The joint probability, at most 1."""
        return min(chosen.mass, 1.0)


class EventChoiceSway(ChoiceValue):
    """Does the choice follow the letter, so that another order of the options has another one chosen?"""

    name: ClassVar[str] = "ev_choice_sway"
    title: ClassVar[str] = "Order sways"
    about: ClassVar[str] = "Share of tendency questions whose chosen option depends on the order of the options"
    better: ClassVar[Literal["higher", "lower"]] = "lower"

    def of_choice(self, chosen: ChosenOption) -> float:
        """1 where the orders disagree."""
        return float(len(set(chosen.by_order)) > 1)
