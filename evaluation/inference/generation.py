"""Texts continued by the model, many at once, each row under its own edit; greedy or sampled from its own seed.

A row's text depends on its prompt, its edit and its seed only, not on what stands beside it: rows are sampled from
generators of their own, and greedy tokens equal those of a row alone except where the best two differ by less than
1e-4 in log-probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from evaluation.edits.per_row import PerRow
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.batching import SHARE, TokenBudget, in_batches
from evaluation.inference.passes import logits_at
from evaluation.inference.prefix_cache import Prefix, can_share, read_prefix
from evaluation.models.device_memory import least_free_bytes
from schemas.core.errors import UserError

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

CPU_ROOM = 2**29
"""Bytes of keys and values held at once on a CPU."""


class Sampling(NamedTuple):
    """How tokens are chosen and when a text ends.

    Attributes:
        max_tokens: The most new tokens.
        temperature: 0 takes the likeliest token. ``top_p``: draw among the likeliest tokens of this joint probability.
        stop: Texts at which a continuation ends; they are cut off.
    """

    max_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()


class PromptToContinue(NamedTuple):
    """A text to be continued (special tokens as the tokenizer adds them), the number of its edit (-1: none), a seed."""

    text: str
    edit: int = -1
    seed: int = 0


class Continuation(NamedTuple):
    """A continuation: its text without the stop, its tokens, and why it ended: ``eos``, ``stop`` or ``length``."""

    text: str
    ids: tuple[int, ...]
    ended: str


def generate(
    lm: LM,
    prompts: Sequence[PromptToContinue],
    *,
    edits: Sequence[Sequence[Delta]] = (),
    sampling: Sampling = Sampling(),  # noqa: B008 - a value
    budget: TokenBudget | None = None,
    special: bool = True,
) -> list[Continuation]:
    """Continue prompts.

    Args:
        lm: The model; its weights are not touched.
        prompts: What to continue.
        edits: Weight changes that prompts name by number.
        sampling: Options.
        budget: The most tokens, new ones included, held at once.
        special: Let the tokenizer add its special tokens (not for texts that a chat template has made).

    Raises:
        UserError: a prompt has no tokens, or leaves no room for new ones.
    """
    rows = [lm.tokenizer(p.text, add_special_tokens=special)["input_ids"] for p in prompts]
    for prompt, ids in zip(prompts, rows, strict=True):
        if not ids:
            raise UserError("there is nothing to continue", where=repr(prompt.text))
        if lm.limit and len(ids) >= lm.limit:
            raise UserError(f"the prompt leaves no room in the {lm.limit} tokens that the model reads")
    per_row = PerRow(lm.model, edits)
    jobs = list(zip(prompts, rows, strict=True))

    def run(batch: list[tuple[PromptToContinue, list[int]]]) -> list[Continuation]:
        return _GenerationBatch(lm, per_row, batch, sampling).run()

    return in_batches(jobs, lambda job: len(job[1]) + sampling.max_tokens, run, budget or writing_budget(lm))


def writing_budget(lm: LM) -> TokenBudget:
    """The most tokens whose keys and values are held at once: every step reads one token a row, so rows are cheap.

    A fixed memory on a CPU, a share of the free memory on CUDA; widths are those of the configuration.
    """
    config = lm.model.config.get_text_config()
    layers = getattr(config, "per_layer_config", None) or [config]  # heads may differ from layer to layer (Gemma 4)
    wide = max(_key_width(layer, lm.layout.width) for layer in layers)
    each = 2 * lm.layout.depth * wide * lm.dtype.itemsize
    room = CPU_ROOM
    if lm.device.type == "cuda":
        room = int(SHARE * least_free_bytes(lm.devices))
    return TokenBudget(max(256, room // (2 * each)))  # a cache that grows is copied, so it stands there twice


def _key_width(config: Any, width: int) -> int:
    """Entries of a token's keys in one layer, by its configuration."""
    heads = int(getattr(config, "num_attention_heads", None) or 1)
    kept = int(getattr(config, "num_key_value_heads", None) or heads)
    return kept * int(getattr(config, "head_dim", None) or width // heads)


class _GenerationBatch:
    """Rows that grow together; a finished one leaves."""

    def __init__(
        self, lm: LM, edits: PerRow, jobs: list[tuple[PromptToContinue, list[int]]], sampling: Sampling
    ) -> None:
        self.lm, self.edits, self.sampling = lm, edits, sampling
        self.prompts = [prompt for prompt, _ in jobs]
        self.rows = [list(ids) for _, ids in jobs]
        self.new: list[list[int]] = [[] for _ in jobs]
        self.draws = [torch.Generator().manual_seed(p.seed) for p in self.prompts]
        self.ends = _end_tokens(lm)
        longest = max(map(len, self.rows)) + sampling.max_tokens
        self.cached = can_share(lm, longest)

    @torch.no_grad()
    def run(self) -> list[Continuation]:
        """Continuations in the order of the jobs."""
        done: dict[int, Continuation] = {}
        open_ = list(range(len(self.rows)))
        prefix: Prefix | None = None
        while open_:
            if prefix is None or not self.cached:
                prefix, logits = self._begin(open_)
            else:
                prefix, logits = self._step(prefix, open_)
            kept = []
            for at, (n, token) in enumerate(zip(open_, self._choose(logits, open_), strict=True)):
                self.new[n].append(token)
                if (ended := self._ended(n)) is not None:
                    done[n] = ended
                else:
                    kept.append(at)
            if self.cached and len(kept) < len(open_) and kept:
                prefix = prefix.select(torch.tensor(kept, device=self.lm.device))
            open_ = [open_[at] for at in kept]
        return [done[n] for n in range(len(self.rows))]

    def _on(self, open_: list[int], stack: ExitStack) -> None:
        numbers = [self.prompts[n].edit for n in open_]
        if any(n >= 0 for n in numbers):
            stack.enter_context(self.edits.on(numbers))

    def _begin(self, open_: list[int]) -> tuple[Prefix, Tensor]:
        """Read whole rows; where they can be continued from a cache, all but their last tokens fill it."""
        texts = [[*self.rows[n], *self.new[n]] for n in open_]
        with ExitStack() as stack:
            self._on(open_, stack)
            if self.cached:
                if max(map(len, texts)) == 1:  # there is nothing before the last tokens
                    return self._alone([ids[-1] for ids in texts])
                prefix = read_prefix(self.lm, [ids[:-1] for ids in texts])
                return self._advance(prefix, [ids[-1] for ids in texts])
            ids, mask = self.lm.pad(texts)
            logits = logits_at(self.lm, ids, mask, range(len(texts)), [len(t) - 1 for t in texts])
            return Prefix(None, mask, mask.sum(1)), logits

    def _alone(self, last: list[int]) -> tuple[Prefix, Tensor]:
        """Rows of one token: they begin the cache."""
        ids = torch.tensor(last, device=self.lm.device)[:, None]
        mask = torch.ones_like(ids)
        out = self.lm.model(input_ids=ids, attention_mask=mask, position_ids=torch.zeros_like(ids), use_cache=True)
        return Prefix(out.past_key_values, mask, mask.sum(1)), out.logits[:, -1].float()

    def _step(self, prefix: Prefix, open_: list[int]) -> tuple[Prefix, Tensor]:
        with ExitStack() as stack:
            self._on(open_, stack)
            return self._advance(prefix, [self.new[n][-1] for n in open_])

    def _advance(self, prefix: Prefix, last: list[int]) -> tuple[Prefix, Tensor]:
        """Read one more token a row; the cache grows by it."""
        lm = self.lm
        ids = torch.tensor(last, device=lm.device)[:, None]
        one = torch.ones_like(ids)
        more: dict[str, Any] = prefix.arguments(one, limit=lm.limit)
        if lm.layout.plain_head:
            hidden = lm.module(lm.layout.base)(input_ids=ids, **more).last_hidden_state[:, -1]
            logits = lm.module(lm.layout.head)(hidden)
        else:
            logits = lm.model(input_ids=ids, **more).logits[:, -1]
        grown = Prefix(more["past_key_values"], torch.cat([prefix.mask, one], 1), prefix.lengths + 1)
        return grown, logits.float()

    def _choose(self, logits: Tensor, open_: list[int]) -> list[int]:
        """The next token of every row; the device is waited for once, however many rows there are."""
        if self.sampling.temperature <= 0:
            return [int(token) for token in logits.argmax(-1).tolist()]
        return [self._draw(row, n) for row, n in zip(logits.cpu(), open_, strict=True)]

    def _draw(self, logits: Tensor, n: int) -> int:
        """A token drawn on the CPU by the row's own generator, so that it hangs on no device and no other row."""
        chances = (logits / self.sampling.temperature).softmax(-1)
        if self.sampling.top_p < 1:
            ordered, index = chances.sort(descending=True)
            ordered[ordered.cumsum(0) - ordered >= self.sampling.top_p] = 0.0
            chances = torch.zeros_like(chances).scatter_(0, index, ordered)
        return int(torch.multinomial(chances, 1, generator=self.draws[n]))

    def _ended(self, n: int) -> Continuation | None:
        ids, tok = self.new[n], self.lm.tokenizer
        if ids[-1] in self.ends:
            return Continuation(tok.decode(ids[:-1], skip_special_tokens=True), tuple(ids), "eos")
        if self.sampling.stop:
            text = tok.decode(ids, skip_special_tokens=True)
            places = [at for stop in self.sampling.stop if (at := text.find(stop)) >= 0]
            if places:
                return Continuation(text[: min(places)], tuple(ids), "stop")
        room = self.lm.limit is not None and len(self.rows[n]) + len(ids) >= self.lm.limit
        if len(ids) >= self.sampling.max_tokens or room:
            return Continuation(tok.decode(ids, skip_special_tokens=True), tuple(ids), "length")
        return None


def _end_tokens(lm: LM) -> frozenset[int]:
    """Tokens that end a text: the tokenizer's, and those of the model's generation settings."""
    told = getattr(getattr(lm.model, "generation_config", None), "eos_token_id", None)
    listed = told if isinstance(told, (list, tuple)) else [told]
    return frozenset(i for i in (lm.tokenizer.eos_token_id, *listed) if i is not None)
