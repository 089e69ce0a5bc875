"""Negated probes (after "Built on Sand", 2510.00625): affirmed, the new object; denied, not it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from evaluation.metrics.base import row
from evaluation.metrics.meaning.base import AskedPrompt, JointItem
from schemas.probes import ScoreProbe

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
