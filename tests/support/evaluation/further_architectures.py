"""Tiny random models of further classes: other bases, several MLP candidates, running states, mixtures of experts."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM

from evaluation.models.language_model import LM
from tests.support.tiny import COMMON, LLAMA, tokenizer

_HEAD = {**LLAMA, "head_dim": 8}
_TOP = {"num_experts_per_tok": 2}
_QWEN_MOE = {**_TOP, "num_experts": 4, "moe_intermediate_size": 24}
_STATES = {
    **_HEAD,
    **{"num_hidden_layers": 4, "linear_num_key_heads": 2, "linear_num_value_heads": 4},
    **{"linear_key_head_dim": 8, "linear_value_head_dim": 8},
}
_GEMMA4 = {**_HEAD, "sliding_window": 16, "hidden_size_per_layer_input": 0}
_BART = {
    **{"d_model": 32, "encoder_layers": 3, "decoder_layers": 3, "max_position_embeddings": 96},
    **{"encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 56, "decoder_ffn_dim": 56},
}
_LATENT = {
    **{**COMMON, "intermediate_size": 48, "moe_intermediate_size": 24, "num_key_value_heads": 4, **_TOP},
    **{"n_routed_experts": 4, "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1, "n_shared_experts": 1},
    **{"kv_lora_rank": 16, "q_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8},
}
_CONVOLUTIONS = {**LLAMA, "layer_types": ["conv", "full_attention", "conv"]}

DENSE: dict[str, tuple[str, dict[str, Any], str]] = {
    "opt": ("OPTConfig", {**COMMON, "ffn_dim": 56, "word_embed_proj_dim": 32}, "model.decoder.layers.1.fc2"),
    "bart": ("BartConfig", _BART, "model.decoder.layers.1.fc2"),
    "gemma4": (
        "Gemma4TextConfig",
        {**_GEMMA4, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 400},
        "model.layers.1.mlp.down_proj",
    ),
    "qwen3_5": ("Qwen3_5TextConfig", _STATES, "model.layers.1.mlp.down_proj"),
    "lfm2": ("Lfm2Config", _CONVOLUTIONS, "model.layers.1.feed_forward.w2"),
    "cohere2": ("Cohere2Config", {**LLAMA, "sliding_window": 16}, "model.layers.1.mlp.down_proj"),
    "bloom": ("BloomConfig", {"hidden_size": 32, "n_layer": 3, "n_head": 4}, "transformer.h.1.mlp.dense_4h_to_h"),
    "phi": ("PhiConfig", LLAMA, "model.layers.1.mlp.fc2"),
    "granite": ("GraniteConfig", LLAMA, "model.layers.1.mlp.down_proj"),
    "openai-gpt": (
        "OpenAIGPTConfig",
        {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 96},
        "transformer.h.1.mlp.c_proj",
    ),
    "rwkv": (
        "RwkvConfig",
        {"hidden_size": 32, "num_hidden_layers": 3, "intermediate_size": 48, "context_length": 96},
        "rwkv.blocks.1.feed_forward.value",
    ),
    "recurrent_gemma": (
        "RecurrentGemmaConfig",
        {**_HEAD, "lru_width": 32, "attention_window_size": 16},
        "model.layers.1.mlp_block.down_proj",
    ),
}
"""Configuration class, options, and the name of block 1's MLP output projection."""

EXPERTS: dict[str, tuple[str, dict[str, Any]]] = {
    "mixtral": ("MixtralConfig", {**LLAMA, **_TOP, "num_local_experts": 4}),
    "qwen2_moe": ("Qwen2MoeConfig", {**LLAMA, **_QWEN_MOE, "shared_expert_intermediate_size": 40}),
    "qwen3_moe": ("Qwen3MoeConfig", {**_HEAD, **_QWEN_MOE}),
    "qwen3_next": ("Qwen3NextConfig", {**_STATES, **_QWEN_MOE, "shared_expert_intermediate_size": 24}),
    "gpt_oss": ("GptOssConfig", {**_HEAD, **_TOP, "num_local_experts": 4}),
    "olmoe": ("OlmoeConfig", {**LLAMA, **_TOP, "num_experts": 4}),
    "deepseek_v3": ("DeepseekV3Config", _LATENT),
    "gemma4_moe": (
        "Gemma4TextConfig",
        {**_GEMMA4, "enable_moe_block": True, "num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 24},
    ),
    "lfm2_moe": (
        "Lfm2MoeConfig",
        {**_CONVOLUTIONS, **_TOP, "num_experts": 4, "moe_intermediate_size": 24, "num_dense_layers": 1},
    ),
    "llama4": (
        "Llama4TextConfig",
        {**_HEAD, "num_experts_per_tok": 1, "num_local_experts": 4, "intermediate_size_mlp": 48},
    ),
    "granite_moe": ("GraniteMoeConfig", {**LLAMA, **_TOP, "num_local_experts": 4}),
}


def make_further(kind: str, **changes: Any) -> LM:
    """A fresh random model of one of these classes; equal calls give equal weights."""
    name, options = DENSE[kind][:2] if kind in DENSE else EXPERTS[kind]
    tok = tokenizer(False)
    tokens = {"vocab_size": len(tok), "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    config = getattr(transformers, name)(**{**options, **tokens, **changes})
    torch.manual_seed(7)
    model: Any = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim >= 2:
                parameter.mul_(4)
            else:
                parameter.add_(0.1 * torch.randn_like(parameter))
    return LM(model, tok, name=f"tiny-{kind}", revision=f"tiny-{kind}-1")
