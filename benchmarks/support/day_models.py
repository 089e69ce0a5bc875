"""Models of real shapes with random weights, made on the device; the options of methods that fit them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch

from evaluation.models.language_model import LM


class ModelShape(NamedTuple):
    """Options of the configuration, real and tiny; layers: ROME's, those of MEMIT and AlphaEdit, FT's."""

    real: dict[str, Any]
    small: dict[str, Any]
    precision: str
    at: int
    several: tuple[int, ...]
    trained: int


SHAPES = {
    "gpt2-xl": ModelShape(
        {"n_embd": 1600, "n_layer": 48, "n_head": 25, "n_positions": 1024, "vocab_size": 50257},
        {"n_embd": 64, "n_layer": 4, "n_head": 4, "n_positions": 1024},
        "float32",
        17,
        (13, 14, 15, 16, 17),
        0,
    ),
    "llama-3-8b": ModelShape(
        {
            "hidden_size": 4096,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "intermediate_size": 14336,
            "max_position_embeddings": 8192,
            "vocab_size": 128256,
        },
        {
            "hidden_size": 64,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "intermediate_size": 96,
            "max_position_embeddings": 1024,
        },
        "bfloat16",
        5,
        (4, 5, 6, 7, 8),
        21,
    ),
}


def build(section: str, *, device: str, precision: str, small: bool, pack: Path | None) -> LM:
    """A model of a section's shape under the packed tokenizer, or the embedded model's."""
    from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    shape = SHAPES[section]
    kind: Any = GPT2LMHeadModel if section.startswith("gpt2") else LlamaForCausalLM
    configured: Any = GPT2Config if section.startswith("gpt2") else LlamaConfig
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    tokenizer = AutoTokenizer.from_pretrained(pack / "tokenizer") if pack else _embedded_tokenizer()
    torch.manual_seed(0)
    config = configured(**({**shape.small, "vocab_size": len(tokenizer)} if small else shape.real))
    if small:  # the same weights on every device
        model = kind(config).to(dtype).to(device)
    else:
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        try:
            with torch.device(device):
                model = kind(config)
        finally:
            torch.set_default_dtype(before)
    return LM(model, tokenizer, name=section, revision=f"random-{section}-{precision}-{small}")


def _embedded_tokenizer() -> Any:
    from evaluation.models.loading import load_tokenizer

    return load_tokenizer("embedded")


def options(section: str, method: str, *, small: bool) -> dict[str, Any]:
    """A method's options that say where it edits; two layers of four in the tiny shape."""
    shape = SHAPES[section]
    at, several, trained = (1, (1, 2), 1) if small else (shape.at, shape.several, shape.trained)
    where: dict[str, dict[str, Any]] = {
        "rome": {"layer": at},
        "memit": {"layers": several, "lam": 20.0 if small else 15000.0},
        "alphaedit": {"layers": several, "lam": 10.0, "null_share": 0.02},
        "ft": {"layer": trained},
        "lora": {},
    }
    return where[method]
