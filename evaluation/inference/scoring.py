"""The reference scorer: log-probabilities of targets after prompts, one sequence a row, edits applied to the weights.

What is encoded, read and put together here also serves ``evaluation.inference.batched_scoring``.
"""

from __future__ import annotations

import logging
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from evaluation.edits.routed_deltas import PromptRows, is_routed, tell_prompts_if
from evaluation.inference.batching import pack_batches
from evaluation.models.devices import send
from evaluation.models.tokenization import EncodedPrompt
from schemas.answers import Answer, NextTokens, TargetScore
from schemas.probes import ScoreProbe, chat_turns, instructed

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)

Rewrite = Callable[[str], str]
Slot = tuple[int, int, int]
"""A target: number of its edit, of its probe, and its own number there."""

DECIMALS = 5
"""Decimals of the log-probabilities of most probable tokens that are stored."""

CHUNK = 512
"""Positions whose logits are in memory at once: bounds the [positions, vocabulary] block."""


class TokenRead(NamedTuple):
    """Read the log-probability of ``token`` at ``position`` of batch row ``row``, and add it to ``slot``.

    ``greedy``: also whether another token is more probable there. ``top``: also so many of the most probable tokens.
    """

    row: int
    position: int
    token: int
    slot: Slot
    greedy: bool = False
    top: int = 0


class TopBlock(NamedTuple):
    """The most probable tokens of some slots, on the device: ids and log-probabilities, [slots, tokens]."""

    slots: list[Slot]
    ids: Tensor
    logprobs: Tensor


class TokenSums:
    """What was read of every target.

    Attributes:
        logprobs: Sums of log-probabilities (nats).
        misses: How many of its tokens are not the most probable ones, for targets that ask for it.
        top_blocks: The most probable tokens at first positions, as they were read.
    """

    def __init__(self) -> None:
        self.logprobs: dict[Slot, float] = defaultdict(float)
        self.misses: Counter[Slot] = Counter()
        self.top_blocks: list[TopBlock] = []

    def add(self, slots: Sequence[Slot], logprobs: Sequence[float], misses: Sequence[float]) -> None:
        """Add the values of some tokens."""
        for slot, logprob, miss in zip(slots, logprobs, misses, strict=True):
            self.logprobs[slot] += logprob
            self.misses[slot] += int(miss)

    @cached_property
    def next_tokens(self) -> dict[Slot, NextTokens]:
        """The most probable tokens: best first, equal ones by id, log-probabilities to ``DECIMALS`` decimals."""
        tokens: dict[Slot, NextTokens] = {}
        for block in self.top_blocks:
            for slot, ids, values in zip(block.slots, block.ids.tolist(), block.logprobs.tolist(), strict=True):
                pairs = zip([round(value, DECIMALS) for value in values], ids, strict=True)
                ranked = sorted(pairs, key=lambda pair: (-pair[0], pair[1]))
                tokens[slot] = NextTokens(ids=tuple(i for _, i in ranked), logprobs=tuple(v for v, _ in ranked))
        return tokens


class UnscorableProbe(ValueError):
    """Why a probe cannot be scored; becomes the answer's ``error``."""


def score(
    lm: LM, probes: Sequence[ScoreProbe], *, rewrite: Rewrite | None = None, batch_tokens: int = 4096
) -> list[Answer]:
    """Log P(target | prompt) of every target of every probe, in the order given. The reference: one sequence a row.

    Sums are in nats, from a float32 log-softmax. A prompt that is too long loses tokens at its front and is marked
    ``truncated``; what cannot be scored has an ``error``. Equal probes are computed once.

    Args:
        lm: The model as it is: inside ``edit.on(lm)`` the edited one.
        probes: What to score.
        rewrite: Changes every prompt first (an edit that lives in the prompt).
        batch_tokens: Most tokens, padding included, in one forward pass (a single longer probe runs alone).
    """
    (encoded,), sums = encode_probes(lm, [(probes, rewrite)]), TokenSums()
    rows = [(slot, target) for slot, target in encoded.targets.items()]
    routed = is_routed(lm.model)
    for batch in pack_batches(rows, lambda row: len(row[1].ids) - 1, batch_tokens):
        ids, mask = lm.pad([target.ids[:-1] for _, target in batch])
        prompts = PromptRows.of([target.first for _, target in batch], lm.device) if routed else None
        reads = [
            read._replace(row=n)
            for n, (slot, target) in enumerate(batch)
            for read in reads_of(target, slot, encoded.probes[slot[1]])
        ]
        with torch.no_grad(), tell_prompts_if(lm.model, prompts):
            run = lm.module(lm.layout.base) if lm.layout.plain_head else lm.model
            out = run(input_ids=ids, attention_mask=mask, use_cache=False)
            hidden = out.last_hidden_state if lm.layout.plain_head else out.logits
            for slots, values in gather_on_device(lm, hidden, reads, sums.top_blocks):
                sums.add(slots, *values.tolist())
    answers = encoded.answers(sums)
    return [answers[probe.id] for probe in probes]


class EncodedProbes:
    """The probes of one edit as tokens.

    Args:
        lm: The model.
        probes: Different probes.
        rewrite: The edit's way with prompts.
        edit: Number of the edit.

    Attributes:
        probes: The probes by their number.
        targets: Every target that can be scored.
    """

    def __init__(self, lm: LM, probes: Sequence[ScoreProbe], rewrite: Rewrite | None, edit: int) -> None:
        self.edit = edit
        self.probes = list(probes)
        self.targets: dict[Slot, EncodedPrompt] = {}
        self._errors: dict[int, str] = {}
        self._truncated: set[int] = set()
        for i, probe in enumerate(self.probes):
            try:
                targets, truncated = encode_probe(lm, probe, rewrite)
            except UnscorableProbe as error:
                self._errors[i] = str(error)
                continue
            if truncated:
                self._truncated.add(i)
            self.targets.update({(edit, i, j): target for j, target in enumerate(targets)})
        straddled = sum(target.straddles for target in self.targets.values())
        if straddled:
            log.info("%d targets share their first token with visible characters of the prompt", straddled)

    def answers(self, sums: TokenSums) -> dict[str, Answer]:
        """The answers by id of their probe, from what was read."""
        return {probe.id: self._answer(probe, i, sums) for i, probe in enumerate(self.probes)}

    def _answer(self, probe: ScoreProbe, i: int, sums: TokenSums) -> Answer:
        truncated = i in self._truncated
        if error := self._errors.get(i):
            return Answer(probe=probe.id, error=error, truncated=truncated)
        scores = []
        for j, text in enumerate(probe.targets):
            slot = (self.edit, i, j)
            target, logprob, misses = self.targets[slot], sums.logprobs[slot], sums.misses[slot]
            if not math.isfinite(logprob):
                return Answer(probe=probe.id, error="the model's log-probabilities are not finite", truncated=truncated)
            tokens = len(target.ids) - target.first
            greedy = not misses if probe.greedy else None
            matched = tokens - misses if probe.greedy and probe.matches else None
            scores.append(TargetScore(text=text, logprob=logprob, tokens=tokens, greedy=greedy, matched=matched))
        next_tokens = sums.next_tokens.get((self.edit, i, 0))
        return Answer(probe=probe.id, targets=tuple(scores), truncated=truncated, next_tokens=next_tokens)


def encode_probes(lm: LM, edited: Sequence[tuple[Sequence[ScoreProbe], Rewrite | None]]) -> list[EncodedProbes]:
    """The probes of every edit as tokens; equal probes of an edit become one.

    Args:
        lm: The model.
        edited: Probes, and the edit's way with prompts.
    """
    return [
        EncodedProbes(lm, list({probe.id: probe for probe in probes}.values()), rewrite, n)
        for n, (probes, rewrite) in enumerate(edited)
    ]


def reads_of(target: EncodedPrompt, slot: Slot, probe: ScoreProbe) -> list[TokenRead]:
    """What is read of one target, in row 0: its tokens, each after the position before it."""
    top = 0 if slot[2] else probe.top
    return [
        TokenRead(0, i - 1, target.ids[i], slot, probe.greedy, top if i == target.first else 0)
        for i in range(target.first, len(target.ids))
    ]


def encode_probe(lm: LM, probe: ScoreProbe, rewrite: Rewrite | None) -> tuple[list[EncodedPrompt], bool]:
    """A probe's targets after its prompt as tokens, cut at the front where the model cannot read them whole."""
    prompt, separator = instructed(probe, rewrite), probe.separator
    if probe.chat:
        if not lm.has_chat:
            raise UnscorableProbe("the model's tokenizer has no chat template")
        turns = chat_turns(probe, rewrite)
        prompt, separator = lm.chat(turns.user, thinking=False) + turns.reply, turns.separator
    try:
        targets = [lm.encode(prompt, text, separator=separator, special=not probe.chat) for text in probe.targets]
    except ValueError as error:
        raise UnscorableProbe(str(error)) from None
    if any(t.first == 0 for t in targets):
        raise UnscorableProbe("no token stands before the target")
    longest = max(len(t.ids) for t in targets)
    surplus = longest - lm.limit if lm.limit else 0
    if surplus <= 0:
        return targets, False
    front = targets[0].specials
    if any(t.first - surplus <= front for t in targets):
        raise UnscorableProbe(f"the target alone is longer than the {lm.limit} tokens that the model reads")
    return [
        EncodedPrompt(t.ids[:front] + t.ids[front + surplus :], t.first - surplus, t.specials, t.straddles)
        for t in targets
    ], True


def gather_on_device(
    lm: LM,
    hidden: Tensor,
    reads: Sequence[TokenRead],
    tops: list[TopBlock],
    *,
    head_edits: Callable[[Sequence[int]], AbstractContextManager[None]] = lambda rows: nullcontext(),
) -> Iterator[tuple[list[Slot], Tensor]]:
    """Log-probabilities of the wanted tokens; the head runs at the scored positions only, ``CHUNK`` of them at a time.

    Values stay on the device, so nothing waits for them: float32 [2, slots], log-probabilities, and 1 where another
    token is more probable than the wanted one (0 throughout if no read asks for it).

    Args:
        lm: The model.
        hidden: What the head reads, [rows, positions, width]; logits if the head is not plain.
        reads: What to read.
        tops: Takes the most probable tokens that reads ask for.
        head_edits: Given the row of every state that the head reads: has each row's own edit of the head active.
    """
    positions = sorted({(r.row, r.position) for r in reads})
    index = {position: n for n, position in enumerate(positions)}
    chunks: list[list[TokenRead]] = [[] for _ in range(0, len(positions), CHUNK)]
    for read in reads:
        chunks[index[read.row, read.position] // CHUNK].append(read)
    for n, wanted in enumerate(chunks):
        rows, columns = zip(*positions[n * CHUNK : (n + 1) * CHUNK], strict=True)
        logits = hidden[tuple(send([rows, columns], hidden.device))]
        if lm.layout.plain_head:
            with head_edits(rows):
                logits = lm.module(lm.layout.head)(logits)
        logprobs = torch.log_softmax(logits.float(), dim=-1)
        at, tokens = send(
            [[index[r.row, r.position] - n * CHUNK for r in wanted], [r.token for r in wanted]], logprobs.device
        )
        picked = logprobs[at, tokens]
        misses = torch.zeros_like(picked)
        if any(r.greedy for r in wanted):
            misses = (logits.argmax(-1)[at] != tokens).to(picked.dtype)
        tops += _top_blocks(logprobs, at, wanted)
        yield [r.slot for r in wanted], torch.stack([picked, misses])


def _top_blocks(logprobs: Tensor, at: Tensor, wanted: Sequence[TokenRead]) -> list[TopBlock]:
    """The most probable tokens of the reads that ask for some; ``logprobs`` [positions, vocabulary], ``at`` [reads]."""
    blocks = []
    for many in sorted({read.top for read in wanted if read.top}):
        chosen = [n for n, read in enumerate(wanted) if read.top == many]
        best = logprobs[at[send(chosen, at.device)]].topk(min(many, logprobs.shape[-1]))
        blocks.append(TopBlock([wanted[n].slot for n in chosen], best.indices, best.values))
    return blocks
