"""Rows of a value search that go together in one pass, as tensors: built once, run at every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from evaluation.editors.locate_edit.search.passes import Stems
from evaluation.editors.locate_edit.search.rows import SearchRow, essence_reads
from evaluation.inference.partial_forward import LayerInput
from evaluation.inference.prefix_cache import Prefix
from evaluation.models.language_model import LM
from evaluation.models.processor.joint_pass import UpperRows
from evaluation.models.transfers import send


class SearchBatch(NamedTuple):
    """Rows of one pass; places count from the end of the prefix where there is one.

    Attributes:
        rows: The rows.
        ids: Their tokens, padded, [rows, longest].
        mask: Which are no padding.
        prefix: What the rows continue.
        requests: Number of every row's request in its group, [rows].
        subjects: Where δ is added, [rows].
        at: Row and place of every read, [reads, 2].
        reads: The same on the host: rows, places.
        lengths: Tokens of every row, padding apart.
        essence: Which reads are of the essence.
        goals: Token of every read, [reads]; -1 where the essence is read.
        shares: Share of every read, [reads].
        layer_input: Where passes start.
        held: Log-probabilities of the unedited model at the essence reads; None before the first pass.
        upper: How the model runs the rows from there on; None where that is not known.
        tried: Whether a pass has shown it.
    """

    rows: list[SearchRow]
    ids: Tensor
    mask: Tensor
    prefix: Prefix | None
    requests: Tensor
    subjects: Tensor
    at: Tensor
    reads: tuple[tuple[int, ...], tuple[int, ...]]
    lengths: tuple[int, ...]
    essence: Tensor
    goals: Tensor
    shares: Tensor
    layer_input: LayerInput
    held: Tensor | None = None
    upper: UpperRows | None = None
    tried: bool = False


class SearchReads(NamedTuple):
    """What is read of several batches, batch after batch.

    Attributes:
        requests: Number of every row's request, [rows].
        owners: That of every read, [reads].
        goals: As in a batch, [reads].
        shares: As in a batch, [reads].
        essence: As in a batch, counted over all reads.
        held: As in a batch; None where there is one batch without them.
    """

    requests: Tensor
    owners: Tensor
    goals: Tensor
    shares: Tensor
    essence: Tensor
    held: Tensor | None

    @classmethod
    def of(cls, batches: Sequence[SearchBatch]) -> SearchReads:
        """The reads of batches; of several, each must have its log-probabilities of the unedited model."""
        if len(batches) == 1:
            (b,) = batches
            return cls(b.requests, b.requests[b.at[:, 0]], b.goals, b.shares, b.essence, b.held)
        essence, begin = [], 0
        for batch in batches:
            essence.append(batch.essence + begin)
            begin += len(batch.goals)
        return cls(
            torch.cat([b.requests for b in batches]),
            torch.cat([b.requests[b.at[:, 0]] for b in batches]),
            torch.cat([b.goals for b in batches]),
            torch.cat([b.shares for b in batches]),
            torch.cat(essence),
            torch.cat([b.held for b in batches if b.held is not None]),
        )


Read = Callable[[Tensor, Tensor, Prefix | None], tuple[LayerInput, Tensor]]
"""Given ids, mask and what they continue: where passes start, and the output that is to be changed."""


def make_batch(
    lm: LM, rows: list[SearchRow], stems: Stems | None, position: Mapping[int, int], read: Read
) -> tuple[SearchBatch, Tensor]:
    """A batch of rows, and the unedited output that is to be changed, [rows, positions, width].

    Args:
        lm: The model.
        rows: The rows.
        stems: Where their beginnings are read; None: rows are run whole.
        position: Number of each request in its group.
        read: Runs the unedited model.
    """
    prefix = None
    pairs = [(row, 0 if stems is None else row.subject) for row in rows]
    if stems is not None and any(begin for _, begin in pairs):
        prefix = stems.continued([row.template for row in rows], [row.ids[:begin] for row, begin in pairs])
    ids, mask = lm.pad([row.ids[b:] for row, b in pairs])
    at, goals, shares = [], [], []
    for r, (row, begin) in enumerate(pairs):
        for place, token in row.goals or ((row.subject, -1),):
            at.append((r, place - begin))
            goals.append(token)
            shares.append(row.share)
    layer_input, out = read(ids, mask, prefix)
    batch = SearchBatch(
        rows,
        ids,
        mask,
        prefix,
        torch.tensor([position[row.request] for row in rows], device=lm.device),
        torch.tensor([row.subject - b for row, b in pairs], device=lm.device),
        torch.tensor(at, device=lm.device),
        (tuple(r for r, _ in at), tuple(place for _, place in at)),
        tuple(len(row.ids) - begin for row, begin in pairs),
        essence_reads(rows, [r for r, _ in at], lm.device),
        torch.tensor(goals, device=lm.device),
        torch.tensor(shares, device=lm.device),
        layer_input,
    )
    return batch, out


def keep_rows(batch: SearchBatch, rows: Sequence[int]) -> SearchBatch:
    """Some of a batch's rows, by their numbers in order."""
    device, new = batch.ids.device, {row: n for n, row in enumerate(rows)}
    index = send(list(rows), device)
    stay = [n for n, row in enumerate(batch.reads[0]) if row in new]
    reads = tuple(new[batch.reads[0][n]] for n in stay), tuple(batch.reads[1][n] for n in stay)
    essence = [row for row in batch.reads[0] if not batch.rows[row].goals]
    held = None if batch.held is None else batch.held[send([n for n, r in enumerate(essence) if r in new], device)]
    lengths = tuple(batch.lengths[row] for row in rows)
    longest, reads_left = max(lengths), send(stay, device)  # padding that only the others needed goes with them
    some = [batch.rows[i] for i in rows]
    return SearchBatch(
        some,
        batch.ids[index, :longest],
        batch.mask[index, :longest],
        None if batch.prefix is None else batch.prefix.select(index),
        batch.requests[index],
        batch.subjects[index],
        send(list(zip(*reads, strict=True)), device),
        reads,
        lengths,
        essence_reads(some, reads[0], device),
        batch.goals[reads_left],
        batch.shares[reads_left],
        batch.layer_input._replace(hidden=batch.layer_input.hidden[index, :longest]),
        held,
        None if batch.upper is None else batch.upper.select(index, longest),
        batch.tried,
    )


def apart(batches: Sequence[SearchBatch]) -> list[list[SearchBatch]]:
    """Passes that do what one pass did: a batch each, or halves of the one."""
    if len(batches) > 1:
        return [[batch] for batch in batches]
    (batch,) = batches
    half = len(batch.rows) // 2
    return [[keep_rows(batch, range(half))], [keep_rows(batch, range(half, len(batch.rows)))]]
