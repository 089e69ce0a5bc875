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
from evaluation.edits.routed_deltas import PromptRows, is_routed, tell_prompts_if
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.batching import SHARE, TokenBudget, in_batches
from evaluation.inference.passes import logits_at
from evaluation.inference.prefix_cache import Prefix, can_share, read_prefix
from evaluation.inference.stopping import StopCheck, TextEnding
from evaluation.inference.token_tree import additive_mask, takes_masks
from evaluation.models.device_memory import least_free_bytes
from evaluation.models.packed_weights import packed_weights
from evaluation.models.transfers import send
from schemas.core.errors import UserError
from schemas.probes import ThoughtAsked

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

CPU_ROOM = 2**29
"""Bytes of keys and values held at once on a CPU."""


class Sampling(NamedTuple):
    """How tokens are chosen and when a text ends.

    Attributes:
        max_tokens: The most new tokens.
        temperature: 0 takes the likeliest token.
        top_p: Draw among the likeliest tokens of this joint probability.
        stop: Texts at which a continuation ends; they are cut off.
        thought: Where the model may think first; ``max_tokens`` and ``stop`` are then those of the answer.
    """

    max_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    stop: tuple[str, ...] = ()
    thought: ThoughtAsked | None = None

    @property
    def longest(self) -> int:
        """The most new tokens, those of thoughts among them."""
        return self.max_tokens + (0 if self.thought is None else self.thought.most)


class PromptToContinue(NamedTuple):
    """A text to be continued.

    Attributes:
        text: It; special tokens as the tokenizer adds them.
        edit: Number of its edit; -1 for none.
        seed: Of its draws.
        opened: The opening mark of a thought that the text ends with; the continuation's text begins with it.
    """

    text: str
    edit: int = -1
    seed: int = 0
    opened: str = ""


class Continuation(NamedTuple):
    """A continuation: its text without the stop, its tokens, and why it ended: ``eos``, ``stop`` or ``length``.

    The marks of thoughts stand in the text.
    """

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
    rows = lm.encodings.texts([p.text for p in prompts], special=special)
    for prompt, ids in zip(prompts, rows, strict=True):
        if not ids:
            raise UserError("there is nothing to continue", where=repr(prompt.text))
        if lm.limit and len(ids) >= lm.limit:
            raise UserError(f"the prompt leaves no room in the {lm.limit} tokens that the model reads")
    per_row = PerRow(lm.model, edits)
    jobs = list(zip(prompts, rows, strict=True))

    def run(batch: list[tuple[PromptToContinue, tuple[int, ...]]]) -> list[Continuation]:
        return _GenerationBatch(lm, per_row, batch, sampling).run()

    with packed_weights(lm):
        return in_batches(jobs, lambda job: len(job[1]) + sampling.longest, run, budget or writing_budget(lm))


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
    heads_of_keys = int(getattr(config, "num_key_value_heads", None) or heads)
    return heads_of_keys * int(getattr(config, "head_dim", None) or width // heads)


class _GenerationBatch:
    """Rows that grow together; a finished one leaves.

    Tokens stay on the device from step to step; the host reads them once a step, to see which rows have ended.
    """

    def __init__(
        self, lm: LM, edits: PerRow, jobs: list[tuple[PromptToContinue, tuple[int, ...]]], sampling: Sampling
    ) -> None:
        self.lm, self.edits, self.sampling = lm, edits, sampling
        self.prompts = [prompt for prompt, _ in jobs]
        self.rows = [list(ids) for _, ids in jobs]
        self.new: list[list[int]] = [[] for _ in jobs]
        self.draws = [torch.Generator().manual_seed(p.seed) for p in self.prompts]
        self.stops = StopCheck(lm, max_tokens=sampling.max_tokens, stop=sampling.stop, thought=sampling.thought)
        self.watches = [self.stops.watch(prompt.opened) for prompt in self.prompts]
        longest = max(map(len, self.rows)) + sampling.longest
        self.cached = can_share(lm, longest)
        self.routed = edits.is_routed or is_routed(lm.model)
        self.asked: PromptRows | None = None  # what gates decided on the open rows' prompts
        self.masked = self.cached and takes_masks(lm)

    @torch.no_grad()
    def run(self) -> list[Continuation]:
        """Continuations in the order of the jobs."""
        done: dict[int, Continuation] = {}
        open_ = list(range(len(self.rows)))
        prefix: Prefix | None = None
        last: Tensor | None = None
        while open_:
            with ExitStack() as stack:
                self._on(open_, stack)
                staying = open_
                while staying == open_:  # the edits of rows are gathered anew only when rows have left
                    if prefix is None or last is None or not self.cached:
                        prefix, logits = self._begin(open_)
                    else:
                        prefix, logits = self._advance(prefix, last, padded=self._padded(open_))
                    last, tokens = self._choose(logits, open_)
                    staying = self._staying(open_, tokens, done)
            if self.cached and staying and prefix is not None and last is not None:
                staying_rows = send([n for n, row in enumerate(open_) if row in set(staying)], self.lm.device)
                prefix, last = prefix.select(staying_rows), last[staying_rows]
                self.asked = None if self.asked is None else self.asked.after(staying_rows)
            open_ = staying
        return [done[n] for n in range(len(self.rows))]

    def _staying(self, open_: list[int], tokens: list[int], done: dict[int, Continuation]) -> list[int]:
        """The rows that go on after their new tokens; the others' texts are put down."""
        staying = []
        for n, token in zip(open_, tokens, strict=True):
            self.new[n].append(token)
            ended = self._ending(n)
            if ended is None:
                staying.append(n)
            else:
                done[n] = Continuation(ended.text, tuple(self.new[n]), ended.reason)
        return staying

    def _ending(self, n: int) -> TextEnding | None:
        """What a row has come to after its newest token."""
        new, prompt, watch = self.new[n], len(self.rows[n]), self.watches[n]
        if watch is None:
            return self.stops.ended(new, prompt=prompt)
        return self.stops.ended_watched(watch, new, prompt=prompt)

    def _on(self, open_: list[int], stack: ExitStack) -> None:
        numbers = [self.prompts[n].edit for n in open_]
        if any(n >= 0 for n in numbers):
            stack.enter_context(self.edits.on(numbers))

    def _padded(self, open_: list[int]) -> bool:
        return len({len(self.rows[n]) for n in open_}) > 1

    def _begin(self, open_: list[int]) -> tuple[Prefix, Tensor]:
        """Read whole rows; where they can be continued from a cache, all but their last tokens fill it."""
        texts = [[*self.rows[n], *self.new[n]] for n in open_]
        if self.routed:
            return self._begin_routed(open_, texts)
        if self.cached:
            if max(map(len, texts)) == 1:  # there is nothing before the last tokens
                return self._alone([ids[-1] for ids in texts])
            prefix = read_prefix(self.lm, [ids[:-1] for ids in texts])
            return self._advance(prefix, send([ids[-1] for ids in texts], self.lm.device), padded=self._padded(open_))
        ids, mask = self.lm.pad(texts)
        logits = logits_at(self.lm, ids, mask, range(len(texts)), [len(t) - 1 for t in texts])
        return Prefix(None, mask, mask.sum(1)), logits

    def _begin_routed(self, open_: list[int], texts: list[list[int]]) -> tuple[Prefix, Tensor]:
        """Read whole rows in one pass, prompts and all: a gate decides on all tokens of a prompt."""
        lm, last = self.lm, [len(text) - 1 for text in texts]
        open_rows = PromptRows.of([len(self.rows[n]) for n in open_], lm.device)
        ids, mask = lm.pad(texts)
        with tell_prompts_if(lm.model, open_rows):
            if not self.cached:
                return Prefix(None, mask, mask.sum(1)), logits_at(lm, ids, mask, range(len(texts)), last)
            places = torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
            run = lm.module(lm.layout.base) if lm.layout.plain_head else lm.model
            out = run(input_ids=ids, attention_mask=mask, position_ids=places, use_cache=True)
        self.asked = open_rows.after()
        all_states = out.last_hidden_state if lm.layout.plain_head else out.logits
        states = all_states[send(list(range(len(texts))), all_states.device), send(last, all_states.device)]
        logits = lm.module(lm.layout.head)(states) if lm.layout.plain_head else states
        return Prefix(out.past_key_values, mask, mask.sum(1)), logits.float()

    def _alone(self, last: list[int]) -> tuple[Prefix, Tensor]:
        """Rows of one token: they begin the cache."""
        ids = send(last, self.lm.device)[:, None]
        mask = torch.ones_like(ids)
        out = self.lm.model(input_ids=ids, attention_mask=mask, position_ids=torch.zeros_like(ids), use_cache=True)
        return Prefix(out.past_key_values, mask, mask.sum(1)), out.logits[:, -1].float()

    def _advance(self, prefix: Prefix, last: Tensor, *, padded: bool) -> tuple[Prefix, Tensor]:
        """Read one more token a row, [rows]; the cache grows by it.

        The decoder is given the mask as its attention adds it, or none where there is no padding: of a plain one it
        would ask on the host, once a token, whether there is padding.
        """
        lm = self.lm
        ids = last[:, None]
        one = torch.ones_like(ids)
        more: dict[str, Any] = prefix.arguments(one, limit=lm.limit)
        with tell_prompts_if(lm.model, self.asked):
            return self._step(prefix, ids, more, padded=padded)

    def _step(self, prefix: Prefix, ids: Tensor, more: dict[str, Any], *, padded: bool) -> tuple[Prefix, Tensor]:
        lm, one = self.lm, torch.ones_like(ids)
        if self.masked:
            seen = more["attention_mask"].bool()[:, None]
            more["attention_mask"] = additive_mask(seen, lm.dtype) if padded else None
        if lm.layout.plain_head:
            hidden = lm.module(lm.layout.base)(input_ids=ids, **more).last_hidden_state[:, -1]
            logits = lm.module(lm.layout.head)(hidden)
        else:
            logits = lm.model(input_ids=ids, **more).logits[:, -1]
        grown = Prefix(more["past_key_values"], torch.cat([prefix.mask, one], 1), prefix.lengths + 1)
        return grown, logits.float()

    def _choose(self, logits: Tensor, open_: list[int]) -> tuple[Tensor, list[int]]:
        """The next token of every row, on the device and read; it is waited for once, however many rows there are."""
        if self.sampling.temperature <= 0:
            chosen = logits.argmax(-1).to(self.lm.device)
            return chosen, [int(token) for token in chosen.tolist()]
        drawn = [self._draw(row, n) for row, n in zip(logits.cpu(), open_, strict=True)]
        return send(drawn, self.lm.device), drawn

    def _draw(self, logits: Tensor, n: int) -> int:
        """A token drawn on the CPU by the row's own generator, so that it hangs on no device and no other row."""
        chances = (logits / self.sampling.temperature).softmax(-1)
        if self.sampling.top_p < 1:
            ordered, index = chances.sort(descending=True)
            ordered[ordered.cumsum(0) - ordered >= self.sampling.top_p] = 0.0
            chances = torch.zeros_like(chances).scatter_(0, index, ordered)
        return int(torch.multinomial(chances, 1, generator=self.draws[n]))
