"""Layouts found from shapes and short passes, over model classes that name, store and join things differently."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import BertConfig, BertLMHeadModel, GPT2Config, GPT2LMHeadModel, MixtralConfig, MixtralForCausalLM

from evaluation.inference.passes import logits_at
from evaluation.models import architecture_cache as layout_cache
from evaluation.models.architecture import Layout, check, discover, linear_shape
from evaluation.models.hooks import changing, reading, stopping_after
from schemas.core.errors import ModelError
from tests.support.tiny import CONFIGS, make

GATED = ("mlp.gate_proj", "mlp.up_proj")
LLAMA = {"into": GATED, "norms": ("input_layernorm", "post_attention_layernorm"), "base": "model"}
GPT = {"norms": ("ln_1", "ln_2"), "final": "transformer.ln_f", "embedding": "transformer.wte", "inner": 128}
GEMMA = {
    **LLAMA,
    "norms": (
        *("input_layernorm", "post_attention_layernorm"),
        *("pre_feedforward_layernorm", "post_feedforward_layernorm"),
    ),
    "mlp_norm": "post_feedforward_layernorm",
    "tied": True,
    "window": 16,
}

CASES: dict[str, tuple[str, dict[str, object]]] = {
    "llama": ("model.layers.1.mlp.down_proj", LLAMA),
    "gpt2": ("transformer.h.1.mlp.c_proj", {**GPT, "transposed": True, "into": ("mlp.c_fc",), "tied": True}),
    "gptj": (
        "transformer.h.1.mlp.fc_out",
        {**GPT, "into": ("mlp.fc_in",), "norms": ("ln_1",), "parallel": True},
    ),
    "neo": ("transformer.h.1.mlp.c_proj", {**GPT, "into": ("mlp.c_fc",), "inner": 56, "tied": True, "window": 16}),
    "neox": (
        "gpt_neox.layers.1.mlp.dense_4h_to_h",
        {
            "into": ("mlp.dense_h_to_4h",),
            "norms": ("input_layernorm", "post_attention_layernorm"),
            "final": "gpt_neox.final_layer_norm",
            "embedding": "gpt_neox.embed_in",
            "inner": 80,
            "parallel": True,
        },
    ),
    "mistral": ("model.layers.1.mlp.down_proj", {**LLAMA, "window": 16}),
    "qwen2": ("model.layers.1.mlp.down_proj", LLAMA),
    "qwen3": ("model.layers.1.mlp.down_proj", LLAMA),
    "gemma2": ("model.layers.1.mlp.down_proj", {**GEMMA, "plain_head": False, "soft_cap": 30.0}),
    "gemma3": ("model.layers.1.mlp.down_proj", GEMMA),
    "phi3": ("model.layers.1.mlp.down_proj", {**LLAMA, "into": ("mlp.gate_up_proj",), "fused": True}),
    "olmo2": (
        "model.layers.1.mlp.down_proj",
        {
            **LLAMA,
            "norms": ("post_attention_layernorm", "post_feedforward_layernorm"),
            "mlp_norm": "post_feedforward_layernorm",
        },
    ),
}


def test_every_tiny_class_is_told() -> None:
    assert set(CASES) == set(CONFIGS)


@pytest.mark.parametrize("kind", CASES)
def test_places(kind: str) -> None:
    name, told = CASES[kind]
    lm = make(kind)
    layout = lm.layout
    assert layout.projection(1) == name and layout.weight(1) == f"{name}.weight"
    assert (layout.width, layout.depth, layout.head, layout.positions) == (32, 3, "lm_head", True)
    assert layout.inner == told.get("inner", 48) and layout.transposed is told.get("transposed", False)
    assert (layout.mlp_in, layout.fused) == (told["into"], told.get("fused", False))
    assert layout.norm == told.get("final", "model.norm")
    assert layout.embedding == told.get("embedding", "model.embed_tokens")
    assert layout.tied is told.get("tied", False)
    assert (layout.block_norms, layout.mlp_norm) == (told["norms"], told.get("mlp_norm"))
    assert layout.additive is (layout.mlp_norm is None)
    assert layout.parallel is told.get("parallel", False)
    assert layout.plain_head is told.get("plain_head", True) and layout.soft_cap == told.get("soft_cap")
    assert layout.window == told.get("window")


@pytest.mark.parametrize("kind", CASES)
def test_the_projection_has_the_shapes_and_the_orientation_that_are_told(kind: str) -> None:
    lm = make(kind)
    layout = lm.layout
    ids, mask = lm.pad([[5, 6, 7]])
    with reading(lm.projection(1)) as seen:
        lm.model(input_ids=ids, attention_mask=mask)
    assert seen.input.shape == (1, 3, layout.inner) and seen.output.shape == (1, 3, 32)
    weight = lm.projection(1).weight
    whole = seen.input @ (weight if layout.transposed else weight.T)
    bias = getattr(lm.projection(1), "bias", None)
    assert torch.allclose(whole + (0 if bias is None else bias), seen.output, atol=1e-4)
    for into in layout.mlp_in:
        shape = linear_shape(lm.module(f"{layout.block(1)}.{into}"))
        assert shape == (layout.inner * (2 if layout.fused else 1), 32)


@pytest.mark.parametrize("kind", CASES)
@torch.no_grad()
def test_additive_is_what_it_says_at_every_layer(kind: str) -> None:
    """The slow twin of the flag: an addition to the projection's output, compared at the block's output by hand."""
    lm = make(kind)
    ids, mask = lm.pad([[5, 6, 7, 8]])
    shift = torch.randn(32, generator=torch.Generator().manual_seed(3))
    for layer in range(3):
        with reading(lm.block(layer)) as before:
            lm.model(input_ids=ids, attention_mask=mask)
        with changing(lm.projection(layer), lambda _, out: out + shift), reading(lm.block(layer)) as after:
            lm.model(input_ids=ids, attention_mask=mask)
        gained = after.output - before.output
        assert torch.allclose(gained, shift.expand_as(gained), atol=1e-3) is lm.layout.additive


@pytest.mark.parametrize("kind", CASES)
@torch.no_grad()
def test_a_plain_head_gives_the_models_logits_also_where_they_are_large(kind: str) -> None:
    lm = make(kind)
    ids, mask = lm.pad([[5, 6, 7]])
    lm.module(lm.layout.head).weight.mul_(50)  # past Gemma 2's cap of 30
    hidden = lm.module(lm.layout.base)(input_ids=ids, attention_mask=mask).last_hidden_state
    plain, whole = lm.module(lm.layout.head)(hidden), lm.model(input_ids=ids, attention_mask=mask).logits
    assert torch.allclose(plain, whole, rtol=1e-3, atol=1e-3) is lm.layout.plain_head


def test_a_cap_that_small_logits_hide_is_found() -> None:
    lm = make("gemma2", final_logit_softcapping=1000.0)
    assert not lm.layout.plain_head and lm.layout.soft_cap == 1000.0
    assert make("gemma2", final_logit_softcapping=None).layout.plain_head


def test_attention_before_the_mlp_is_not_parallel() -> None:
    assert not make("neox", use_parallel_residual=False).layout.parallel


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


def test_mixture_of_experts_refused() -> None:
    options = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = MixtralConfig(vocab_size=50, num_key_value_heads=2, num_local_experts=2, **options)
    with pytest.raises(ModelError, match="mixtures of experts are not known"):
        discover(MixtralForCausalLM(config))


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


def test_remembered_once_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("gemma2")
    found = layout_cache.cached_architecture(lm.model, folder=tmp_path)
    (kept,) = tmp_path.iterdir()
    assert found == lm.layout
    called: list[Layout] = []
    real = layout_cache.discover
    monkeypatch.setattr(layout_cache, "discover", lambda model: called.append(real(model)) or called[-1])
    assert layout_cache.cached_architecture(lm.model, folder=tmp_path) == found and not called
    kept.write_text(kept.read_text(encoding="utf-8").replace('"depth": 3', '"depth": 9'), encoding="utf-8")
    assert layout_cache.cached_architecture(lm.model, folder=tmp_path) == found and len(called) == 1
    kept.write_text("{", encoding="utf-8")
    assert layout_cache.cached_architecture(lm.model, folder=tmp_path) == found and len(called) == 2
    assert layout_cache.identity(make("gemma2", final_logit_softcapping=None).model) != layout_cache.identity(lm.model)
    (tmp_path / "file").write_text("")
    assert layout_cache.cached_architecture(lm.model, folder=tmp_path / "file") == found  # cannot be kept: no matter


def test_check_sees_another_model() -> None:
    assert check(make("llama").layout, make("llama").model)
    assert not check(make("gpt2").layout, make("llama").model)
    assert not check(make("llama").layout, make("llama", intermediate_size=40).model)


def test_stop_ends_the_pass_and_a_pass_that_never_reaches_it_ends_too() -> None:
    lm = make("llama")
    ids, mask = lm.pad([[5, 6, 7]])
    with reading(lm.block(2)) as later:
        lm.run_to(lm.block(1), ids, mask)
        assert not hasattr(later, "output")
        with stopping_after(lm.block(0)):
            pass
        logits_at(lm, ids, mask, [0], [2])
        assert later.output.shape == (1, 3, 32)
