"""Texts whose target is to become likely, and passes over many of them: what all training and all gradients read.

A pass may start at the lowest edited layer, from hidden states that were computed once: below it nothing changes.
Tokens before the first one that an edit changes are read once and stored as keys and values. Logits are computed at the
scored positions only.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.inference.passes import LayerInput, Prefix, can_share, logits_at, read_prefix, resume_at, run_until
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
        changed: First token whose hidden states an edit changes.
    """

    ids: tuple[int, ...]
    positions: tuple[int, ...]
    goals: tuple[int, ...]
    teacher: Tensor | None = None
    changed: int = 0

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
        start: What that block reads, where it was computed before.
        share: Read the tokens before the first changed one of each text once.
        prefix: These tokens, where they were read before.

    Attributes:
        begins: For each text the token at which its row begins; ``positions`` count from there.
    """

    def __init__(
        self,
        lm: LM,
        texts: Sequence[TargetText],
        layer: int | None = None,
        *,
        start: LayerInput | None = None,
        share: bool = True,
        prefix: Prefix | None = None,
    ) -> None:
        self.lm, self.texts, self.layer = lm, list(texts), layer
        self._share = share and can_share(lm, max(len(text.ids) for text in texts))
        self.begins = [text.changed if self._share else 0 for text in texts]
        rests = list(zip(texts, self.begins, strict=True))
        self.ids, self.mask = lm.pad([text.ids[begin:] for text, begin in rests])
        self.prefix = prefix
        if prefix is None and any(self.begins):
            self.prefix = read_prefix(lm, [text.ids[:begin] for text, begin in rests])
        self.start = start
        if layer is not None and start is None:
            self.start = run_until(lm, layer, self.ids, self.mask, after=self.prefix)
        places = [
            (n, position - begin, goal)
            for n, (text, begin) in enumerate(rests)
            for position, goal in zip(text.positions, text.goals, strict=True)
        ]
        self.rows, self.positions, self.goals = send(places, lm.device).T

    def log_probs(self) -> Tensor:
        """Log-probabilities before every goal, float32 [goals, vocabulary]."""
        resumed = nullcontext() if self.start is None else resume_at(self.lm, self.start)
        with resumed, without_padding(self.mask):
            return logits_at(self.lm, self.ids, self.mask, self.rows, self.positions, after=self.prefix).log_softmax(-1)

    def means(self, values: Tensor) -> Tensor:
        """Means over each text's goals: [goals] -> [texts]; 0 of a text without any."""
        sums = values.new_zeros(len(self.texts)).index_add(0, self.rows, values)
        return sums / torch.bincount(self.rows, minlength=len(self.texts)).clamp(min=1)

    def nll(self, log_probs: Tensor | None = None) -> Tensor:
        """Mean negative log-probability of each text's goals, [texts], in nats a token."""
        values = self.log_probs() if log_probs is None else log_probs
        return self.means(-values.gather(1, self.goals[:, None])[:, 0])

    def select(self, texts: Sequence[int]) -> TargetBatch:
        """Some of the texts, as indices, with their prefixes and hidden states."""
        chosen, index = [self.texts[n] for n in texts], send(list(texts), self.lm.device)
        start, prefix = self.start, None if self.prefix is None else self.prefix.select(index)
        if start is not None:
            longest = max(len(self.texts[n].ids) - self.begins[n] for n in texts)
            start = start._replace(hidden=start.hidden[index, :longest])
        return TargetBatch(self.lm, chosen, self.layer, start=start, share=self._share, prefix=prefix)
