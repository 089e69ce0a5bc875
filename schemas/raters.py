"""Who rated: a person, a program in a person's place, a judge model, or a lead who decides between others.

Ratings and verdicts store who made them as text; this is the only place that reads and writes it:

    person:ann                                  a rating of a person
    person:synthetic-ann                        of a program, which stands where a person would
    judge:gpt-x+evidence                        of a judge model
    person:ann/filter_question@2                a verdict of a person on a task; a check's has no person before it
    person:ann, form rate_script_adjudicated@1  a lead's decision, under a form of its own
"""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple

RaterKind = Literal["person", "program", "judge", "adjudicated"]

PROGRAM_PREFIX = "synthetic-"
"""How the names of programs begin, and no others, so that their answers are told apart wherever they are kept."""
ADJUDICATED = "adjudicated"
"""In the name of a form: a lead's decision between others, which is outside all agreement."""
SCRIPTED = ("scripted", PROGRAM_PREFIX)
"""How the names of judges begin that are programs with rules of their own, in a model's place to try the tools."""
_PERSON, _JUDGE = "person:", "judge:"


class Rater(NamedTuple):
    """Who made a rating or a verdict.

    Attributes:
        kind: ``person``; ``program``: one that rates in a person's place; ``judge``: a language model;
            ``adjudicated``: a lead's decision between others.
        name: A pseudonym, or the judge's model and prompt profile.
    """

    kind: RaterKind
    name: str

    @classmethod
    def person(cls, name: str) -> Rater:
        """Somebody who rates, by pseudonym; a program where the name says so.

        Example:
            >>> Rater.person("ann").kind, Rater.person("synthetic-ann").kind, Rater.person("synthetica").kind
            ('person', 'program', 'person')
        """
        return cls("program" if name.startswith(PROGRAM_PREFIX) else "person", name)

    @classmethod
    def judge(cls, name: str) -> Rater:
        """A judge model by its name in ratings, with or without ``judge:`` before it.

        Example:
            >>> Rater.judge("gpt-x") == Rater.judge("judge:gpt-x")
            True
        """
        return cls("judge", name.removeprefix(_JUDGE))

    @property
    def is_judge(self) -> bool:
        """Whether a language model rated."""
        return self.kind == "judge"

    @property
    def is_program(self) -> bool:
        """Whether a program stands where a person would, be it as a lead."""
        return not self.is_judge and self.name.startswith(PROGRAM_PREFIX)

    @property
    def is_scripted(self) -> bool:
        """Whether a judge is a program that answers by rules, not a language model.

        Example:
            >>> [Rater.judge(name).is_scripted for name in ("scripted", "judge:scripted+evidence", "gpt-x")]
            [True, True, False]
        """
        return self.is_judge and self.name.startswith(SCRIPTED)

    @property
    def label(self) -> str:
        """The name in tables that hold both: a pseudonym alone, a judge's with ``judge:`` before it."""
        return self.stored if self.is_judge else self.name

    @property
    def stored(self) -> str:
        """As a rating stores it.

        Example:
            >>> Rater.person("ann").stored, Rater.judge("gpt-x").stored
            ('person:ann', 'judge:gpt-x')
        """
        return f"{_JUDGE if self.is_judge else _PERSON}{self.name}"

    def by(self, task: str) -> str:
        """As a verdict on a task (``name@version``) stores it.

        Example:
            >>> Rater.person("ann").by("filter_question@2")
            'person:ann/filter_question@2'
        """
        return f"{self.stored}/{task}"


@lru_cache(maxsize=4096)
def rater_of_rating(rater: str, form: str = "") -> Rater:
    """Who made a rating, by its ``rater`` and ``form``.

    Example:
        >>> rater_of_rating("judge:gpt-x").kind, rater_of_rating("person:ann", "rate_script_adjudicated@1").kind
        ('judge', 'adjudicated')

    Raises:
        ValueError: the text is of neither shape.
    """
    if rater.startswith(_JUDGE):
        return Rater.judge(rater)
    if not rater.startswith(_PERSON):
        raise ValueError(f"a rater is person:NAME or judge:MODEL, not {rater!r}")
    return _person(rater.removeprefix(_PERSON), form)


@lru_cache(maxsize=4096)
def rater_of_verdict(by: str) -> Rater | None:
    """Who made a verdict, by its ``by``; None for a check.

    Example:
        >>> rater_of_verdict("leak_in_prompt@1"), rater_of_verdict("person:ann/filter_question@2").name
        (None, 'ann')
    """
    if not by.startswith(_PERSON):
        return None
    name, _, task = by.removeprefix(_PERSON).rpartition("/")
    return _person(name, task)


def _person(name: str, form: str) -> Rater:
    return Rater("adjudicated", name) if ADJUDICATED in form else Rater.person(name)
