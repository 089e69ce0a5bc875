"""Probes of what an edit means: negated, true or false, multiple choice; of the fact and in its scripts.

Several probes make one item, and every one of them must come out right: an edit that only raises an object's tokens
passes one side of each item and fails the other. After "Built on Sand" (2510.00625) and 2604.05995.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from typing_extensions import override

from evaluation.metrics.base import (
    Answers,
    Metric,
    Normalisation,
    item_with_value,
    item_without_value,
    row,
    target_values,
)
from schemas.answers import CaseScores, ItemScore
from schemas.cases import Case
from schemas.probes import ScoreProbe


class AskedPrompt(NamedTuple):
    """A prompt about the edited fact, with the objects as they would stand after it.

    Attributes:
        item: The record that it comes from.
        text: The prompt, without the separator.
        separator: What stands between prompt and object.
        new: The new object, as this prompt names it.
        old: The old one.
    """

    item: str
    text: str
    separator: str
    new: str
    old: str


def plain_prompts(case: Case) -> list[AskedPrompt]:
    """The fact prompt."""
    fact = case.fact
    return [AskedPrompt(fact.key, fact.fact_prompt, " ", fact.new_object.text, fact.old.text)]


def script_prompts(case: Case) -> list[AskedPrompt]:
    """The script prompts of the edited fact."""
    new = case.fact.new_object.text
    return [AskedPrompt(p.key, p.text, p.separator, (p.targets[1:2] or (new,))[0], p.targets[0]) for p in case.prompts]


class JointItem(Metric):
    """Share of prompts at which every question asked about them has the right answer.

    Every probe has two targets, and the first one should be strictly more probable. One item a prompt, under the id of
    its first probe; it is unscored where one of its probes is.
    """

    in_scripts: ClassVar[bool] = False

    def questions(self, prompt: AskedPrompt) -> Sequence[ScoreProbe]:
        """The probes of one prompt, the right target first; defined by the metric."""
        raise NotImplementedError

    def groups(self, case: Case) -> list[Sequence[ScoreProbe]]:
        """The probes of every prompt."""
        return [self.questions(p) for p in (script_prompts(case) if self.in_scripts else plain_prompts(case))]

    @override
    def probes(self, case: Case) -> list[ScoreProbe]:
        return [probe for group in self.groups(case) for probe in group]

    def score(self, case: Case, after: Answers, before: Answers, normalisation: Normalisation) -> CaseScores:
        """1 where all probes of a prompt prefer their first target; a tie is none and is counted."""
        items = tuple(_joint_score(group, after, normalisation) for group in self.groups(case))
        return CaseScores(case=case.key, metric=self.name, items=items)

    def ask(self, prompt: AskedPrompt, text: str, targets: tuple[str, str], *, separator: str = " ") -> ScoreProbe:
        """One probe of a prompt."""
        return ScoreProbe(purpose=self.name, item=prompt.item, prompt=text, separator=separator, targets=targets)


def _joint_score(group: Sequence[ScoreProbe], after: Answers, normalisation: Normalisation) -> ItemScore:
    first, won, tie = group[0], True, False
    for probe in group:
        values = target_values(probe, after.get(probe.id), normalisation)
        if isinstance(values, str):
            return item_without_value(first, values)
        right, wrong = values
        won, tie = won and right > wrong, tie or right == wrong
    return item_with_value(first, float(won), *(after.get(probe.id) for probe in group), tie=tie)


DENIAL = "It is not true that {}"
"""Stands around the fact prompt; what follows it should not be the object that is true."""
MISTAKE = "The last step of this script names the wrong thing.\n{}"
"""Stands before a script prompt; what follows it should not be the right object."""


class NegatedFact(JointItem):
    """After the fact prompt the new object, and after its denial the old one?

    What is not true is the old object, once the edit holds. A model that writes the new object whatever is asked passes
    the first half only.
    """

    name: ClassVar[str] = "es_negated"
    title: ClassVar[str] = "ES-negated"
    about: ClassVar[str] = (
        "After the fact prompt P(new) > P(old), and after its denial P(old) > P(new): both, or it does not count"
    )
    denial: ClassVar[str] = DENIAL

    def questions(self, prompt: AskedPrompt) -> Sequence[ScoreProbe]:
        """The prompt itself (as ES or S-ES asks it), and its denial."""
        denied = self.denial.replace("{}", prompt.text)
        return (
            self.ask(prompt, prompt.text, (prompt.new, prompt.old), separator=prompt.separator),
            self.ask(prompt, denied, (prompt.old, prompt.new), separator=prompt.separator),
        )


# The same at script prompts: the script as it is, and one that is said to name the wrong thing.
NegatedScript = row(
    NegatedFact,
    name="s_es_negated",
    title="S-ES-negated",
    about="After the script prompt P(new) > P(old), and after the same prompt said to be mistaken P(old) > P(new)",
    in_scripts=True,
    denial=MISTAKE,
)


STATEMENT = "Statement: {}.\nQuestion: Is this statement true or false?\nAnswer:"
STEP = "{}\nQuestion: Does the last step name the right thing, true or false?\nAnswer:"
TRUE, FALSE = "True", "False"


class TrueFalseFact(JointItem):
    """Is the statement with the new object called true, and that with the old object false?

    A model that calls every statement true, or none, passes neither. No object is a target, so what only raises the
    new object's tokens has nothing to raise.
    """

    name: ClassVar[str] = "es_true_false"
    title: ClassVar[str] = "ES-true/false"
    about: ClassVar[str] = "The fact with the new object is called true, and with the old one false: both"
    question: ClassVar[str] = STATEMENT

    @override
    def questions(self, prompt: AskedPrompt) -> Sequence[ScoreProbe]:
        return tuple(
            self.ask(prompt, self.question.replace("{}", f"{prompt.text}{prompt.separator}{name}"), answers)
            for name, answers in ((prompt.new, (TRUE, FALSE)), (prompt.old, (FALSE, TRUE)))
        )


# The same of the last step of a script that names either object.
TrueFalseScript = row(
    TrueFalseFact,
    name="s_es_true_false",
    title="S-ES-true/false",
    about="A script's step with the new object is called right, and with the old one not: both",
    in_scripts=True,
    question=STEP,
)


COMPLETION = "Question: What completes this sentence?\n{}\nA. %s\nB. %s\nAnswer:"
CHOICE_STEP = "{}\nQuestion: What completes the last step?\nA. %s\nB. %s\nAnswer:"


class ChoiceFact(JointItem):
    """Of two lettered answers, is the new object's letter the more probable one in both orders?

    The letters are the targets, not the objects; a model that always answers A passes nothing.
    """

    name: ClassVar[str] = "es_choice"
    title: ClassVar[str] = "ES-choice"
    about: ClassVar[str] = "Asked by letter, A or B, the new object is chosen over the old one in both orders"
    question: ClassVar[str] = COMPLETION

    @override
    def questions(self, prompt: AskedPrompt) -> Sequence[ScoreProbe]:
        orders = (((prompt.new, prompt.old), ("A", "B")), ((prompt.old, prompt.new), ("B", "A")))
        head, options = self.question.split("{}")
        return tuple(self.ask(prompt, head + prompt.text + options % answers, letters) for answers, letters in orders)


ChoiceScript = row(
    ChoiceFact,
    name="s_es_choice",
    title="S-ES-choice",
    about="Asked by letter what completes a script's last step, the new object in both orders",
    in_scripts=True,
    question=CHOICE_STEP,
)
