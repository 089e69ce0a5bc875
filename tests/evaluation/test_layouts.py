"""Layouts found from shapes, over model classes that name and store things differently."""

from __future__ import annotations

import pytest
import torch
from transformers import BertConfig, BertLMHeadModel

from evaluation.hooks import reading, stopping_after
from evaluation.layouts import discover
from schemas.errors import ModelError
from tests.evaluation.tiny import make

CASES = {
    "llama": ("model.layers.1.mlp.down_proj", False, 48, "model.norm", "lm_head"),
    "gpt2": ("transformer.h.1.mlp.c_proj", True, 128, "transformer.ln_f", "lm_head"),
    "gptj": ("transformer.h.1.mlp.fc_out", False, 128, "transformer.ln_f", "lm_head"),
    "neox": ("gpt_neox.layers.1.mlp.dense_4h_to_h", False, 80, "gpt_neox.final_layer_norm", "lm_head"),
    "mistral": ("model.layers.1.mlp.down_proj", False, 48, "model.norm", "lm_head"),
    "qwen2": ("model.layers.1.mlp.down_proj", False, 48, "model.norm", "lm_head"),
    "qwen3": ("model.layers.1.mlp.down_proj", False, 48, "model.norm", "lm_head"),
}


@pytest.mark.parametrize("kind", CASES)
def test_places(kind: str) -> None:
    name, transposed, inner, norm, head = CASES[kind]
    lm = make(kind)
    layout = lm.layout
    assert layout.projection(1) == name
    assert layout.weight(1) == f"{name}.weight"
    assert (layout.transposed, layout.width, layout.inner, layout.depth) == (transposed, 32, inner, 3)
    assert (layout.norm, layout.head) == (norm, head)
    assert layout.plain_head and layout.positions
    ids, mask = lm.pad([[5, 6, 7]])
    with reading(lm.projection(1)) as seen:
        lm.model(input_ids=ids, attention_mask=mask)
    assert seen.input.shape == (1, 3, inner) and seen.output.shape == (1, 3, 32)


def test_missing_layer() -> None:
    with pytest.raises(ModelError, match="no layer 3; allowed: 0 to 2"):
        make("gpt2").layout.block(3)


def test_encoder_refused() -> None:
    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    torch.manual_seed(0)
    model = BertLMHeadModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    with pytest.raises(ModelError, match="no decoder"):
        discover(model)


def test_stop_ends_the_pass_and_a_pass_that_never_reaches_it_ends_too() -> None:
    lm = make("llama")
    ids, mask = lm.pad([[5, 6, 7]])
    with reading(lm.block(2)) as later:
        lm.run_to(lm.block(1), ids, mask)
        assert not hasattr(later, "output")
        with stopping_after(lm.block(0)):
            pass
        lm.logits_at(ids, mask, [0], [2])
        assert later.output.shape == (1, 3, 32)
