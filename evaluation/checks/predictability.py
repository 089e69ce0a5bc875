"""Predictability: how much a script prompt, with its subject hidden, points at the old object.

A script prompt leaks when it gives the object away without the subject ("headquartered in Stuttgart" for Porsche). With
the subject and its aliases masked in question and steps, a model's log-odds of the old object against its rivals, that
is the new object and other objects of the relation, are compared with its log-odds under a neutral prompt of the same
relation, whose subject is masked too:

    odds(p) = log2 P(old | p) - log2 sum over rivals of P(rival | p)
    value   = odds(script prompt) - odds(neutral prompt), in bits

The measurement is one-sided. A small model that does not know what Stuttgart is known for gives a low value although
the prompt leaks: it misses leaks. It does not invent them: a high value means that words of the prompt did raise the
old object, for this model, with no subject to recall it by. So a high value is a finding, a low one is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log

from pydantic import PositiveInt
from typing_extensions import override

from curation.checks.store_checks import CheckContext
from evaluation.checks.base import ModelParams, PromptCheck, no_other, other_objects
from schemas.answers import Answer
from schemas.core.records import Record
from schemas.facts import Entity, Fact
from schemas.probes import ScoreProbe
from schemas.scripts import ScriptPrompt
from schemas.text.masking import MASK, mask
from schemas.verdicts import Verdict


def masked_probes(
    text: str, subject: Entity, template: str, targets: Sequence[str], *, separator: str = " "
) -> list[ScoreProbe]:
    """What is asked about a prompt: itself with its subject hidden, then the neutral prompt, with the same objects.

    Args:
        text: Question and steps up to the cut, without the separator.
        subject: Who is hidden in it.
        template: A fact prompt of the relation with ``{}`` for the subject; the object follows after one space.
        targets: The object that the prompt was cut before, then those that it is compared with.
        separator: What stands between the prompt and the object.
    """
    objects = tuple(targets)
    script = ScoreProbe(purpose="check", item="-", prompt=mask(text, subject), separator=separator, targets=objects)
    neutral = ScoreProbe(purpose="check", item="-", prompt=template.replace("{}", MASK), targets=objects)
    return [script, neutral]


def bits(answers: Sequence[Answer]) -> float:
    """The measurement: log-odds of the old object under the script prompt less those under the neutral one."""
    script, neutral = answers
    return odds(script) - odds(neutral)


def odds(answer: Answer) -> float:
    """Log-odds of the first target against the others together, in bits.

    Example:
        >>> from schemas.answers import TargetScore as T
        >>> half, eighth = T(text="a", logprob=log(1 / 2), tokens=1), T(text="b", logprob=log(1 / 8), tokens=1)
        >>> round(odds(Answer(probe="p", targets=(half, eighth, eighth))), 6)
        1.0
    """
    old, *others = [t.logprob for t in answer.targets]
    largest = max(others)
    return (old - largest - log(sum(exp(o - largest) for o in others))) / log(2)


class Predictability(PromptCheck):
    """How many bits a script prompt without its subject adds to the odds of the old object."""

    name = "predictability"
    version = 1
    about = "bits that the prompt, its subject hidden, adds to the odds of the old object (misses leaks, invents none)"

    class Params(ModelParams):
        """Settings.

        Attributes:
            rivals: The most other objects of the relation to compare with, beside the new one.
        """

        rivals: PositiveInt = 16

    def ask(self, prompt: ScriptPrompt, fact: Fact, around: CheckContext) -> list[ScoreProbe] | str:
        """The masked prompt and the neutral one; the new object, where there is one, comes second."""
        others = other_objects(fact, around, limit=self.params.rivals + (fact.new is not None))
        if not others:
            return no_other(fact)
        targets = (prompt.targets[0], *others)
        return masked_probes(prompt.text, fact.subject, fact.prompt, targets, separator=prompt.separator)

    @override
    def measured(self, item: Record, probes: Sequence[ScoreProbe], answers: Sequence[Answer]) -> Verdict:
        old, *others = probes[0].targets
        value = bits(answers)
        reason = f"the prompt without its subject gives {old!r} {value:+.2f} bits against {len(others)} rivals"
        return self.verdict(item, None, reason, value=round(value, 4), unit="bits")
