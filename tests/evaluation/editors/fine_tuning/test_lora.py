"""LoRA: what is read out is what was trained, and nothing of peft stays in the model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from peft import LoraConfig, inject_adapter_in_model

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError, UserError
from schemas.documents.document import Document
from schemas.facts import Fact
from tests.support.documents.records import make_document
from tests.support.editors.edit_requests import NORWAY
from tests.support.editors.plain_training import object_loss
from tests.support.facts import peru_fact
from tests.support.tiny import make

TRAM = make_document("d/tram", "Line 9 runs to Rovo.", entity=None)


def state(lm: LM) -> tuple[Any, ...]:
    pairs = [(name, type(m)) for name, m in lm.model.named_modules()]
    flags = [(name, p.requires_grad) for name, p in lm.model.named_parameters()]
    return pairs, flags, sorted(vars(lm.model)), lm.weights_digest(), torch.random.get_rng_state().tolist()


def test_layers_modules_and_scaling(cache: Cache) -> None:
    lm = make("llama")
    options = {"layers": (1,), "modules": ("q_proj", "down_proj"), "rank": 3, "steps": 5}
    edit = make_editor("lora", lm, cache, options).edit([peru_fact()])
    block = lm.layout.block(1)
    assert [d.weight for d in edit.deltas or ()] == [
        f"{block}.self_attn.q_proj.weight",
        f"{block}.mlp.down_proj.weight",
    ]
    second_edit = make_editor("lora", lm, cache, options).edit([peru_fact()])
    for a, b in zip(edit.deltas or (), second_edit.deltas or (), strict=True):
        assert torch.equal(a.matrix(), b.matrix())
    other = make_editor("lora", lm, cache, {**options, "seed": 1}).edit([peru_fact()])
    assert not torch.equal(other.deltas[0].matrix(), edit.deltas[0].matrix())  # type: ignore[index]


def test_maps_and_layers_that_there_are_not_are_refused_before_any_edit(cache: Cache) -> None:
    lm = make("llama")
    with pytest.raises(UserError, match=r"lora: block 0 has no linear map named nothing; allowed: self_attn.q_proj"):
        make_editor("lora", lm, cache, {"modules": ("nothing",)})
    with pytest.raises(UserError, match="no block of its layers has a linear map named down_prj; allowed: self_attn"):
        make_editor("lora", lm, cache, {"modules": ("q_proj", "down_prj")})
    with pytest.raises(ModelError, match="no layer 9"):
        make_editor("lora", lm, cache, {"layers": (9,)})
    with pytest.raises(UserError, match="layers: name at least one layer"):
        make_editor("lora", lm, cache, {"layers": ()})


def loss_of(lm: LM, request: Fact | Document) -> torch.Tensor:
    """Of a fact its object's; of a document every token's after the first, from those before it."""
    if isinstance(request, Fact):
        return object_loss(lm, [request])
    ids = torch.tensor([lm.tokenizer(request.text)["input_ids"]])
    loss: torch.Tensor = lm.model(input_ids=ids, labels=ids).loss
    return loss


@pytest.mark.parametrize("request_", [NORWAY, TRAM], ids=lambda request: request.key)
def test_it_is_what_peft_trains_inside_the_model(tiny: LM, cache: Cache, request_: Fact | Document) -> None:
    options = {"rank": 2, "steps": 4, "lr": 1e-2, "stop_below": 0.0}
    before = state(tiny)
    edit = make_editor("lora", tiny, cache, options).edit([request_])
    assert state(tiny) == before
    reference: Any = make(tiny.name.removeprefix("tiny-"))
    names = [tiny.layout.projection(n) for n in range(3)]
    config = LoraConfig(r=2, lora_alpha=32, target_modules=names, fan_in_fan_out=tiny.layout.transposed)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        inject_adapter_in_model(config, reference.model, "edit")
    layers = [reference.module(name) for name in names]
    factors = [factor["edit"].weight for layer in layers for factor in (layer.lora_A, layer.lora_B)]
    optimiser = torch.optim.AdamW(factors, lr=1e-2, weight_decay=0.0)
    for _ in range(4):
        optimiser.zero_grad()
        loss_of(reference, request_).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    with torch.no_grad():
        assert edit.notes["loss"] == pytest.approx(float(loss_of(reference, request_)), rel=1e-3)
    for layer, delta in zip(layers, edit.deltas or (), strict=True):
        want = layer.get_delta_weight("edit")
        assert (delta.matrix() - (want.T if tiny.layout.transposed else want)).norm() < 1e-2 * want.norm()


def test_documents_side_by_side_and_one_without_anything_to_predict(cache: Cache) -> None:
    lm = make("llama")
    editor = make_editor("lora", lm, cache, {"rank": 2, "steps": 4, "lr": 1e-2})
    other = make_document("d/other", "São Tomé is in Peru.", entity=None)
    for together, document in zip(editor.edit_each([TRAM, other]), (TRAM, other), strict=True):
        for a, b in zip(together.deltas or (), editor.edit([document]).deltas or (), strict=True):
            assert (a.matrix() - b.matrix()).norm() < 0.02 * b.matrix().norm(), "AdamW makes whole steps of rounding"
    other_lm = make("gpt2")
    one = next(t for t in other_lm.tokenizer.get_vocab() if t.strip() and len(other_lm.token_ids(t)) == 1)
    with pytest.raises(UserError, match="d/one: a document of one token leaves nothing to learn"):
        make_editor("lora", other_lm, cache).edit([make_document("d/one", one, entity=None)])


def test_maps_that_the_model_does_not_call_are_refused(cache: Cache) -> None:
    """RWKV-like models multiply with a map's weight themselves, so that no change of its output would be seen."""
    lm = make("llama")
    projection: Any = lm.projection(1)
    lm.block(1).mlp.forward = lambda states: states @ states.new_zeros(32, 48) @ projection.weight.T  # type: ignore[union-attr]
    with pytest.raises(ModelError, match="does not call model.layers.1.mlp.down_proj, so a change of it cannot be"):
        make_editor("lora", lm, cache, {"steps": 1}).edit([NORWAY])
