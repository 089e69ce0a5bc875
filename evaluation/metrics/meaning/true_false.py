"""True or false (fact checking, after "Built on Sand", 2510.00625): the new statement is true, the old one is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evaluation.metrics.base import row
from evaluation.metrics.meaning.base import AskedPrompt, JointItem
from schemas.probes import ScoreProbe

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

    def questions(self, prompt: AskedPrompt) -> Sequence[ScoreProbe]:
        """The statement with either object."""
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
