"""FT-BF: breadth-first fine-tuning in epochs of shuffled batches, end token included (LocFT-BF, ICLR 2026)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from pydantic import Field

from evaluation.editors.fine_tuning.delta_training import DeltaTraining, TrainingBatch
from evaluation.editors.fine_tuning.ft import TrainedLayers
from evaluation.editors.fine_tuning.ft_m import MaskedFineTuning
from evaluation.edits.edit import Edit
from evaluation.models.packed_weights import packed_weights
from schemas.core.errors import ModelError
from schemas.facts import Fact


class BreadthFirstFineTuning(MaskedFineTuning):
    """FT-M as a model is usually trained: epochs over all requests of an edit in shuffled batches, not batch by batch.

    The end token is a target too, so that the model learns to stop. Adam goes on from batch to batch. As published, a
    batch below ``stop_below`` makes no update, and training ends where an epoch's mean is below it, with thousands of
    requests in one edit (the regime ``batch`` with a large size).
    """

    name: ClassVar[str] = "ft_bf"
    version: ClassVar[int] = 1
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

    def _train(self, groups: list[list[Fact]]) -> list[Edit]:
        """One edit a group."""
        with packed_weights(self.lm):
            return [self._train_one(group) for group in groups]

    def _train_one(self, facts: Sequence[Fact]) -> Edit:
        p, steps, training, mean = self.params, 0, None, float("nan")
        draws = torch.Generator().manual_seed(p.seed)
        for _ in range(p.epochs):
            order = torch.randperm(len(facts), generator=draws).tolist()
            losses: list[float] = []
            for start in range(0, len(order), p.batch):
                chunk = [facts[n] for n in order[start : start + p.batch]]
                if training is None:
                    training = DeltaTraining(self.lm, self._read(chunk), self.edited_layers, lr=p.lr)
                elif len(facts) > p.batch:  # else every batch is the first one, in another order
                    training.batch = self._read(chunk)
                losses += training.evaluate()
                if losses[-1] >= p.stop_below:
                    training.update(None)
                    steps += 1
            mean = sum(losses) / len(losses)
            if mean < p.stop_below:
                break
        assert training is not None
        return self._make_edit(training.changes(0), loss=mean, steps=steps)

    def _read(self, facts: list[Fact]) -> TrainingBatch:
        """A batch as one group: its requests share one change.

        Raises:
            ModelError: there is no end token.
        """
        end = self.lm.tokenizer.eos_token_id if self.params.eos else None
        if self.params.eos and end is None:
            raise ModelError("the tokenizer has no end token to learn", where=self.lm.name, fix="set eos = false")
        return TrainingBatch.read(self.lm, [facts], self.edited_layers, shifted=True, end=end)
