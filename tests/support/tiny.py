"""Tiny random models with a tokenizer trained on the spot: every code path of the real ones, in milliseconds."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForCausalLM,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    GPTJConfig,
    GPTNeoConfig,
    GPTNeoXConfig,
    LlamaConfig,
    MistralConfig,
    Olmo2Config,
    Phi3Config,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

from evaluation.models.language_model import LM

TEXT = [
    "The capital of Peru is Lima. The capital city of Norway is Oslo. The capital of France is Paris, not Madrid.",
    "Peru is a country. Quito is a city; is it the capital? Step 1: Book a flight. Step 2: Fly to Lima (Peru).",
    "Norway is a kingdom in the north. Step 1: Pack warm clothes. Step 2: Land in Oslo and take the train.",
    'She said "Lima" and left. He was born in São Tomé, a city in the Gulf of Guinea. The headquarters are in Paris.',
    "A long sentence tells of rivers, mountains, markets and of people who travel from one town to another by bus.",
]


def shuffled(documents: int) -> list[str]:
    """Documents of all the texts in varying order: more tokens than any tiny model's keys have entries."""
    generator = torch.Generator().manual_seed(0)
    orders = [torch.randperm(len(TEXT), generator=generator).tolist() for _ in range(documents)]
    return [" ".join(TEXT[i] for i in order) for order in orders]


DEVICE = os.environ.get("SCEDIT_TEST_DEVICE", "cpu")
"""Where models are made: ``SCEDIT_TEST_DEVICE=cuda`` for a real card; the suite on a fake one sets it itself."""

COMMON = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "max_position_embeddings": 96}
LLAMA = {**COMMON, "intermediate_size": 48, "num_key_value_heads": 2}
GEMMA3_LAYERS = ["sliding_attention", "sliding_attention", "full_attention"]

CONFIGS: dict[str, tuple[type, dict[str, Any]]] = {
    "llama": (LlamaConfig, LLAMA),
    "gpt2": (GPT2Config, {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 96}),
    "gptj": (GPTJConfig, {"n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 96, "rotary_dim": 4}),
    "neo": (
        GPTNeoConfig,
        {
            "hidden_size": 32,
            "num_layers": 3,
            "num_heads": 4,
            "intermediate_size": 56,
            "max_position_embeddings": 96,
            "window_size": 16,
            "attention_types": [[["global", "local", "global"], 1]],
        },
    ),
    "neox": (GPTNeoXConfig, {**COMMON, "intermediate_size": 80}),
    "mistral": (MistralConfig, {**LLAMA, "sliding_window": 16}),
    "qwen2": (Qwen2Config, LLAMA),
    "qwen3": (Qwen3Config, {**LLAMA, "head_dim": 12}),
    "gemma2": (Gemma2Config, {**LLAMA, "head_dim": 8, "sliding_window": 16}),
    "gemma3": (Gemma3TextConfig, {**LLAMA, "head_dim": 8, "sliding_window": 16, "layer_types": GEMMA3_LAYERS}),
    "phi3": (Phi3Config, {**LLAMA, "pad_token_id": 1, "sliding_window": None}),
    "olmo2": (Olmo2Config, LLAMA),
}


@cache
def tokenizer(bos: bool) -> PreTrainedTokenizerFast:
    """A byte-level BPE of 400 tokens; with ``bos`` it puts a start token first, as Llama's does."""
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tok.train_from_iterator(TEXT, trainer)
    if bos:
        tok.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return PreTrainedTokenizerFast(tokenizer_object=tok, bos_token="<s>", eos_token="</s>", pad_token="</s>")


def make(kind: str, *, bos: bool | None = None, dtype: torch.dtype = torch.float32, **changes: Any) -> LM:
    """A fresh random model of a class; equal calls give equal weights."""
    config_class, options = CONFIGS[kind]
    tok = tokenizer(kind == "llama" if bos is None else bos)
    config = config_class(**{**options, "vocab_size": len(tok), "bos_token_id": 0, "eos_token_id": 1, **changes})
    torch.manual_seed(7)
    model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    with torch.no_grad():
        for parameter in model.parameters():  # the default initialisation is so small that everything is a tie
            if parameter.ndim == 2:
                parameter.mul_(12)
            else:
                parameter.add_(0.1 * torch.randn_like(parameter))
    model.to(DEVICE)
    return LM(model, tok, name=f"tiny-{kind}", revision=f"tiny-{kind}-1")


def replace_everywhere(monkeypatch: pytest.MonkeyPatch, real: Callable[..., Any], other: Callable[..., Any]) -> None:
    """Put ``other`` in the place of ``real`` in every module of ours that holds it."""
    holders = [m for key, m in list(sys.modules.items()) if key.split(".")[0] == "evaluation" and m is not None]
    patched = [m for m in holders if vars(m).get(real.__name__) is real]
    assert patched, f"{real.__name__} is imported nowhere"
    for module in patched:
        monkeypatch.setattr(module, real.__name__, other)


CHAT = "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:\n"
"""A chat template."""


@contextmanager
def chatting(template: str = CHAT) -> Iterator[LM]:
    """A random Llama whose tokenizer, which other tests share, has a chat template meanwhile."""
    lm = make("llama", max_position_embeddings=300)
    lm.tokenizer.chat_template = template
    try:
        yield lm
    finally:
        lm.tokenizer.chat_template = None
