"""Networks that edit many facts at once: MALMEN (Tan et al. 2024) and RLEdit (Li et al. 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from typing_extensions import override

from evaluation.editors.hypernetwork.gradients import ALL, apply_changes
from evaluation.editors.hypernetwork.mend import Mend
from evaluation.editors.hypernetwork.network import GradientPairs, WeightChange
from evaluation.editors.hypernetwork.training import Losses, Trainer, TrainingTask
from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta, WeightDelta


class Malmen(Mend):
    """Gradients of many facts, mapped by a network to changes of values that one weight change fits by least squares.

    MEND adds up what the network makes of each fact, so many facts disturb each other; here the change of a weight is
    the one that comes nearest to all wanted changes of values (Tan et al. 2024, "Massive Editing for Large Language
    Models via Meta Learning", section 3). The network is trained once a model on edits made together.
    """

    name: ClassVar[str] = "malmen"
    about: ClassVar[str] = "a trained hypernetwork; the changes of many facts are joined by least squares (MALMEN)"
    needs: ClassVar[str] = "a checkpoint for the model (scedit model train --editors malmen), or support to train on"
    costs: ClassVar[str] = "training once a model; then one forward and backward pass an edit, and one linear system"

    class Params(Mend.Params):
        """Options of MALMEN: those of MEND, and these.

        Attributes:
            tokens: Tokens of a fact that count: those after which the new object is predicted (published), or ``all``
                that have a gradient.
            step_size: As of MEND; the published start.
            edits: Edits made together in a training step.
            kept: Prompts that must stay, for each edit.
            edit_weight: Weight of the edits' loss against the divergence.
            clip: Largest norm of a step's gradient.
        """

        tokens: Literal["answer", "all"] = "answer"
        step_size: float = Field(default=1e-6, gt=0)
        edits: int = Field(default=16, ge=1)
        kept: int = Field(default=1, ge=1)
        edit_weight: float = Field(default=1.0, gt=0)
        clip: float = Field(default=1.0, gt=0)

    params: Params

    def training_task(self, cases: Sequence[Any]) -> TrainingTask:
        """What is learnt of cases.

        Raises:
            UserError: too few of them.
        """
        p = self.params
        return super().training_task(cases)._replace(joint=True, answers=p.tokens == "answer", clip=p.clip)

    @override
    def _change(self, at: int, pairs: Sequence[GradientPairs]) -> WeightChange:
        joined = GradientPairs(*(torch.cat(some, 1) for some in zip(*pairs, strict=True)))
        return self._network().network.together(at, joined)

    def _delta(self, at: int, pairs: Sequence[GradientPairs]) -> WeightDelta:
        """The change of one map, in factors where they are smaller than the weight."""
        delta = super()._delta(at, pairs)
        if isinstance(delta, LowRankDelta) and delta.left.shape[1] > min(delta.shape):
            return DenseDelta(delta.weight, delta.matrix())
        return delta


class SequenceTrainer(Trainer):
    """Trains over sequences of edits: each step edits the model that the steps before it left behind.

    RLEdit reads a sequence as the actions of a policy: an edit is rewarded for what it and the edits before it come to
    (Li et al. 2025, "Reinforced Lifelong Editing for Language Models", section 4). All is differentiable, so the
    rewards' gradients are summed over a sequence and followed once.
    """

    def _step(self, step: int, pairs: list[list[GradientPairs]], optimiser: torch.optim.Optimizer) -> Losses:
        p, draw = self.settings, self._draw(step)
        order = torch.randperm(len(self.train), generator=draw)[: p.edits * p.length].tolist()
        earlier: dict[str, WeightChange] = {}
        seen, sums = [], torch.zeros(2)
        optimiser.zero_grad()
        for start in range(0, len(order), p.edits):
            chosen = order[start : start + p.edits]
            seen.append(self._texts(chosen, draw))
            with apply_changes(self.lm, earlier, ALL):  # gradients of the model as it is by now
                now_pairs = self._pairs([self.train[i] for i in chosen])
            with torch.enable_grad():
                changes = self._changes(now_pairs)
                after = {name: _joined(earlier.get(name), change) for name, change in changes.items()}
                loss = p.size_weight * torch.stack([_squared_norm(change) for change in changes.values()]).sum()
                for age, (follow, stay) in enumerate(reversed(seen[-p.depth :])):
                    a, b = self._losses(after, follow, stay, earlier)
                    loss = loss + p.decay**age * (p.edit_weight * a + b)
                    if age == 0:
                        sums += torch.stack([a, b]).detach().cpu() * len(chosen) / len(order)
                loss.backward()  # type: ignore[no-untyped-call]
            earlier = {name: WeightChange(*(x.detach() for x in change)) for name, change in after.items()}
        self._update(optimiser)
        return Losses(*sums.tolist())


class RLEdit(Malmen):
    """MALMEN's edits by a network that was trained on sequences of them, each made on the model as it was by then.

    An edit's loss looks back at the edits before it (with less weight the older they are) and at its own size, so that
    later edits do not undo earlier ones (Li et al. 2025). Made for the regime ``sequential``.
    """

    name: ClassVar[str] = "rledit"
    about: ClassVar[str] = "MALMEN's edits by a network that was trained on sequences of edits (RLEdit)"
    needs: ClassVar[str] = "a checkpoint for the model (scedit model train --editors rledit), or support to train on"
    trainer: ClassVar[type[Trainer]] = SequenceTrainer

    class Params(Malmen.Params):
        """Options of RLEdit: those of MALMEN, and these.

        Attributes:
            length: Groups of ``edits`` facts in a training sequence.
            depth: Groups that a loss looks back at, its own among them.
            decay: Weight of a group against the one after it.
            size_weight: Weight of the squared size of a change.
        """

        edits: int = Field(default=4, ge=1)
        length: int = Field(default=5, ge=1)
        depth: int = Field(default=5, ge=1)
        decay: float = Field(default=0.95, gt=0, le=1)
        size_weight: float = Field(default=1e-3, ge=0)

    params: Params


def _joined(earlier: WeightChange | None, change: WeightChange) -> WeightChange:
    """Two changes of one weight as one."""
    if earlier is None:
        return change
    return WeightChange(torch.cat([earlier.left, change.left], 2), torch.cat([earlier.right, change.right], 2))


def _squared_norm(change: WeightChange) -> torch.Tensor:
    """Sum of the squares of a change's entries, from its factors."""
    left, right = change.left[0], change.right[0]
    return ((left.T @ left) * (right.T @ right)).sum()
