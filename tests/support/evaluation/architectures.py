"""Block 1's MLP output projection in every tiny class, and what else its layout must say."""

from __future__ import annotations

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
