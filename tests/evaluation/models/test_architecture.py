"""Layouts found from shapes and short passes, over model classes that name, store and join things differently."""

from __future__ import annotations

import pytest
import torch
from transformers import BertConfig, BertLMHeadModel, GPT2Config, GPT2LMHeadModel, MixtralConfig, MixtralForCausalLM

from evaluation.models.architecture import discover
from evaluation.models.hooks import capture
from evaluation.models.linear_maps import linear_shape
from schemas.core.errors import ModelError
from tests.support.evaluation.architectures import CASES
from tests.support.tiny import CONFIGS, make


def test_every_tiny_class_is_told() -> None:
    assert set(CASES) == set(CONFIGS)


@pytest.mark.parametrize("kind", CASES)
def test_places(kind: str) -> None:
    name, case = CASES[kind]
    lm = make(kind)
    layout = lm.layout
    assert layout.projection(1) == name and layout.weight(1) == f"{name}.weight"
    assert (layout.width, layout.depth, layout.head, layout.positions) == (32, 3, "lm_head", True)
    assert layout.inner == case.get("inner", 48) and layout.transposed is case.get("transposed", False)
    assert (layout.mlp_in, layout.fused) == (case["into"], case.get("fused", False))
    assert layout.norm == case.get("final", "model.norm")
    assert layout.embedding == case.get("embedding", "model.embed_tokens")
    assert layout.tied is case.get("tied", False)
    assert (layout.block_norms, layout.mlp_norm) == (case["norms"], case.get("mlp_norm"))
    assert layout.additive is (layout.mlp_norm is None)
    assert layout.parallel is case.get("parallel", False)
    assert layout.plain_head is case.get("plain_head", True) and layout.soft_cap == case.get("soft_cap")
    assert layout.window == case.get("window")


@pytest.mark.parametrize("kind", CASES)
def test_the_projection_has_the_shapes_and_the_orientation_that_are_told(kind: str) -> None:
    lm = make(kind)
    layout = lm.layout
    ids, mask = lm.pad([[5, 6, 7]])
    with capture(lm.projection(1)) as activations:
        lm.model(input_ids=ids, attention_mask=mask)
    assert activations.input.shape == (1, 3, layout.inner) and activations.output.shape == (1, 3, 32)
    weight = lm.projection(1).weight
    dense = activations.input @ (weight if layout.transposed else weight.T)
    bias = getattr(lm.projection(1), "bias", None)
    assert torch.allclose(dense + (0 if bias is None else bias), activations.output, atol=1e-4)
    for into in layout.mlp_in:
        shape = linear_shape(lm.module(f"{layout.block(1)}.{into}"))
        assert shape == (layout.inner * (2 if layout.fused else 1), 32)


def test_windows_are_those_of_layers_that_have_one() -> None:
    assert make("gemma3", layer_types=["full_attention"] * 3).layout.window is None
    assert make("mistral", sliding_window=None).layout.window is None
    assert make("neo", attention_types=[[["global"], 3]]).layout.window is None


def test_bfloat16_is_measured_alike() -> None:
    for kind in ("llama", "gemma2", "neox", "gpt2"):
        assert make(kind, dtype=torch.bfloat16).layout == make(kind).layout


def test_missing_layer() -> None:
    with pytest.raises(ModelError, match="no layer 3; allowed: 0 to 2"):
        make("gpt2").layout.block(3)


def test_discovery_leaves_no_trace() -> None:
    lm = make("gemma2")
    digest = lm.weights_digest()
    lm.model.train()
    discover(lm.model)
    assert lm.weights_digest() == digest and lm.model.training
    assert not any(m._forward_hooks for m in lm.model.modules())


def test_encoder_refused() -> None:
    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    torch.manual_seed(0)
    model = BertLMHeadModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    with pytest.raises(ModelError, match="no decoder"):
        discover(model)


def test_a_mixture_of_experts_has_no_projection() -> None:
    options = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = MixtralConfig(vocab_size=50, num_key_value_heads=2, num_local_experts=2, **options)
    layout = discover(MixtralForCausalLM(config))
    assert layout.experts and layout.mlp_out == "" and layout.mlp_in == ()
    with pytest.raises(ModelError, match="no single map is the MLP's output projection"):
        layout.weight(0)


def test_unequal_blocks_refused() -> None:
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=16))
    model.transformer.h[1].mlp.c_proj = torch.nn.Linear(64, 12)
    with pytest.raises(ModelError, match="block"):
        discover(model)


def test_a_model_that_cannot_run_is_refused_in_one_sentence() -> None:
    lm = make("llama")
    lm.model.model.layers[0].self_attn.o_proj = torch.nn.Linear(7, 32)
    with pytest.raises(ModelError, match="cannot be run as a decoder"):
        discover(lm.model)
