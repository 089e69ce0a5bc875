"""A language model as data: weights, tokenizer, layout. ``evaluation.inference`` runs it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from copy import copy
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from evaluation.models import loading
from evaluation.models.devices import send
from evaluation.models.hooks import note_rows, set_home, stopping_after
from evaluation.models.layout import Layout, layout_of
from evaluation.models.layout_choice import LayoutChoice
from evaluation.models.tokenization import EncodedPrompt, TokenPosition, encode_at, encode_target
from schemas.core.errors import ModelError
from schemas.core.ids import content_id
from schemas.probes import to_complete
from schemas.text.thoughts import MARKS

REMEMBERED = 2**15
"""Texts and prompts with their targets whose tokens are remembered: all methods of a run score the same ones."""

_DATE = "26 Jul 2024"
"""What a chat template that names the day is told, so that a run gives the same figures tomorrow (as Llama 3.1's)."""


class LM:
    """A decoder ready for editing.

    Args:
        model: A causal language model of transformers.
        tokenizer: Its fast tokenizer.
        name: The name it was asked for by.
        revision: What tells its weights and configuration from others; statistics are kept under it.
        layout: Its layout, if that is known already; else by the table of families.

    Attributes:
        layout: Names and sizes of its parts.
        limit: The most tokens it can read at once, or None where it says nothing.
        in_chat: Whether prompts are encoded in the chat template (``reading_in_chat``).

    Raises:
        ModelError: the model is no decoder, or its tokenizer cannot give character offsets.
    """

    def __init__(self, model: Any, tokenizer: Any, *, name: str, revision: str, layout: Layout | None = None) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise ModelError(
                "the tokenizer gives no character offsets", where=name, fix="the model needs a fast tokenizer"
            )
        self.model, self.tokenizer, self.name, self.revision = model, tokenizer, name, revision
        self.other_attention = ""
        self.in_chat = False
        self._encode = lru_cache(maxsize=REMEMBERED)(partial(encode_target, tokenizer))
        self._token_ids = lru_cache(maxsize=REMEMBERED)(partial(_token_ids, tokenizer))
        model.eval().requires_grad_(False)
        loading.refuse_nan(model, name)
        if len(self.devices) > 1:
            set_home(model, self.device)
        self.layout: Layout = layout or layout_of(model)
        if self.layout.flat:
            blocks = [self.block(n) for n in range(self.layout.depth)]
            note_rows(blocks, (*self.layout.mlp_in, self.layout.mlp_out))
        self.limit = _limit(model, tokenizer)

    @classmethod
    def load(
        cls,
        name: Path | str,
        *,
        device: str = "auto",
        dtype: str = "float32",
        attention: loading.Attention | None = None,
        trust_remote_code: bool = False,
        layout: LayoutChoice | None = None,
    ) -> LM:
        """Load ``embedded`` (SmolLM2-135M-Instruct, converted once from its GGUF), a folder, a GGUF file, a hub name.

        Args:
            name: Which model; weights are read from safetensors only.
            device: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` ..., or ``map``: blocks spread over all devices.
            dtype: ``float32``, ``bfloat16``, ``float16``, or ``tf32``: float32 weights, products rounded by a CUDA
                device, in all of this process until the next model is loaded.
            attention: ``eager`` or ``sdpa``; as transformers chooses where it is not given.
            trust_remote_code: Run code that the model brings along; off unless asked for.
            layout: Names of the model's parts, for a model type that the table of families does not have.

        Raises:
            ModelError: unknown model, device or dtype, or not a decoder.
        """
        name, place, kind = str(name), loading.pick_device(device), loading.pick_dtype(dtype)
        loading.set_product_precision(dtype, place)
        loading.leave_out_planned_attention(place)
        loading.warn_of_slow_products(kind, place)
        got = loading.load(name, device=place, dtype=kind, attention=attention, trust_remote_code=trust_remote_code)
        lm = cls(got.model, got.tokenizer, name=name, revision=got.revision or "", layout=layout_of(got.model, layout))
        lm.revision = lm.revision or lm.weights_digest()[:20]
        if layout is not None:
            lm.revision += f"-{content_id('layout', asdict(lm.layout))[:8]}"  # other parts give other figures
        lm.other_attention = loading.other_attention(got.model, attention)
        return lm

    @property
    def other_numerics(self) -> dict[str, str]:
        """What figures depend on beside weights and type, for keys: empty where attention is computed as usual."""
        return {"attention": self.other_attention} if self.other_attention else {}

    @property
    def device(self) -> torch.device:
        """Device of the input embedding, where ids go; with a device map, other parts stand elsewhere."""
        device: torch.device = self.model.get_input_embeddings().weight.device
        return device

    @property
    def devices(self) -> tuple[torch.device, ...]:
        """All devices that weights lie on, that of the ids first."""
        return tuple(dict.fromkeys([self.device, *(p.device for p in self.model.parameters())]))

    @property
    def dtype(self) -> torch.dtype:
        """Floating type of the weights."""
        dtype: torch.dtype = next(self.model.parameters()).dtype
        return dtype

    def module(self, name: str) -> nn.Module:
        """A module by its dotted name."""
        submodule: nn.Module = self.model.get_submodule(name)
        return submodule

    def projection(self, layer: int) -> nn.Module:
        """A layer's MLP output projection: its inputs are ROME's keys, its outputs the values."""
        return self.module(self.layout.projection(layer))

    def block(self, layer: int) -> nn.Module:
        """A block of the decoder, counted from 0."""
        return self.module(self.layout.block(layer))

    def reading_in_chat(self) -> LM:
        """The same model, for which ``encode`` and ``encode_at`` put prompts in its chat template, to be completed.

        Raises:
            ModelError: its tokenizer has no chat template.
        """
        if not self.has_chat:
            raise ModelError(
                "the tokenizer has no chat template", where=self.name, fix='leave edit_format = "chat" out'
            )
        other = copy(self)
        other.in_chat = True
        return other

    def encode(self, prompt: str, target: str, *, separator: str = " ", special: bool = True) -> EncodedPrompt:
        """Prompt, separator and target as tokens, with the place of the target (``models.tokenization``)."""
        asked = self._asked(prompt)
        special = special and not self.in_chat
        return self._encode(asked + prompt, target, separator=separator, special=special)

    def encode_at(self, text: str, *, end: int) -> TokenPosition:
        """A prompt as tokens, with the last one that begins before character ``end`` of it.

        Raises:
            UserError: no token lies before ``end``.
        """
        asked = self._asked(text)
        return encode_at(self.tokenizer, asked + text, end=len(asked) + end, special=not self.in_chat)

    def _asked(self, prompt: str) -> str:
        """What stands before a prompt: nothing, or in a chat the request to complete it."""
        return self.chat(to_complete(prompt), thinking=False) if self.in_chat else ""

    @property
    def has_chat(self) -> bool:
        """Whether its tokenizer has a chat template."""
        return bool(getattr(self.tokenizer, "chat_template", None))

    def chat(self, message: str, *, thinking: bool | None = None) -> str:
        """A user's message in the chat template, up to where the reply begins; it holds all special tokens.

        Args:
            message: What the user says.
            thinking: Told to the template as ``enable_thinking``; None tells it nothing. With False a thought that the
                template opens all the same is closed.
        """
        told: dict[str, Any] = {} if thinking is None else {"enable_thinking": thinking}
        told["date_string"] = _DATE
        turns = [{"role": "user", "content": message}]
        text: str = self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **told)
        opened = next((end for start, end in MARKS if text.rstrip().endswith(start)), None)
        return text if thinking is not False or opened is None else f"{text.rstrip()}\n\n{opened}\n\n"

    def token_ids(self, text: str, *, special: bool = True) -> tuple[int, ...]:
        """A whole text as tokens; ``special`` lets the tokenizer add its special tokens."""
        return self._token_ids(text, special)

    def pad(self, rows: Sequence[Sequence[int]], *, left: bool = False) -> tuple[Tensor, Tensor]:
        """Rows padded on the right, or on the left: ids and attention mask, both [rows, longest]."""
        longest = max(len(row) for row in rows)
        fill = self.tokenizer.pad_token_id or 0
        ids, mask = [], []
        for row in rows:
            padding, seen = [fill] * (longest - len(row)), [1] * len(row)
            unseen = [0] * len(padding)
            ids.append([*padding, *row] if left else [*row, *padding])
            mask.append([*unseen, *seen] if left else [*seen, *unseen])
        both = send([ids, mask], self.device)
        return both[0], both[1]

    def run_to(self, module: nn.Module, ids: Tensor, mask: Tensor) -> None:
        """Run the model until ``module`` has run; read it with ``evaluation.models.hooks.capture``."""
        with stopping_after(module):
            self.module(self.layout.base)(input_ids=ids, attention_mask=mask, use_cache=False)

    def weights_digest(self) -> str:
        """SHA-256 over the names and bytes of all parameters and buffers: equal digests, equal models bit for bit."""
        h = hashlib.sha256()
        tensors = [*self.model.named_parameters(), *self.model.named_buffers()]
        for name, tensor in tensors:
            h.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
            flat = tensor.detach().contiguous().reshape(-1).cpu()
            h.update(flat.view(torch.uint8).numpy() if flat.numel() else b"")
        return h.hexdigest()


def _token_ids(tokenizer: Any, text: str, special: bool) -> tuple[int, ...]:
    return tuple(tokenizer(text, add_special_tokens=special)["input_ids"])


def _limit(model: Any, tokenizer: Any) -> int | None:
    config = model.config.get_text_config()
    configured = [getattr(config, name, None) for name in ("max_position_embeddings", "n_positions", "n_ctx")]
    configured.append(getattr(tokenizer, "model_max_length", None))
    limits = [int(n) for n in configured if n and n < 10**9]  # tokenizers say 1e30 for "none"
    return min(limits) if limits else None
