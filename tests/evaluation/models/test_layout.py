"""The table of families against what models of every class do; ``[layout]`` for a model that it does not know."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertLMHeadModel, GPT2Config, GPT2LMHeadModel, MixtralConfig, MixtralForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

from evaluation.models.language_model import LM
from evaluation.models.layout import expert_modules, layout_of
from evaluation.models.layout_choice import LayoutChoice, families
from schemas.core.errors import ModelError
from tests.support.evaluation.further_architectures import DENSE, EXPERTS, make_further
from tests.support.tiny import CONFIGS, make, tokenizer

GATED = ("mlp.gate_proj", "mlp.up_proj")

CASES: dict[str, tuple[str, dict[str, object]]] = {
    "llama": ("model.layers.1.mlp.down_proj", {"into": GATED}),
    "gpt2": ("transformer.h.1.mlp.c_proj", {"inner": 128, "transposed": True, "into": ("mlp.c_fc",)}),
    "gptj": ("transformer.h.1.mlp.fc_out", {"inner": 128, "into": ("mlp.fc_in",)}),
    "neo": ("transformer.h.1.mlp.c_proj", {"inner": 56, "into": ("mlp.c_fc",), "window": 16}),
    "neox": ("gpt_neox.layers.1.mlp.dense_4h_to_h", {"inner": 80, "into": ("mlp.dense_h_to_4h",)}),
    "mistral": ("model.layers.1.mlp.down_proj", {"into": GATED, "window": 16}),
    "qwen2": ("model.layers.1.mlp.down_proj", {"into": GATED}),
    "qwen3": ("model.layers.1.mlp.down_proj", {"into": GATED}),
    "gemma2": ("model.layers.1.mlp.down_proj", {"into": GATED, "window": 16}),
    "gemma3": ("model.layers.1.mlp.down_proj", {"into": GATED, "window": 16}),
    "phi3": ("model.layers.1.mlp.down_proj", {"into": ("mlp.gate_up_proj",)}),
    "olmo2": ("model.layers.1.mlp.down_proj", {"into": GATED}),
}


EVERY = [*CONFIGS, *DENSE, *EXPERTS]


def any_model(kind: str) -> LM:
    return make(kind) if kind in CONFIGS else make_further(kind)


def first(out: Any) -> torch.Tensor:
    """The hidden state in a block's output; some blocks return several values."""
    return out[0] if isinstance(out, (tuple, list)) else out


def test_the_table_names_model_types_of_transformers_once() -> None:
    assert set(families()) <= set(CONFIG_MAPPING_NAMES)
    assert all(row.like == kind for kind, row in families().items())


@pytest.mark.parametrize("kind", CASES)
def test_names_and_sizes(kind: str) -> None:
    name, case = CASES[kind]
    lm = make(kind)
    layout = lm.layout
    assert layout.projection(1) == name and layout.weight(1) == f"{name}.weight"
    assert (layout.width, layout.depth, layout.head, layout.positions) == (32, 3, "lm_head", True)
    assert layout.inner == case.get("inner", 48) and layout.transposed is case.get("transposed", False)
    assert layout.mlp_in == case["into"] and layout.window == case.get("window")


@pytest.mark.parametrize("kind", [*CONFIGS, *DENSE])
@torch.no_grad()
def test_additive_is_measured_at_every_layer(kind: str) -> None:
    """An addition to the projection's output, seen in the block's output."""
    lm = any_model(kind)
    ids, mask = lm.pad([[5, 6, 7, 8]])
    shift = torch.randn(32, generator=torch.Generator().manual_seed(3))
    equal = []
    for layer in range(lm.layout.depth):
        outputs: list[torch.Tensor] = []
        hooks = [lm.block(layer).register_forward_hook(lambda m, i, out, calls=outputs: calls.append(first(out)))]
        lm.model(input_ids=ids, attention_mask=mask)
        hooks.append(lm.projection(layer).register_forward_hook(lambda m, i, out: out + shift))
        lm.model(input_ids=ids, attention_mask=mask)
        for hook in hooks:
            hook.remove()
        gained = outputs[1] - outputs[0]
        equal.append(torch.allclose(gained, shift.expand_as(gained), atol=2e-3))
    assert all(equal) if lm.layout.additive else not any(equal)


@pytest.mark.parametrize("kind", EVERY)
@torch.no_grad()
def test_a_plain_head_gives_the_models_logits_also_if_they_are_large(kind: str) -> None:
    lm = any_model(kind)
    ids, mask = lm.pad([[5, 6, 7]])
    lm.module(lm.layout.head).weight.mul_(50)  # type: ignore[union-attr, operator] # past Gemma 2's cap of 30
    hidden = lm.module(lm.layout.base)(input_ids=ids, attention_mask=mask).last_hidden_state
    plain, logits = lm.module(lm.layout.head)(hidden), lm.model(input_ids=ids, attention_mask=mask).logits
    assert torch.allclose(plain, logits, rtol=1e-3, atol=1e-3) is lm.layout.plain_head


@pytest.mark.parametrize("kind", EVERY)
@torch.no_grad()
def test_only_recurrent_models_keep_something_else_than_keys_and_values(kind: str) -> None:
    lm = any_model(kind)
    base = lm.module(lm.layout.base)
    assert lm.layout.positions is all(
        "position_ids" in inspect.signature(m.forward).parameters for m in (lm.model, base)
    )
    ids, mask = lm.pad([[5, 6, 7]])
    cache = getattr(base(input_ids=ids, attention_mask=mask, use_cache=True), "past_key_values", None)
    layers = getattr(cache, "layers", None) or []
    states = [getattr(layer, name, None) for layer in layers for name in ("keys", "values")]
    by_position = bool(states) and all(isinstance(s, torch.Tensor) and s.ndim == 4 for s in states)
    assert lm.layout.recurrent is not by_position


def test_a_configuration_that_scales_is_seen() -> None:
    assert make("gemma2", final_logit_softcapping=None).layout.plain_head
    assert not make("gemma2", final_logit_softcapping=1000.0).layout.plain_head
    assert make_further("granite").layout.additive
    assert not make_further("granite", residual_multiplier=0.5).layout.additive
    assert not make_further("granite", logits_scaling=8.0).layout.plain_head


def test_windows_are_those_of_layers_that_have_one() -> None:
    assert make("gemma3", layer_types=["full_attention"] * 3).layout.window is None
    assert make("mistral", sliding_window=None).layout.window is None
    assert make("neo", attention_types=[[["global"], 3]]).layout.window is None


def test_an_encoder_is_not_in_the_table() -> None:
    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    with pytest.raises(ModelError, match=r"the model type 'bert' is not known; name its parts in the table \[layout\]"):
        layout_of(BertLMHeadModel(config))


def test_a_mixture_of_experts_has_no_projection() -> None:
    options = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = MixtralConfig(vocab_size=50, num_key_value_heads=2, num_local_experts=2, **options)
    layout = layout_of(MixtralForCausalLM(config))
    assert layout.experts and layout.mlp_out == "" and layout.mlp_in == ()
    with pytest.raises(ModelError, match="no single map is the MLP's output projection"):
        layout.weight(0)


def test_unequal_blocks_are_refused() -> None:
    model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=16))
    model.transformer.h[1].mlp.c_proj = torch.nn.Linear(64, 12)
    with pytest.raises(ModelError, match="not a linear map of one shape"):
        layout_of(model)


def renamed(folder: Path) -> None:
    """A GPT-2 whose configuration calls it by a type that the table does not know."""
    from transformers import AutoConfig, AutoModelForCausalLM

    class MineConfig(GPT2Config):
        model_type = "mine_of_nobody"

    class MineModel(GPT2LMHeadModel):
        config_class = MineConfig

    AutoConfig.register("mine_of_nobody", MineConfig, exist_ok=True)
    AutoModelForCausalLM.register(MineConfig, MineModel, exist_ok=True)
    lm = make("gpt2")
    config = MineConfig(**{k: v for k, v in lm.model.config.to_dict().items() if k != "model_type"})
    MineModel(config).save_pretrained(folder)
    tokenizer(False).save_pretrained(folder)


def test_a_layout_of_ones_own(tmp_path: Path) -> None:
    renamed(tmp_path)
    with pytest.raises(ModelError, match="the layout of the model type 'mine_of_nobody' is not known"):
        LM.load(str(tmp_path))
    lm = LM.load(str(tmp_path), layout=LayoutChoice(like="gpt2"))
    assert lm.layout == make("gpt2").layout
    named = LayoutChoice(
        base="transformer", blocks="transformer.h", mlp_out="mlp.c_proj", mlp_in=("mlp.c_fc",)
    )  # every part by its own name
    assert LM.load(str(tmp_path), layout=named).layout == lm.layout
    assert "-" in lm.revision, "figures of another layout have another key"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"like": "gtp2"}, "'gtp2' is not known, did you mean 'gpt2'"),
        ({"like": "gpt2", "mlp_out": "mlp.c_projection"}, "has no module 'mlp.c_projection'"),
        ({"like": "gpt2", "blocks": "transformer.blocks"}, "layout.blocks: .*has no module 'transformer.blocks'"),
        ({"like": "gpt2", "mlp_out": "mlp.act"}, "layout.mlp_out: 'mlp.act' is not a linear map"),
        ({"like": "gpt2", "mlp_in": ("mlp.up",)}, "has no module 'mlp.up'"),
    ],
)
def test_a_wrong_layout_is_refused_by_field(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        layout_of(make("gpt2").model, LayoutChoice(**given))


@pytest.mark.parametrize("shape", [(1, 1, 4), (1, 4, 4), (4, 2, 2)])
def test_other_weights_with_three_sizes_are_no_experts(shape: tuple[int, ...]) -> None:
    """RWKV's mixtures of neighbouring positions, RecurrentGemma's block-diagonal gates."""
    block = nn.Module()
    block.inside = nn.Module()
    block.inside.weight = nn.Parameter(torch.zeros(shape))
    assert expert_modules(block, width=4) == ()
