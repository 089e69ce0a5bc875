"""Deltas: orientation, sums, stacks on other models, a different edit in every row, weights that come back."""

from __future__ import annotations

import signal
from contextlib import ExitStack

import pytest
import torch

from evaluation.edits.codebook import Codebook
from evaluation.edits.delta_stack import DeltaStack, StackState, applied
from evaluation.edits.per_row import PerRow
from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from tests.support.fake_device import fake_gpu
from tests.support.tiny import make


def low_rank(lm: LM, layer: int = 1, *, rank: int = 2, size: float = 0.1) -> LowRankDelta:
    g = torch.Generator().manual_seed(layer)
    factor = torch.randn(lm.layout.width, rank, generator=g) * size
    right = torch.randn(lm.layout.inner, rank, generator=g)
    return LowRankDelta(lm.layout.weight(layer), factor, right)


def dense(lm: LM, layer: int = 1) -> DenseDelta:
    return DenseDelta(lm.layout.weight(layer), low_rank(lm, layer).matrix())


def output(lm: LM, layer: int, keys: torch.Tensor) -> torch.Tensor:
    out: torch.Tensor = lm.projection(layer)(keys.to(lm.device, lm.dtype))
    return out.float().cpu()


def test_a_delta_is_what_it_says() -> None:
    factor, right = torch.tensor([[1.0], [2.0]]), torch.tensor([[3.0], [0.0], [-1.0]])
    delta = LowRankDelta("w", factor, right)
    assert delta.matrix().tolist() == [[3, 0, -1], [6, 0, -2]]
    assert delta.shape == (2, 3)
    assert delta.norm() == pytest.approx(50**0.5) == DenseDelta("w", delta.matrix()).norm()
    keys = torch.randn(4, 3)
    assert torch.allclose(delta.product(keys), keys @ delta.matrix().T, atol=1e-6)
    assert torch.allclose(DenseDelta("w", delta.matrix()).product(keys), keys @ delta.matrix().T, atol=1e-6)
    with pytest.raises(ValueError, match="share no rank"):
        LowRankDelta("w", factor, torch.zeros(3, 2))


@pytest.mark.parametrize("make_delta", [low_rank, dense])
def test_applied_adds_the_product_and_takes_it_off(tiny: LM, make_delta: object) -> None:
    delta: Delta = make_delta(tiny)  # type: ignore[operator]
    keys = torch.randn(5, tiny.layout.inner)
    before, digest = output(tiny, 1, keys), tiny.weights_digest()
    with applied(tiny.model, [delta]):
        assert torch.allclose(output(tiny, 1, keys), before + delta.product(keys), atol=1e-5)
        assert tiny.weights_digest() != digest
    assert tiny.weights_digest() == digest


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, GeneratorExit])
def test_restored_whatever_happens(tiny: LM, error: type[BaseException]) -> None:
    digest = tiny.weights_digest()
    with pytest.raises(error), applied(tiny.model, [low_rank(tiny, 0), dense(tiny, 2)]):
        with torch.no_grad():
            tiny.projection(2).weight.fill_(torch.inf)
        raise error
    assert tiny.weights_digest() == digest


def test_ctrl_c_while_weights_are_restored(tiny: LM, monkeypatch: pytest.MonkeyPatch) -> None:
    digest, real, calls = tiny.weights_digest(), torch.Tensor.copy_, 0
    deltas = [low_rank(tiny, 0), dense(tiny, 1), low_rank(tiny, 2)]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores Ctrl-C

    def copy(weight: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        if calls in (1, 3):
            signal.raise_signal(signal.SIGINT)
        return real(weight, kept)

    try:
        with pytest.raises(KeyboardInterrupt), applied(tiny.model, deltas):
            assert tiny.weights_digest() != digest
            monkeypatch.setattr(torch.Tensor, "copy_", copy)
    finally:
        signal.signal(signal.SIGINT, before)
    monkeypatch.undo()
    assert calls == 5, "three weights, two of them in two goes"
    assert tiny.weights_digest() == digest and torch.is_grad_enabled()


def test_a_wrong_second_delta_leaves_nothing_behind(tiny: LM) -> None:
    digest = tiny.weights_digest()
    good = low_rank(tiny)
    norm = next(
        f"{name}.weight" for name, module in tiny.model.named_modules() if "norm" in type(module).__name__.lower()
    )
    wrong = {
        "has no weight 'model.nowhere.weight'": LowRankDelta("model.nowhere.weight", good.left, good.right),
        "cannot be changed by an edit": LowRankDelta(
            norm,
            good.left,
            good.right,
        ),
        r"the change is \(32, 3\)": LowRankDelta(good.weight, good.left, torch.zeros(3, 2)),
    }
    for message, delta in wrong.items():
        with pytest.raises(UserError, match=message), applied(tiny.model, [good, delta]):
            pass
        assert tiny.weights_digest() == digest


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_small_changes_survive_half_precision(kind: str) -> None:
    lm = make(kind, dtype=torch.bfloat16)
    projection, inner = lm.projection(1), lm.layout.inner
    signs = torch.tensor([1.0, -1.0]).repeat(inner // 2)
    with torch.no_grad():  # rows of +1 and -1: on a key of ones they cancel, and only a change is left
        projection.weight.copy_(signs.expand(32, inner).T if lm.layout.transposed else signs.expand(32, inner))
        if projection.bias is not None:
            projection.bias.zero_()
    small, keys = torch.full((32, inner), 1e-3), torch.ones(1, inner)
    assert torch.equal(projection.weight + 1e-3, projection.weight)  # in the weight it would round away
    digest = lm.weights_digest()
    for delta in (DenseDelta(lm.layout.weight(1), small), LowRankDelta(lm.layout.weight(1), small[:, :1], keys.T)):
        with applied(lm.model, [delta]):
            assert torch.allclose(output(lm, 1, keys), torch.tensor(inner * 1e-3), rtol=1e-2)
            assert lm.weights_digest() == digest  # the weights are not touched at all
        assert not output(lm, 1, keys).any()


@pytest.mark.parametrize("form", ["dense", "low rank", "both"])
def test_a_long_sequence_beside_narrow_weights_takes_the_memory_of_one_change(form: str) -> None:
    """Every dense change used to stay in a hook of its own: with an 8B model the fortieth would have filled a card."""
    with fake_gpu():
        lm = make("llama", dtype=torch.bfloat16)
        lm.model.to("cuda")
        name, size = lm.layout.weight(1), 4 * lm.layout.width * lm.layout.inner
        generator = torch.Generator().manual_seed(1)
        deltas: list[Delta] = []
        for n in range(60):
            if form == "dense" or (form == "both" and n % 2):
                value = 0.05 * torch.randn(lm.layout.width, lm.layout.inner, generator=generator)
                deltas.append(DenseDelta(name, value))
            else:
                factor, right = (torch.randn(m, 1, generator=generator) for m in (lm.layout.width, lm.layout.inner))
                deltas.append(LowRankDelta(name, 0.05 * factor, right))
        before, digest = torch.cuda.memory_allocated(), lm.weights_digest()
        with DeltaStack(lm.model) as weights:
            for delta in deltas:
                weights.add([delta])
                assert torch.cuda.memory_allocated() - before <= size
            assert len(lm.projection(1)._forward_hooks) == 1
            keys = torch.randn(1, 3, lm.layout.inner, generator=generator).to("cuda", torch.bfloat16)
            product = lm.projection(1)(keys).float().cpu()
        matrix = lm.projection(1).weight.float().cpu() + sum(d.matrix() for d in deltas)
        want = keys.float().cpu() @ matrix.T
        assert torch.allclose(product, want, atol=0.01 * float(want.abs().max()))
        assert lm.weights_digest() == digest and not lm.projection(1)._forward_hooks
        assert torch.cuda.memory_allocated() <= before + keys.nbytes


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


def test_small_changes_survive_half_precision_in_rows() -> None:
    """Products are added in float32: of a weight that rounds the change away, the output still has it."""
    lm = make("llama", dtype=torch.bfloat16)
    with torch.no_grad():
        lm.projection(1).weight.copy_(
            torch.tensor([1.0, -1.0]).repeat(lm.layout.inner // 2).expand(lm.layout.width, -1)
        )
    small = torch.full((lm.layout.width, lm.layout.inner), 1e-3)
    keys = torch.ones(2, 1, lm.layout.inner)
    assert torch.equal(lm.projection(1).weight + 1e-3, lm.projection(1).weight)
    with torch.no_grad(), PerRow(lm.model, [[DenseDelta(lm.layout.weight(1), small)]]).on([0, -1]):
        out = lm.projection(1)(keys.bfloat16())
    assert out.dtype == torch.bfloat16 and not out[1].any()
    assert torch.allclose(out[0].float(), torch.tensor(lm.layout.inner * 1e-3), rtol=1e-2)
