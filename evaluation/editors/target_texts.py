"""Texts whose target is to become likely, and passes over many of them: what all training and all gradients read.

A pass may start at the lowest edited layer, from hidden states that were computed once: below it nothing changes.
Logits are computed at the scored places only.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.inference.passes import LayerInput, logits_at, resume_at, run_until
from evaluation.models.devices import send
from evaluation.models.language_model import LM
from evaluation.models.packed_weights import without_padding
from schemas.core.errors import UserError
from schemas.facts import Fact


class TargetText(NamedTuple):
    """Tokens that a model reads, and the tokens that it should predict.

    Attributes:
        ids: Tokens that are read.
        positions: For every goal, the position after which it is predicted.
        goals: Tokens to predict.
        teacher: Log-probabilities to match at the positions, float32 [goals, vocabulary]; None without a teacher.
    """

    ids: tuple[int, ...]
    positions: tuple[int, ...]
    goals: tuple[int, ...]
    teacher: Tensor | None = None

    @classmethod
    def shifted(cls, ids: tuple[int, ...], first: int) -> TargetText:
        """Each token from ``first`` on is predicted from those before it, as in language modelling."""
        return cls(ids[:-1], tuple(range(first - 1, len(ids) - 1)), ids[first:])

    @property
    def end(self) -> int:
        """Position of the prompt's last token."""
        return self.positions[0]


def target_text(lm: LM, prompt: str, target: str, *, separator: str = " ") -> TargetText | None:
    """A prompt with its target; None where the model cannot read it whole or nothing stands before the target."""
    text = lm.encode(prompt, target, separator=separator)
    if text.first == 0 or (lm.limit and len(text.ids) > lm.limit):
        return None
    return TargetText.shifted(text.ids, text.first)


def fact_texts(lm: LM, facts: Sequence[Fact]) -> list[TargetText]:
    """Fact prompts with their new objects.

    Raises:
        UserError: one cannot be read whole.
    """
    texts = []
    for fact in facts:
        text = target_text(lm, fact.fact_prompt, fact.new_object.text)
        if text is None:
            raise UserError("the fact prompt with its new object cannot be read", where=fact.key)
        texts.append(text)
    return texts


class TargetBatch:
    """Texts of one pass, padded on the right.

    Args:
        lm: The model.
        texts: The texts.
        layer: Where passes start, from what this block reads of the unedited model; None: the whole model runs.
        hidden: What that block reads, [texts, longest text, width], where it was computed before.
        tuples: Members of what blocks return, where ``hidden`` is given.
    """

    def __init__(
        self,
        lm: LM,
        texts: Sequence[TargetText],
        layer: int | None = None,
        *,
        hidden: Tensor | None = None,
        tuples: int = 0,
    ) -> None:
        self.lm, self.texts, self.layer = lm, list(texts), layer
        self.ids, self.mask = lm.pad([text.ids for text in texts])
        self.start: LayerInput | None = None
        if layer is not None:
            known = None if hidden is None else LayerInput(layer, hidden, tuples)
            self.start = known or run_until(lm, layer, self.ids, self.mask)
        places = [
            (n, position, goal)
            for n, text in enumerate(texts)
            for position, goal in zip(text.positions, text.goals, strict=True)
        ]
        self.rows, self.positions, self.goals = send(places, lm.device).T

    def log_probs(self) -> Tensor:
        """Log-probabilities before every goal, float32 [goals, vocabulary]."""
        resumed = nullcontext() if self.start is None else resume_at(self.lm, self.start)
        with resumed, without_padding(self.mask):
            return logits_at(self.lm, self.ids, self.mask, self.rows, self.positions).log_softmax(-1)

    def means(self, values: Tensor) -> Tensor:
        """Means over each text's goals: [goals] -> [texts]; 0 of a text without any."""
        sums = values.new_zeros(len(self.texts)).index_add(0, self.rows, values)
        return sums / torch.bincount(self.rows, minlength=len(self.texts)).clamp(min=1)

    def nll(self, log_probs: Tensor | None = None) -> Tensor:
        """Mean negative log-probability of each text's goals, [texts], in nats a token."""
        values = self.log_probs() if log_probs is None else log_probs
        return self.means(-values.gather(1, self.goals[:, None])[:, 0])

    def select(self, texts: Sequence[int]) -> TargetBatch:
        """Some of the texts, as indices; what the first layer reads is kept."""
        chosen = [self.texts[n] for n in texts]
        if self.start is None:
            return TargetBatch(self.lm, chosen, self.layer)
        longest = max(len(text.ids) for text in chosen)
        hidden = self.start.hidden[send(list(texts), self.start.hidden.device), :longest]
        return TargetBatch(self.lm, chosen, self.layer, hidden=hidden, tuples=self.start.tuples)
