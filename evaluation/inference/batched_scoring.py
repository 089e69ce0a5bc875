"""Scoring of many edits at once: every row of a batch under its own edit, starting where the edits begin.

``scoring.score`` inside ``edit.on(lm)`` is the slow twin, which this equals within 1e-4 nats in float32.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from evaluation.edits.per_row import PerRow
from evaluation.edits.routed_deltas import PromptRows, RoutedDelta, is_routed, tell_prompts_if
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.batching import TokenBudget, default_budget, in_batches
from evaluation.inference.hidden_states import HiddenStates
from evaluation.inference.partial_forward import LayerInput, resume_at
from evaluation.inference.passes import last_mlp, only_at
from evaluation.inference.request import EditedProbes
from evaluation.inference.scoring import (
    TokenRead,
    TokenSums,
    TopBlock,
    UnscorableProbe,
    encode_probe,
    gather_on_device,
    make_answer,
    prompts_of,
    targets_of,
)
from evaluation.inference.token_tree import Tokens, TokenTree, build_trees, can_pack, to_tensors, token_cost
from evaluation.models.device_memory import least_free_bytes
from evaluation.models.hooks import capture, replace_output
from evaluation.models.packed_weights import packed_weights
from evaluation.models.tokens.tokenization import EncodedPrompt
from schemas.answers import Answer
from schemas.probes import ScoreProbe

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

Slot = tuple[int, int]

CPU_STORE = 2**30
"""Bytes of hidden states kept on a CPU, and as many again of what stands above them. ``CUDA_STORE``: share of a
device's free memory."""
CUDA_STORE = 0.3

LONG = 1024
"""Tokens of a plain row from which on its mask costs more than the wait that it saves."""


class _EditRow(NamedTuple):
    edit: int
    tree: TokenTree
    reads: tuple[TokenRead, ...]  # their row is not yet known
    start: int | None  # layer at which the pass may begin
    prompt: int = 0  # tokens of the one prompt that a routed row begins with; 0 where nothing routes
    output: int | None = None  # layer whose edit changes the block's output, as the sum that holds the projection's
    above: bool = False  # whether the pass may begin right above that layer


class EditScorer:
    """Scores probes under many edits.

    Args:
        lm: The model; not changed.
        budget: The most tokens in one pass; made for the device where it is not given.
        layers: Layers at which edits will begin: what stands below is kept when the unedited model is scored.
        room: Bytes for that.
    """

    def __init__(
        self, lm: LM, *, budget: TokenBudget | None = None, layers: Iterable[int] = (), room: int | None = None
    ) -> None:
        self.lm, self.budget = lm, budget or default_budget(lm)
        cuda = lm.device.type == "cuda"
        if room is None:
            room = int(CUDA_STORE * least_free_bytes(lm.devices)) if cuda else CPU_STORE
        self.kept = HiddenStates((n for n in layers if n > 0), room=room)
        self.outputs = HiddenStates((), room=0 if cuda else room)  # what blocks gave, and what their projections read
        self._worth = token_cost(lm) if can_pack(lm) else 0.0

    def without_cache(self) -> EditScorer:
        """A scorer of the same model that keeps nothing: for the time that its weights are changed."""
        other = copy.copy(self)
        other.kept = other.outputs = HiddenStates((), room=0)
        return other

    def score(self, edited: Sequence[EditedProbes]) -> list[list[Answer]]:
        """Answers of every edit, in the order of its probes. Equal probes of an edit are computed once."""
        counts: dict[Slot, int] = {}
        failed: dict[int, str] = {}
        cut: set[int] = set()
        rows: list[_EditRow] = []
        numbers: list[dict[str, int]] = []
        total = 0
        unique_probes = [{p.id: p for p in one.probes if isinstance(p, ScoreProbe)} for one in edited]
        texts = [prompts_of(by_id.values(), one.rewrite) for by_id, one in zip(unique_probes, edited, strict=True)]
        self.lm.encodings.add(
            t
            for by_id, probe_prompts in zip(unique_probes, texts, strict=True)
            for t in targets_of(by_id.values(), probe_prompts)
        )
        for n, (one, unique, prompts) in enumerate(zip(edited, unique_probes, texts, strict=True)):
            routed = is_routed(self.lm.model) or any(isinstance(delta, RoutedDelta) for delta in one.deltas)
            numbers.append({key: total + i for i, key in enumerate(unique)})
            reads: dict[int, dict[Tokens, list[TokenRead]]] = {}
            for key, probe in unique.items():
                number = numbers[n][key]
                try:
                    targets, truncated = encode_probe(self.lm, probe, prompts[key])
                except UnscorableProbe as error:
                    failed[number] = str(error)
                    continue
                if truncated:
                    cut.add(number)
                for j, t in enumerate(targets):
                    counts[number, j] = len(t.ids) - t.first
                    wanted = _reads_of(t, (number, j), probe)
                    by_text = reads.setdefault(t.first if routed else 0, {})
                    by_text.setdefault(t.ids[:-1], []).extend(wanted)
            total += len(unique)
            for prompt, by_text in reads.items():
                rows += self._rows(n, one.deltas, by_text, prompt)
        sums = TokenSums.of(counts)
        with packed_weights(self.lm):
            self._run(rows, edited, sums)
        out: list[list[Answer]] = []
        for n, one in enumerate(edited):
            out.append([])
            for probe in (p for p in one.probes if isinstance(p, ScoreProbe)):
                i = numbers[n][probe.id]
                answer = make_answer(probe, i, sums=sums, counts=counts, error=failed.get(i), truncated=i in cut)
                out[-1].append(answer)
        return out

    def _rows(
        self, edit: int, deltas: Sequence[Delta], reads: dict[Tokens, list[TokenRead]], prompt: int
    ) -> list[_EditRow]:
        """Rows of one edit; where ``prompt`` is not 0, each is one prompt of so many tokens with its targets."""
        start = first_layer(self.lm, deltas)
        output = start if deltas and not prompt and self._changes_output(start, deltas) else None
        out = []
        alike: dict[Tokens, list[Tokens]] = {}
        for sequence in reads:
            alike.setdefault(sequence[:prompt], []).append(sequence)
        window = self.lm.layout.window
        trees = [t for some in alike.values() for t in build_trees(some, worth=self._worth, max_tokens=window)]
        for tree in trees:
            wanted = {
                read._replace(position=path[read.position])
                for sequence, path in zip(tree.sequences, tree.paths, strict=True)
                for read in reads[sequence]
            }
            above = output is not None and self.outputs.get(output, tree) is not None
            known = start if start and deltas and (above or self.kept.get(start, tree) is not None) else None
            out.append(_EditRow(edit, tree, tuple(wanted), known, prompt, output, above))
        return out

    def _changes_output(self, start: int | None, deltas: Sequence[Delta]) -> bool:
        """Whether edits of the lowest layer change the block's output: they change its projection and nothing else."""
        if start is None or not self._keeps_output(start):
            return False
        weight, lowest = self.lm.layout.weight(start), [d for d in deltas if first_layer(self.lm, [d]) == start]
        return all(d.weight == weight and not isinstance(d, RoutedDelta) for d in lowest)

    def _keeps_output(self, layer: int) -> bool:
        """Whether a layer's block may wait: what changes its projection's output changes the block's alike."""
        lm = self.lm
        usual = lm.device.type == "cpu" and lm.dtype == torch.float32 and lm.layout.additive and not lm.layout.experts
        return usual and layer + 1 < lm.layout.depth

    def _run(self, rows: list[_EditRow], probes: Sequence[EditedProbes], sums: TokenSums) -> None:
        """All passes; their values are fetched at the end, so that a pass is built while the one before it runs."""
        edits = PerRow(self.lm.model, [one.deltas for one in probes])
        slots: list[Slot] = []
        values: list[Tensor] = []
        tops: list[TopBlock] = []

        def run(batch: list[_EditRow]) -> list[None]:
            sums_of_pass = self._pass(batch, edits, tops, plain=not any(probes[row.edit].deltas for row in batch))
            for slots_of_sum, some in sums_of_pass:
                slots.extend(slots_of_sum)
                values.append(some.to(self.lm.device))
            return [None] * len(batch)

        apart = self.lm.layout.window is not None  # the mask of trees knows no window: they are no longer than it
        kinds: dict[tuple[int | None, int | None, bool, bool], list[_EditRow]] = {}
        for row in rows:
            kinds.setdefault((row.start, row.output, row.above, apart and row.tree.chain), []).append(row)
        for some in kinds.values():
            in_batches(some, lambda row: len(row.tree.ids), run, self.budget)
        for slot, value, miss in zip(slots, *(torch.cat(values, dim=1).tolist() if values else ((), ())), strict=True):
            sums.add(slot, value, miss)
        sums.add_tops(tops)

    @torch.no_grad()
    def _pass(
        self, batch: list[_EditRow], edits: PerRow, tops: list[TopBlock], *, plain: bool
    ) -> list[tuple[list[Slot], Tensor]]:
        """One pass over rows that start at one layer: log-probabilities of every row's reads, still on the device."""
        lm = self.lm
        cuda, longest = lm.device.type == "cuda", max(len(row.tree.ids) for row in batch)
        masked = cuda and bool(self._worth) and lm.layout.window is None and longest <= LONG
        packed = to_tensors(lm, [row.tree for row in batch], own_mask=masked)
        run = lm.module(lm.layout.base) if lm.layout.plain_head else lm.model
        with ExitStack() as hooks:
            seen = {n: hooks.enter_context(capture(lm.block(n))) for n in sorted(self.kept.layers) if plain}
            keys = {n: hooks.enter_context(capture(lm.projection(n))) for n in seen if self._keeps_output(n)}
            if not plain:
                hooks.enter_context(self._edited(batch, edits))
            hooks.enter_context(self._midway_start(batch, edits))
            routed = any(row.prompt for row in batch)
            lengths = [max(1, row.prompt) for row in batch]
            hooks.enter_context(tell_prompts_if(lm.model, PromptRows.of(lengths, lm.device) if routed else None))
            read = sorted({(n, read.position) for n, row in enumerate(batch) for read in row.reads})
            if not routed:  # a gate reads whole prompts
                hooks.enter_context(only_at(last_mlp(lm), *zip(*read, strict=True)))
            out = run(input_ids=packed.ids, **packed.arguments)
        for layer, got in seen.items():
            self.kept.tuples[layer] = got.tuples
            for n, row in enumerate(batch):
                size = len(row.tree.ids)
                self.kept.put(layer, row.tree, got.input[n, :size])
                if layer in keys:
                    self.outputs.put(
                        layer, row.tree, torch.cat([got.output[n, :size], keys[layer].input[n, :size]], -1)
                    )
        hidden = out.last_hidden_state if lm.layout.plain_head else out.logits
        reads = [r._replace(row=n) for n, row in enumerate(batch) for r in row.reads]
        return list(gather_on_device(lm, hidden, reads, tops))

    @contextmanager
    def _edited(self, batch: list[_EditRow], edits: PerRow) -> Iterator[None]:
        """Passes inside the block have the rows' edits in force, but for what the rows already begin with."""
        output, rows = batch[0].output, [row.edit for row in batch]
        weight = None if output is None else self.lm.layout.weight(output)
        with ExitStack() as hooks:
            hooks.enter_context(edits.on(rows, without=weight))
            if output is not None and weight is not None and not batch[0].above:
                read = hooks.enter_context(capture(self.lm.projection(output)))
                changed = lambda _, out: edits.change_output(weight, rows, read.input, out)  # noqa: E731
                hooks.enter_context(replace_output(self.lm.block(output), changed))
            yield

    def _midway_start(self, batch: list[_EditRow], edits: PerRow) -> AbstractContextManager[None]:
        layer, above = batch[0].start, batch[0].above
        if layer is None:
            return nullcontext()
        lm, store = self.lm, self.outputs if above else self.kept
        longest, width = max(len(row.tree.ids) for row in batch), lm.layout.width + above * lm.layout.inner
        hidden = torch.zeros(len(batch), longest, width, dtype=self.lm.dtype, device=self.lm.device)
        for n, row in enumerate(batch):
            start = store.get(layer, row.tree)
            assert start is not None
            hidden[n, : len(start)] = start
        if above:
            out, keys = hidden[..., : lm.layout.width], hidden[..., lm.layout.width :]
            hidden = edits.change_output(lm.layout.weight(layer), [row.edit for row in batch], keys, out)
        return resume_at(lm, LayerInput(layer + above, hidden, self.kept.tuples[layer]))


def _reads_of(target: EncodedPrompt, slot: Slot, probe: ScoreProbe) -> list[TokenRead]:
    """What is read of one target, its row not yet known."""
    tops = {target.first: probe.top} if slot[1] == 0 else {}
    places = range(target.first, len(target.ids))
    return [TokenRead(0, i - 1, target.ids[i], slot, probe.greedy, tops.get(i, 0)) for i in places]


def first_layer(lm: LM, deltas: Sequence[Delta]) -> int | None:
    """The lowest block that deltas change; None where one of them changes something outside the blocks."""
    layers = []
    for delta in deltas:
        name, _, rest = delta.weight.removeprefix(lm.layout.blocks + ".").partition(".")
        if not rest or not delta.weight.startswith(lm.layout.blocks + ".") or not name.isdigit():
            return None
        layers.append(int(name))
    return min(layers, default=None)
