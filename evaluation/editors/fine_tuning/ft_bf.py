"""FT-BF: breadth-first fine-tuning in epochs of shuffled batches, end token included (LocFT-BF, ICLR 2026)."""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import Field

from evaluation.editors.fine_tuning.ft import FineTuning, TrainedLayers
from evaluation.editors.fine_tuning.training import Trained, factors_of, losses_with
from evaluation.editors.target_texts import TargetBatch, TargetText
from evaluation.models.packed_weights import packed_weights
from schemas.core.errors import ModelError
from schemas.facts import Fact


class BreadthFirstFineTuning(FineTuning):
    """FT-M as a model is usually trained: epochs over all requests of an edit in shuffled batches, not batch by batch.

    The end token is a target too, so that the model learns to stop. Adam goes on from batch to batch. As published, a
    batch below ``stop_below`` makes no update, and training ends where an epoch's mean is below it, with thousands of
    requests in one edit (the regime ``batch`` with a large size).
    """

    name: ClassVar[str] = "ft_bf"
    about: ClassVar[str] = "fine-tuning of MLP weights in epochs of shuffled batches, end token included (LocFT-BF)"
    costs: ClassVar[str] = "up to 25 epochs, a forward and backward pass a batch; a change of the weight's size"

    class Params(TrainedLayers):
        """Options of FT-BF: those of FT, in epochs.

        Attributes:
            epochs: The most passes over the requests.
            batch: Requests a step.
            lr: Adam's learning rate.
            stop_below: Loss (nats a token) of a batch that makes no update, and of an epoch that is the last.
            eos: Whether the end token follows the new object.
            seed: Of the order in which requests come.
        """

        epochs: int = Field(default=25, ge=1)
        batch: int = Field(default=100, ge=1)
        lr: float = Field(default=5e-4, gt=0)
        stop_below: float = 1e-2
        eos: bool = True
        seed: int = 0

    params: Params  # type: ignore[assignment]

    def text(self, fact: Fact) -> TargetText:
        """The prompt with the new object and, unless ``eos`` is false, the end token.

        Raises:
            ModelError: there is no end token.
        """
        encoded, end = self.lm.encode(fact.fact_prompt, fact.new_object.text), self.lm.tokenizer.eos_token_id
        if not self.params.eos:
            return TargetText.shifted(encoded.ids, encoded.first)
        if end is None:
            raise ModelError("the tokenizer has no end token to learn", where=self.lm.name, fix="set eos = false")
        return TargetText.shifted((*encoded.ids, end), encoded.first)

    def _train(self, edits: list[list[TargetText]]) -> list[Trained]:
        with packed_weights(self.lm):
            return [self._train_one(texts) for texts in edits]

    def _train_one(self, texts: list[TargetText]) -> Trained:
        p, changes, steps, mean = self.params, self.changes(1), 0, float("nan")
        optimiser = torch.optim.Adam(factors_of(changes), lr=p.lr, fused=True)
        draws = torch.Generator().manual_seed(p.seed)
        layer = self.edited_layers[0]
        whole = TargetBatch(self.lm, texts, layer) if len(texts) <= p.batch else None
        for _ in range(p.epochs):
            order = torch.randperm(len(texts), generator=draws).tolist()
            losses: list[float] = []
            for start in range(0, len(order), p.batch):
                some = [texts[n] for n in order[start : start + p.batch]]
                with torch.enable_grad():
                    (loss,) = losses_with(whole or TargetBatch(self.lm, some, layer), changes, edits=1)
                losses.append(float(loss.detach()))
                if losses[-1] >= p.stop_below:
                    optimiser.zero_grad()
                    loss.backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
                    steps += 1
            mean = sum(losses) / len(losses)
            if mean < p.stop_below:
                break
        return Trained(tuple(change.delta(0) for change in changes), mean, steps)
