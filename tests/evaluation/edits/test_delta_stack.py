"""A stack's state put on another model: bit for bit what stood there, in weights, beside narrow ones, and routed."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
import torch

from evaluation.edits.codebook import Codebook
from evaluation.edits.delta_stack import DeltaStack, StackState
from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from tests.support.tiny import make


def changes(lm: LM, layer: int) -> list[LowRankDelta]:
    draw = torch.Generator().manual_seed(layer)
    name = lm.layout.weight(layer)
    shape = lm.projection(layer).weight.shape
    out, inner = (shape[1], shape[0]) if type(lm.projection(layer)).__name__ == "Conv1D" else (shape[0], shape[1])
    return [LowRankDelta(name, torch.randn(out, 2, generator=draw), torch.randn(inner, 2, generator=draw))]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_a_state_is_taken_up_bit_for_bit(kind: str, dtype: torch.dtype) -> None:
    lm, again = make(kind, dtype=dtype), make(kind, dtype=dtype)
    digest, text = again.weights_digest(), torch.tensor([[1, 2, 3, 4]])
    with ExitStack() as both:
        whole, second = both.enter_context(DeltaStack(lm.model)), both.enter_context(DeltaStack(again.model))
        whole.add(changes(lm, 0))
        whole.add(changes(lm, 1))
        second.load(whole.state())
        for stack, model in ((whole, lm), (second, again)):
            stack.add(changes(model, 0))
        assert torch.equal(lm.model(text).logits, again.model(text).logits)
        assert second.norms() == whole.norms() and len(whole.norms()) == 2
    assert again.weights_digest() == digest


def test_norms_are_those_of_the_whole_change(tiny: LM) -> None:
    name = tiny.layout.weight(0)
    before = tiny.projection(0).weight.detach().clone()
    with DeltaStack(tiny.model) as stack:
        for _ in range(2):
            stack.add(changes(tiny, 0))
        (norm,) = stack.norms()
        want = float((tiny.projection(0).weight - before).norm())
    assert (norm.weight, norm.routed) == (name, False)
    assert norm.norm == pytest.approx(want) and norm.ratio == pytest.approx(want / float(before.norm()))


def test_routed_changes_are_taken_up_and_named(tiny: LM) -> None:
    name, shape = tiny.layout.weight(0), changes(tiny, 0)[0].shape
    book = Codebook(name, torch.ones(1, shape[1]), torch.ones(1, shape[0]), torch.ones(1), ((1,),))
    with DeltaStack(tiny.model) as stack:
        stack.add([book])
        state, (norm,) = stack.state(), stack.norms()
    assert norm.routed and norm.norm == pytest.approx(book.norm())
    with DeltaStack(tiny.model) as stack:
        stack.load(state)
        assert stack.state().routed[name].norm() == book.norm()  # type: ignore[union-attr]


def test_a_state_of_another_model_is_refused_whole(tiny: LM) -> None:
    digest, good = tiny.weights_digest(), tiny.projection(0).weight.detach() + 1
    for weights in ({"model.layers.9.mlp.weight": good}, {tiny.layout.weight(1): torch.ones(2, 2)}):
        with DeltaStack(tiny.model) as stack, pytest.raises(UserError, match="no weight|the stored weight is"):
            stack.load(StackState({tiny.layout.weight(0): good, **weights}, {}, {}))
        assert tiny.weights_digest() == digest
    with DeltaStack(tiny.model) as stack, pytest.raises(UserError, match="no weight"):
        stack.load(StackState({}, {"x.weight": DenseDelta("x.weight", torch.ones(2, 2))}, {}))
