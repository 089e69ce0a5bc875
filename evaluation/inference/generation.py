"""Texts continued by ``model.generate``, many at once, each row under its own edit; greedy or sampled from a seed.

A row's text depends on its prompt, its edit and its seed only, not on the rows next to it: rows are sampled from
generators of their own, and greedy tokens equal those of a row alone unless the best two differ by less than 1e-4 in
log-probability.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessor, LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from evaluation.edits.per_row import PerRow
from evaluation.edits.routed_deltas import PromptRows, is_routed, tell_prompts_if
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.batching import SHARE, TokenBudget, in_batches
from evaluation.inference.text_ending import GrowingText, end_tokens
from evaluation.models.devices import least_free_bytes, send
from evaluation.models.packed_weights import packed_weights
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
    broken: bool = False  # whether the logits were not numbers: the text then says nothing


class _PromptRow(NamedTuple):
    prompt: PromptToContinue
    ids: tuple[int, ...]


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
    rows = [_PromptRow(prompt, lm.token_ids(prompt.text, special=special)) for prompt in prompts]
    for prompt, ids in rows:
        if not ids:
            raise UserError("there is nothing to continue", where=repr(prompt.text))
        if lm.limit and len(ids) >= lm.limit:
            raise UserError(f"the prompt leaves no room in the {lm.limit} tokens that the model reads")
    per_row, budget = PerRow(lm.model, edits), budget or writing_budget(lm)

    def run(batch: list[_PromptRow]) -> list[Continuation]:
        return _continue(lm, per_row, batch, sampling)

    texts: dict[int, Continuation] = {}
    with packed_weights(lm):
        for group in _groups(lm, rows, sampling, routed=per_row.is_routed):
            some = in_batches([rows[n] for n in group], lambda row: len(row.ids) + sampling.longest, run, budget)
            texts |= zip(group, some, strict=True)
    return [texts[n] for n in range(len(rows))]


def _groups(lm: LM, rows: Sequence[_PromptRow], sampling: Sampling, *, routed: bool) -> list[list[int]]:
    """Numbers of the rows that may share a batch: all, or only prompts of the same length if none may be padded.

    Padding on the left is invisible to a model that takes positions and keeps keys and values by position. A gate of a
    routed edit would read it, and it would use up the room of a model that reads few tokens.
    """
    longest = max((len(row.ids) for row in rows), default=0) + sampling.longest
    full = bool(lm.limit) and longest > (lm.limit or 0)
    if _has_cache(lm) and not routed and not is_routed(lm.model) and not full:
        return [list(range(len(rows)))] if rows else []
    by_length: dict[int, list[int]] = defaultdict(list)
    for n, row in enumerate(rows):
        by_length[len(row.ids)].append(n)
    return list(by_length.values())


def _has_cache(lm: LM) -> bool:
    """Whether the model continues rows from keys and values by position; else whole rows are read for every token."""
    return lm.layout.positions and not lm.layout.recurrent


def _continue(lm: LM, per_row: PerRow, batch: Sequence[_PromptRow], sampling: Sampling) -> list[Continuation]:
    """Continue the rows of one batch, padded on the left."""
    ids, mask = lm.pad([row.ids for row in batch], left=True)
    width = ids.shape[1]
    endings, broken = _RowEndings(lm, batch, sampling, width), _BrokenRows()
    gates = None
    if per_row.is_routed or is_routed(lm.model):
        gates = PromptRows.of([width] * len(batch), lm.device)
    config = GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=min(sampling.longest, lm.limit - width) if lm.limit else sampling.longest,
        do_sample=False,  # tokens are drawn by ``_RowSampler``
        eos_token_id=sorted(end_tokens(lm)) or None,
        pad_token_id=lm.tokenizer.pad_token_id or 0,
        use_cache=_has_cache(lm),
    )
    numbers = [row.prompt.edit for row in batch]
    with ExitStack() as stack:
        if any(n >= 0 for n in numbers):
            stack.enter_context(per_row.on(numbers))
        stack.enter_context(tell_prompts_if(lm.model, gates))
        stack.enter_context(_only_settings(lm.model, config))
        stack.callback(lm.module(lm.layout.head).register_forward_pre_hook(_in_one_piece).remove)
        lm.model.generate(
            input_ids=ids,
            attention_mask=mask,
            logits_processor=LogitsProcessorList(
                [broken, *processors(batch, sampling, width, gates if _has_cache(lm) else None)]
            ),
            stopping_criteria=StoppingCriteriaList([endings]),
        )
    rows = broken.rows()
    return [text._replace(broken=n in rows) for n, text in enumerate(endings.texts) if text is not None]


def _in_one_piece(_: Any, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The head's input, copied where it is a view of every row's last position.

    For such a view PyTorch copies the whole head once a row on a CPU: 57 s and 9 GB instead of 0.1 s for 20 rows and
    152,000 tokens in bfloat16.
    """
    return (args[0].contiguous(), *args[1:])


@contextmanager
def _only_settings(model: Any, config: GenerationConfig) -> Iterator[None]:
    """The model's own generation settings (penalties, forced tokens ...) do not count inside the block."""
    before = model.generation_config
    model.generation_config = config
    try:
        yield
    finally:
        model.generation_config = before


class _RowEndings(StoppingCriteria):
    """Ends every row by its own text; finished rows are padded until the last one ends.

    Attributes:
        texts: The rows' continuations; None while a row grows.
    """

    def __init__(self, lm: LM, batch: Sequence[_PromptRow], sampling: Sampling, width: int) -> None:
        self._width = width
        self._rows = [
            GrowingText(
                lm,
                max_tokens=sampling.max_tokens,
                stop=sampling.stop,
                thought=sampling.thought,
                opened=row.prompt.opened,
                prompt=len(row.ids),
            )
            for row in batch
        ]
        self.texts: list[Continuation | None] = [None] * len(batch)

    def __call__(self, input_ids: Tensor, scores: Any, **_: Any) -> Tensor:  # type: ignore[override]
        for n, ids in enumerate(input_ids[:, self._width :].tolist()):
            if self.texts[n] is None and (ended := self._rows[n].ended(ids)) is not None:
                self.texts[n] = Continuation(ended.text, tuple(ids), ended.reason)
        return send([text is not None for text in self.texts], input_ids.device).bool()


def processors(
    batch: Sequence[_PromptRow], sampling: Sampling, width: int, gates: PromptRows | None
) -> list[LogitsProcessor]:
    """What handles the logits of a pass: nothing for greedy rows of plain edits."""
    wanted: list[LogitsProcessor] = []
    if gates is not None:
        wanted.append(_AfterPrompts(gates))
    if sampling.temperature > 0:
        wanted.append(_RowSampler([row.prompt.seed for row in batch], sampling))
    return wanted


class _BrokenRows(LogitsProcessor):
    """Notes the rows whose logits are not numbers; on the model's device, so that no token waits for it."""

    _broken: Tensor | None = None

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:  # type: ignore[override]
        broken = scores.isnan().any(-1)
        self._broken = broken if self._broken is None else self._broken | broken
        return scores

    def rows(self) -> set[int]:
        """Their places in the batch."""
        return set() if self._broken is None else set(self._broken.nonzero()[:, 0].tolist())


class _AfterPrompts(LogitsProcessor):
    """After the pass that reads the prompts, the decisions of gates hold for their rows."""

    def __init__(self, gates: PromptRows) -> None:
        self._gates = gates

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:  # type: ignore[override]
        self._gates.lengths = None
        return scores


class _RowSampler(LogitsProcessor):
    """Draws every row's token on the CPU by a generator of its own, so that it depends on no device and no other row.

    The drawn token is the only one whose score stays finite.
    """

    def __init__(self, seeds: Sequence[int], sampling: Sampling) -> None:
        self._draws, self._sampling = [torch.Generator().manual_seed(seed) for seed in seeds], sampling

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:  # type: ignore[override]
        drawn = [self._draw(row, draws) for row, draws in zip(scores.cpu(), self._draws, strict=True)]
        index = send(drawn, scores.device)[:, None]
        return torch.full_like(scores, float("-inf")).scatter_(1, index, 0.0)

    def _draw(self, logits: Tensor, draws: torch.Generator) -> int:
        probabilities = (logits.float() / self._sampling.temperature).softmax(-1)
        if self._sampling.top_p < 1:
            ordered, index = probabilities.sort(descending=True)
            ordered[ordered.cumsum(0) - ordered >= self._sampling.top_p] = 0.0
            probabilities = torch.zeros_like(probabilities).scatter_(0, index, ordered)
        return int(torch.multinomial(probabilities, 1, generator=draws))


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
