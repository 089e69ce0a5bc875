"""Multiple choice by letter (after the self-assessment of 2604.05995): the new object, in whichever place it stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evaluation.metrics.base import row
from evaluation.metrics.meaning.base import AskedPrompt, JointItem
from schemas.probes import ScoreProbe

COMPLETION = "Question: What completes this sentence?\n{}\nA. %s\nB. %s\nAnswer:"
STEP = "{}\nQuestion: What completes the last step?\nA. %s\nB. %s\nAnswer:"


class ChoiceFact(JointItem):
    """Of two lettered answers, is the new object's letter the more probable one in both orders?

    The letters are the targets, not the objects; a model that always answers A passes nothing.
    """

    name: ClassVar[str] = "es_choice"
    title: ClassVar[str] = "ES-choice"
    about: ClassVar[str] = "Asked by letter, A or B, the new object is chosen over the old one in both orders"
    question: ClassVar[str] = COMPLETION

    def questions(self, prompt: AskedPrompt) -> Sequence[ScoreProbe]:
        """The new object first, then second."""
        orders = (((prompt.new, prompt.old), ("A", "B")), ((prompt.old, prompt.new), ("B", "A")))
        head, options = self.question.split("{}")
        return tuple(self.ask(prompt, head + prompt.text + options % answers, letters) for answers, letters in orders)


ChoiceScript = row(
    ChoiceFact,
    name="s_es_choice",
    title="S-ES-choice",
    about="Asked by letter what completes a script's last step, the new object in both orders",
    in_scripts=True,
    question=STEP,
)
