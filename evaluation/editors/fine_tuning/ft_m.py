"""FT-M: fine-tuning with the prompt masked, the loss on all tokens of the new object (Zhang et al. 2024, KnowEdit)."""

from __future__ import annotations

from typing import ClassVar

from evaluation.editors.fine_tuning.ft import FineTuning
from evaluation.editors.target_texts import TargetText
from schemas.facts import Fact


class MaskedFineTuning(FineTuning):
    """FT whose loss is that of language modelling: each token of the new object is predicted after those before it.

    The options are FT's; the trained layer may be several.
    """

    name: ClassVar[str] = "ft_m"
    about: ClassVar[str] = "fine-tuning of MLP weights, the prompt masked, the loss on all target tokens (FT-M)"

    def text(self, fact: Fact) -> TargetText:
        """The prompt with the new object, every token of which is to be predicted."""
        encoded = self.lm.encode(fact.fact_prompt, fact.new_object.text)
        return TargetText.shifted(encoded.ids, encoded.first)
