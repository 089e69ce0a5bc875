"""Changes trained side by side are those of Adam on each alone, whoever leaves and whatever batch comes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext

import pytest
import torch
from torch import Tensor

from evaluation.editors.fine_tuning.delta_training import DeltaTraining, TrainingBatch
from evaluation.inference.passes import logits_at
from evaluation.models.hooks import replace_output
from evaluation.models.language_model import LM
from evaluation.models.packed_weights import packed_weights
from schemas.facts import Fact, Object
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.tiny import make

LONG = PERU.model_copy(
    update={"key": "f/long", "prompt": "The capital of the old and large republic of {} is", "new": Object(text="Oslo")}
)
FACTS = [PERU, LONG, NORWAY]


def adding(delta: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda keys, out: out + keys @ delta.T


def twin(
    lm: LM, layers: Sequence[int], batches: Sequence[Sequence[Fact]], *, lr: float, bound: float | None
) -> list[Tensor]:
    """One update a batch of PyTorch's Adam on one change of each weight, each text in a pass of its own."""
    deltas = [torch.zeros(lm.layout.width, lm.layout.inner, device=lm.device, requires_grad=True) for _ in layers]
    optimiser = torch.optim.Adam(deltas, lr=lr, fused=False)
    for facts in batches:
        loss = torch.zeros((), device=lm.device)
        for fact in facts:
            text = lm.encode(fact.fact_prompt, fact.new_object.text)
            ids = torch.tensor([text.ids[: text.first]], device=lm.device)
            with torch.enable_grad(), ExitStack() as hooks:
                for layer, delta in zip(layers, deltas, strict=True):
                    hooks.enter_context(replace_output(lm.projection(layer), adding(delta)))
                logits = logits_at(lm, ids, torch.ones_like(ids), [0], [ids.shape[1] - 1])
                loss = loss - logits.log_softmax(-1)[0, list(text.target)].mean() / len(facts)
        for delta, slope in zip(deltas, torch.autograd.grad(loss, deltas), strict=True):
            delta.grad = slope.contiguous()
        optimiser.step()
        if bound is not None:
            with torch.no_grad():
                for delta in deltas:
                    delta.clamp_(-bound, bound)
    return [delta.detach() for delta in deltas]


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("bound", [None, 0.012])
@pytest.mark.parametrize("layers", [(0,), (1,), (2,), (0, 2)])
def test_changes_are_those_of_adam_alone_though_one_leaves(
    layers: tuple[int, ...], bound: float | None, tiled: bool
) -> None:
    lm = make("llama")
    with packed_weights(lm) if tiled else nullcontext():
        training = DeltaTraining(lm, TrainingBatch.read(lm, [[f] for f in FACTS], layers), layers, lr=5e-3)
        assert (training.batch.keys is not None) == (len(layers) == 1 and layers != (2,))
        for step in range(4):
            training.evaluate()
            if step == 2:
                training.drop({1})
            training.update(bound)
    assert training.groups == [0, 2] and len(training.losses) == 2
    for n, fact in enumerate([PERU, NORWAY]):
        want = twin(lm, layers, [[fact]] * 4, lr=5e-3, bound=bound)
        for mine, theirs in zip(training.changes(n), want, strict=True):
            assert torch.allclose(mine, theirs, atol=2e-4) and float(theirs.abs().max()) > 5e-3


def test_all_at_once_is_as_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a card all changes are one launch."""
    lm = make("llama")

    def train() -> Tensor:
        training = DeltaTraining(lm, TrainingBatch.read(lm, [[f] for f in FACTS], (1,)), (1,), lr=5e-3)
        for _ in range(3):
            training.evaluate()
            training.update(None)
        return training.deltas[0]

    want = train()
    monkeypatch.setattr(DeltaTraining, "_parts", lambda self: iter([slice(0, len(self.groups))]))
    assert torch.allclose(train(), want, atol=1e-5)


def test_another_batch_for_the_same_change_is_read_with_what_was_learnt() -> None:
    lm = make("llama")
    first, second = (TrainingBatch.read(lm, [facts], (1,)) for facts in ([PERU, LONG], [NORWAY]))
    training = DeltaTraining(lm, first, (1,), lr=5e-3)
    for batch in (first, second, first):
        training.batch = batch
        training.evaluate()
        training.update(None)
    (want,) = twin(lm, (1,), [[PERU, LONG], [NORWAY], [PERU, LONG]], lr=5e-3, bound=None)
    assert torch.allclose(training.changes(0)[0], want, atol=2e-4)
