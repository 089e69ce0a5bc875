"""The scorer: log-probabilities of targets after prompts, batched, the shared beginning of a probe's targets read once.

Every probe becomes a row: the tokens that all its targets share. One pass over the rows gives the probabilities of the
tokens that come next, and leaves a key-value cache from which the rest of longer targets is read in a second pass.
Models that take no ``position_ids``, and rows longer than a sliding attention window, are scored without sharing.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from evaluation.edits.routed_deltas import PromptRows, is_routed, tell_prompts_if
from evaluation.inference.prefix_cache import can_share
from evaluation.models.tokens.tokenization import EncodedPrompt, PromptTarget, common_prefix
from evaluation.models.transfers import send
from schemas.answers import Answer, NextTokens, TargetScore
from schemas.probes import ScoreProbe, instructed

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)

Rewrite = Callable[[str], str]

DECIMALS = 5
"""Decimals of the log-probabilities of most probable tokens that are stored."""

CHUNK = 512
"""Places whose logits are held at once: bounds the [places, vocabulary] block in memory."""


class _Target(NamedTuple):
    """One target to score: ``slot`` is (probe, target), ``ids`` the sequence, ``first`` the target's first token."""

    slot: tuple[int, int]
    ids: tuple[int, ...]
    first: int
    greedy: bool = False
    top: int = 0


class _TargetRow(NamedTuple):
    prefix: tuple[int, ...]
    targets: tuple[_Target, ...]


class TokenRead(NamedTuple):
    """Read the log-probability of ``token`` at ``position`` of batch row ``row``, and add it to ``slot``.

    ``greedy``: also whether another token is more probable there. ``top``: also so many of the most probable tokens.
    """

    row: int
    position: int
    token: int
    slot: tuple[int, int]
    greedy: bool = False
    top: int = 0


class TopBlock(NamedTuple):
    """The most probable tokens of some slots, on the device: ids and log-probabilities, [slots, tokens]."""

    slots: list[tuple[int, int]]
    ids: Tensor
    logprobs: Tensor


class TokenSums(NamedTuple):
    """What was read of every target, by (probe, target).

    Attributes:
        logprobs: Sums of log-probabilities (nats).
        misses: The number of its tokens that are not the most probable ones, of targets that ask for it.
        tops: The most probable tokens at its first place, of targets that ask for them.
    """

    logprobs: dict[tuple[int, int], float]
    misses: Counter[tuple[int, int]]
    tops: dict[tuple[int, int], NextTokens]

    @classmethod
    def of(cls, slots: Iterable[tuple[int, int]]) -> TokenSums:
        """Nothing read yet."""
        return cls(dict.fromkeys(slots, 0.0), Counter(), {})

    def add(self, slot: tuple[int, int], logprob: float, miss: float) -> None:
        """Take in one token."""
        self.logprobs[slot] += logprob
        if miss:
            self.misses[slot] += 1

    def add_tops(self, blocks: Iterable[TopBlock]) -> None:
        """Take in most probable tokens: best first, equal ones by id, log-probabilities to ``DECIMALS`` decimals."""
        for block in blocks:
            for slot, ids, values in zip(block.slots, block.ids.tolist(), block.logprobs.tolist(), strict=True):
                ranked = sorted(
                    zip([round(v, DECIMALS) for v in values], ids, strict=True), key=lambda x: (-x[0], x[1])
                )
                self.tops[slot] = NextTokens(ids=tuple(i for _, i in ranked), logprobs=tuple(v for v, _ in ranked))


class UnscorableProbe(ValueError):
    """Why a probe cannot be scored; becomes the answer's ``error``."""


def score(
    lm: LM, probes: Sequence[ScoreProbe], *, rewrite: Rewrite | None = None, batch_tokens: int = 4096
) -> list[Answer]:
    """Log P(target | prompt) of every target of every probe, in the order given.

    Sums are in nats, from a float32 log-softmax. A prompt that is too long loses tokens at its front and is marked
    ``truncated``; what cannot be scored has an ``error``. Equal probes are computed once.

    Args:
        lm: The model as it stands.
        probes: What to ask.
        rewrite: Changes every prompt first (an edit that lives in the prompt).
        batch_tokens: The most tokens, padding included, in one forward pass (a single longer probe runs alone).
    """
    by_id = {probe.id: probe for probe in probes}
    prompts = prompts_of(by_id.values(), rewrite)
    lm.encodings.add(targets_of(by_id.values(), prompts))
    order = list(by_id)
    groups: list[list[_Target]] = []
    counts: dict[tuple[int, int], int] = {}
    failed: dict[int, str] = {}
    cut: set[int] = set()
    straddled = 0
    for i, key in enumerate(order):
        try:
            targets, truncated = encode_probe(lm, by_id[key], prompts[key])
        except UnscorableProbe as error:
            failed[i] = str(error)
            continue
        straddled += sum(t.straddles for t in targets)
        if truncated:
            cut.add(i)
        greedy, top = by_id[key].greedy, by_id[key].top
        placed = [_Target((i, j), t.ids, t.first, greedy, 0 if j else top) for j, t in enumerate(targets)]
        counts.update({t.slot: len(t.ids) - t.first for t in placed})
        groups.append(placed)
    if straddled:
        log.info("%d targets share their first token with visible characters of the prompt", straddled)
    sums = TokenSums.of(counts)
    for batch in _batches(_rows(lm, groups), batch_tokens):
        tokens: list[TopBlock] = []
        for slot, value, miss in _run(lm, batch, tokens):
            sums.add(slot, value, miss)
        sums.add_tops(tokens)
    answers = {}
    for i, key in enumerate(order):
        answers[key] = make_answer(by_id[key], i, sums=sums, counts=counts, error=failed.get(i), truncated=i in cut)
    return [answers[probe.id] for probe in probes]


def make_answer(
    probe: ScoreProbe,
    i: int,
    *,
    sums: TokenSums,
    counts: Mapping[tuple[int, int], int],
    error: str | None,
    truncated: bool,
) -> Answer:
    """The answer to probe number ``i``, from what was read and token counts by (probe, target)."""
    if error:
        return Answer(probe=probe.id, error=error, truncated=truncated)
    values = [sums.logprobs[i, j] for j in range(len(probe.targets))]
    if not all(map(math.isfinite, values)):
        return Answer(probe=probe.id, error="the model's log-probabilities are not finite", truncated=truncated)
    scores = tuple(
        TargetScore(
            text=text,
            logprob=values[j],
            tokens=counts[i, j],
            greedy=not sums.misses[i, j] if probe.greedy else None,
            matched=counts[i, j] - sums.misses[i, j] if probe.greedy and probe.matches else None,
        )
        for j, text in enumerate(probe.targets)
    )
    return Answer(probe=probe.id, targets=scores, truncated=truncated, next_tokens=sums.tops.get((i, 0)))


def prompts_of(probes: Iterable[ScoreProbe], rewrite: Rewrite | None) -> dict[str, str]:
    """The prompt of every probe, by its id, as the edit wants it, with its instruction."""
    return {probe.id: instructed(probe, rewrite) for probe in probes}


def targets_of(probes: Iterable[ScoreProbe], prompts: Mapping[str, str]) -> Iterator[PromptTarget]:
    """What is tokenised for probes with these prompts."""
    return (PromptTarget(prompts[p.id], target, p.separator) for p in probes for target in p.targets)


def encode_probe(lm: LM, probe: ScoreProbe, prompt: str) -> tuple[list[EncodedPrompt], bool]:
    """A probe's targets after its prompt as tokens, cut at the front where the model cannot read them whole."""
    try:
        targets = [lm.encode(prompt, target, separator=probe.separator) for target in probe.targets]
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


def _rows(lm: LM, groups: list[list[_Target]]) -> list[_TargetRow]:
    """One row a group where its targets can share their beginning, else one row a target.

    Under a routed edit a shared beginning holds the whole prompt: what is decided on it holds for all its targets.
    """
    routed = is_routed(lm.model)
    sharing = can_share(lm, max((len(t.ids) for targets in groups for t in targets), default=0))
    rows: list[_TargetRow] = []
    for targets in groups:
        shared = min(common_prefix([t.ids for t in targets]), min(len(t.ids) for t in targets) - 1)
        whole = not routed or (len({t.first for t in targets}) == 1 and shared >= targets[0].first)
        if sharing and len(targets) > 1 and shared > 0 and whole:
            rows.append(_TargetRow(targets[0].ids[:shared], tuple(targets)))
        else:
            rows += [_TargetRow(t.ids[:-1], (t,)) for t in targets]
    return rows


def _batches(rows: list[_TargetRow], batch_tokens: int) -> Iterator[list[_TargetRow]]:
    """Rows of like length together, so that little is padded."""
    batch: list[_TargetRow] = []
    for row in sorted(rows, key=lambda r: len(r.prefix)):
        if batch and (len(batch) + 1) * len(row.prefix) > batch_tokens:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


@torch.no_grad()
def _run(lm: LM, batch: list[_TargetRow], tops: list[TopBlock]) -> Iterator[tuple[tuple[int, int], float, float]]:
    ids, mask = lm.pad([row.prefix for row in batch])
    reads = [
        TokenRead(r, i - 1, t.ids[i], t.slot, t.greedy, t.top if i == t.first else 0)
        for r, row in enumerate(batch)
        for t in row.targets
        for i in range(t.first, len(t.ids))
        if i - 1 < len(row.prefix)
    ]
    longer = [(r, t) for r, row in enumerate(batch) for t in row.targets if len(t.ids) - 1 > len(row.prefix)]
    routed = is_routed(lm.model)
    prompts = PromptRows.of([row.targets[0].first for row in batch], lm.device) if routed else None
    with tell_prompts_if(lm.model, prompts):
        past, hidden = _forward(lm, ids, mask, cache=bool(longer))
    yield from gather(lm, hidden, reads, tops)
    if not longer:
        return
    del hidden
    origin = torch.tensor([r for r, _ in longer], device=lm.device)
    for layer in past.layers:
        layer.batch_select_indices(origin.to(layer.keys.device))
    starts = torch.tensor([len(batch[r].prefix) for r, _ in longer], device=lm.device)
    tails, tail_mask = lm.pad([t.ids[len(batch[r].prefix) : -1] for r, t in longer])
    reads = [
        TokenRead(n, i - 1 - len(batch[r].prefix), t.ids[i], t.slot, t.greedy, t.top if i == t.first else 0)
        for n, (r, t) in enumerate(longer)
        for i in range(max(t.first, len(batch[r].prefix) + 1), len(t.ids))
    ]
    places = starts[:, None] + torch.arange(tails.shape[1], device=lm.device)
    if lm.limit:  # padding may stand beyond the last position that the model knows
        places = places.clamp(max=lm.limit - 1)
    with tell_prompts_if(lm.model, None if prompts is None else prompts.after(origin)):
        _, hidden = _forward(lm, tails, torch.cat([mask[origin], tail_mask], dim=1), past=past, places=places)
    yield from gather(lm, hidden, reads, tops)


def _forward(
    lm: LM, ids: Tensor, mask: Tensor, *, cache: bool = False, past: Any = None, places: Tensor | None = None
) -> tuple[Any, Tensor]:
    """Key-value cache (or None), and hidden states [rows, positions, width]; logits where the head is not plain."""
    more: dict[str, Any] = {} if places is None else {"position_ids": places}
    if past is not None:
        more["past_key_values"] = past
    elif lm.layout.positions:
        more["position_ids"] = torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
    run = lm.module(lm.layout.base) if lm.layout.plain_head else lm.model
    out = run(input_ids=ids, attention_mask=mask, use_cache=cache or past is not None, **more)
    return (out.past_key_values if cache else None), (out.last_hidden_state if lm.layout.plain_head else out.logits)


def gather(
    lm: LM, hidden: Tensor, reads: list[TokenRead], tops: list[TopBlock]
) -> Iterator[tuple[tuple[int, int], float, float]]:
    """Slots, log-probabilities of the wanted tokens, and misses; the head runs on the wanted positions only."""
    for slots, values in gather_on_device(lm, hidden, reads, tops):
        yield from zip(slots, *values.tolist(), strict=True)


def gather_on_device(
    lm: LM, hidden: Tensor, reads: Sequence[TokenRead], tops: list[TopBlock]
) -> Iterator[tuple[list[tuple[int, int]], Tensor]]:
    """As ``gather``, some hundred slots at a time, their values still on the device: nothing waits for them.

    Values are float32, [2, slots]: log-probabilities, and 1 where another token is more probable than the wanted one (0
    throughout where no read asks for it). Most probable tokens that are asked for are added to ``tops``.
    """
    places = sorted({(r.row, r.position) for r in reads})
    index = {place: n for n, place in enumerate(places)}
    chunks: list[list[TokenRead]] = [[] for _ in range(0, len(places), CHUNK)]
    for read in reads:
        chunks[index[read.row, read.position] // CHUNK].append(read)
    for n, wanted in enumerate(chunks):
        chunk = places[n * CHUNK : (n + 1) * CHUNK]
        rows, positions = send(list(zip(*chunk, strict=True)), hidden.device)
        states = hidden[rows, positions]
        logits = lm.module(lm.layout.head)(states) if lm.layout.plain_head else states
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
    """The most probable tokens of the reads that ask for some; ``logprobs`` [places, vocabulary], ``at`` [reads]."""
    blocks = []
    for many in sorted({read.top for read in wanted if read.top}):
        places = [n for n, read in enumerate(wanted) if read.top == many]
        best = logprobs[at[send(places, at.device)]].topk(min(many, logprobs.shape[-1]))
        blocks.append(TopBlock([wanted[n].slot for n in places], best.indices, best.values))
    return blocks
