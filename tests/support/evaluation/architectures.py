from __future__ import annotations

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
