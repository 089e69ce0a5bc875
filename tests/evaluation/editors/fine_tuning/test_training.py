"""Edits trained in one batch are those trained alone, whichever of them stops early and however many fit."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.fine_tuning import training
from evaluation.editors.presets import make_editor
from evaluation.models import packed_weights
from evaluation.models.language_model import LM
from evaluation.models.packed_weights import has_packed_product
from tests.contracts.test_editors import FACTS
from tests.support.tiny import make

MANY = [*FACTS, *(fact.model_copy(update={"prompt": "Everybody says that " + fact.prompt}) for fact in FACTS)]
METHODS: dict[str, dict[str, Any]] = {
    "ft": {"layer": 1, "steps": 12, "lr": 1e-2, "stop_below": 5.0},
    "ft_l": {"layer": 1, "steps": 12, "lr": 1e-2, "stop_below": 5.0, "eps": 0.1},
    "ft_m": {"layer": (0, 2), "steps": 12, "lr": 1e-2, "stop_below": 2.6},
    "lora": {"steps": 12, "lr": 0.02, "stop_below": 1.5, "weight_decay": 0.1},
}


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2"])
@pytest.mark.parametrize("method", METHODS)
def test_edits_that_stop_at_different_steps_are_those_made_alone(method: str, kind: str, cache: Cache) -> None:
    lm = make(kind)
    editor, digest = make_editor(method, lm, cache, METHODS[method]), lm.weights_digest()
    together, alone = editor.edit_each(MANY), [editor.edit([fact]) for fact in MANY]
    steps = [edit.notes["steps"] for edit in alone]
    assert min(steps) < max(steps), steps
    for one, other in zip(together, alone, strict=True):
        assert one.notes["steps"] == other.notes["steps"]
        assert one.notes["loss"] == pytest.approx(other.notes["loss"], abs=1e-3)
        for value, want in zip(one.deltas or (), other.deltas or (), strict=True):
            gap = (value.matrix() - want.matrix()).norm() / want.matrix().norm()
            assert value.weight == want.weight and gap < 0.01, (
                "Adam takes whole steps where a gradient is only rounding"
            )
    assert lm.weights_digest() == digest and not any(m._forward_hooks for m in lm.model.modules())
    assert editor.edit_each([]) == []


def test_a_change_has_the_gradient_of_a_plain_product_in_memory_that_stays(tiny: LM) -> None:
    change = training.DenseChange(tiny, tiny.layout.projection(1), edits=2)
    factor = change.factors[0]
    keys = torch.randn(2, 5, factor.shape[2], generator=torch.Generator().manual_seed(0)).requires_grad_()
    with torch.no_grad():
        factor.copy_(torch.linspace(-1, 1, factor.numel()).reshape(factor.shape))
    plain = factor.detach().clone().requires_grad_()
    expected = torch.autograd.grad(torch.bmm(keys, plain.transpose(1, 2)).square().sum(), [plain, keys])
    memory = set[int]()
    for _ in range(3):
        factor.grad = None if factor.grad is None else factor.grad.zero_()
        (of_keys,) = torch.autograd.grad(change.added(keys).square().sum(), keys)
        assert factor.grad is not None
        memory.add(factor.grad.data_ptr())
        for actual, want in zip((factor.grad, of_keys), expected, strict=True):
            assert torch.allclose(actual, want, rtol=1e-4, atol=1e-4)
    assert len(memory) == 1


@pytest.mark.skipif(not has_packed_product(), reason="this build of PyTorch has no packed product")
def test_edits_of_different_lengths_multiply_their_tokens_only(
    tiny: LM, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor: Any = make_editor("ft", tiny, cache, {**METHODS["ft"], "steps": 1, "stop_below": 0.0})
    tokens = [len(editor.text(fact).ids) for fact in MANY]
    rows, real = list[int](), packed_weights._at_tokens

    def counting(multiply: Any, states: torch.Tensor, index: torch.Tensor | None) -> torch.Tensor:
        if index is not None:
            rows.append(len(index))
        return real(multiply, states, index)

    monkeypatch.setattr(packed_weights, "_at_tokens", counting)
    editor.edit_each(MANY)
    assert sum(tokens) < len(tokens) * max(tokens)
    assert set(rows) == {sum(tokens)}


@pytest.mark.parametrize("method", METHODS)
def test_memory_bounds_how_many_train_together(
    method: str, tiny: LM, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor: Any = make_editor(method, tiny, cache, {**METHODS[method], "steps": 2})
    sizes, real = list[int](), editor._train

    def counting(edits: list[Any]) -> Any:
        sizes.append(len(edits))
        return real(edits)

    monkeypatch.setattr(editor, "_train", counting)
    want = editor.edit_each(MANY)
    assert sizes == [len(MANY)]
    monkeypatch.setattr(training, "CPU_BYTES", training.COPIES * editor.bytes_an_edit * 2)
    edits = editor.edit_each(MANY)
    assert sizes[1:] == [2, 2, 2]
    for one, other in zip(edits, want, strict=True):
        assert one.notes["loss"] == pytest.approx(other.notes["loss"], abs=1e-3)


def test_a_batch_that_runs_out_of_memory_is_halved(tiny: LM, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    editor: Any = make_editor("ft", tiny, cache, METHODS["ft"])
    real, want = editor._train, editor.edit_each(MANY)

    def failing(edits: list[Any]) -> Any:
        if len(edits) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return real(edits)

    monkeypatch.setattr(editor, "_train", failing)
    for one, other in zip(editor.edit_each(MANY), want, strict=True):
        assert one.notes["steps"] == other.notes["steps"]
