"""The batched scorer: many edits at once, every row of a batch under its own edit, starting where the edits begin.

Prompts and targets that share a prefix form a token tree, so shared tokens run once. What the *unedited* model computed
below the edited layer is stored, and passes under an edit start there. ``scoring.score`` inside ``edit.on(lm)`` is the
reference, which this equals within 1e-4 nats in float32.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from evaluation.edits.per_row import PerRow
from evaluation.edits.routed_deltas import PromptRows, RoutedDelta, is_routed, tell_prompts_if
from evaluation.edits.weight_deltas import Delta
from evaluation.inference.batching import TokenBudget, default_budget, in_batches
from evaluation.inference.passes import EditedProbes, LayerInput, resume_at
from evaluation.inference.scoring import (
    EncodedProbes,
    Slot,
    TokenRead,
    TokenSums,
    TopBlock,
    encode_probes,
    gather_on_device,
    reads_of,
)
from evaluation.inference.token_tree import Tokens, TokenTree, build_trees, can_pack, to_tensors, token_cost
from evaluation.models.devices import least_free_bytes
from evaluation.models.hooks import capture
from evaluation.models.packed_weights import packed_weights
from schemas.answers import Answer
from schemas.probes import ScoreProbe

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

CPU_STORE = 2**30
"""Bytes of hidden states stored on a CPU."""

CUDA_STORE = 0.3
"""Share of a GPU's free memory for them."""

LONG = 1024
"""Tokens of a row from which on a mask of its own costs more than the wait for a look at the padding."""


class HiddenStates:
    """What blocks of the *unedited* model read, by token tree and layer; the oldest go when memory is used up.

    Args:
        layers: Layers worth storing: those at which edits begin.
        max_bytes: Memory for all of them.
    """

    def __init__(self, layers: Iterable[int], *, max_bytes: int) -> None:
        self.layers, self.max_bytes, self._used = frozenset(layers), max_bytes, 0
        self._states: OrderedDict[tuple[int, tuple[Tokens, ...]], Tensor] = OrderedDict()
        self.tuples: dict[int, int] = {}

    def put(self, layer: int, tree: TokenTree, hidden: Tensor) -> None:
        """Store a tree's hidden states, [nodes, width]."""
        key, size = (layer, tree.sequences), hidden.numel() * hidden.element_size()
        if size > self.max_bytes or key in self._states:
            return
        while self._used + size > self.max_bytes:
            _, old = self._states.popitem(last=False)
            self._used -= old.numel() * old.element_size()
        self._states[key] = hidden.clone()
        self._used += size

    def get(self, layer: int, tree: TokenTree) -> Tensor | None:
        """A tree's hidden states, or None."""
        return self._states.get((layer, tree.sequences))


class _EditRow(NamedTuple):
    """One row of a pass.

    Attributes:
        edit: Number of its edit.
        tree: Its tokens.
        reads: What is scored; the row of each is not set yet.
        start: Layer at which the pass starts from stored hidden states; None: from the tokens.
        prompt: Tokens of the one prompt that a routed row begins with; 0 if nothing routes.
    """

    edit: int
    tree: TokenTree
    reads: tuple[TokenRead, ...]
    start: int | None
    prompt: int = 0


class EditScorer:
    """Scores probes under many edits.

    Args:
        lm: The model; not changed.
        budget: Most tokens in one pass; chosen for the device if not given.
        layers: Layers at which edits will begin: what stands below is stored when the unedited model is scored.
        max_bytes: Memory for that.
    """

    def __init__(
        self, lm: LM, *, budget: TokenBudget | None = None, layers: Iterable[int] = (), max_bytes: int | None = None
    ) -> None:
        self.lm, self.budget = lm, budget or default_budget(lm)
        if max_bytes is None:
            cuda = lm.device.type == "cuda"
            max_bytes = int(CUDA_STORE * least_free_bytes(lm.devices)) if cuda else CPU_STORE
        self.stored = HiddenStates((n for n in layers if n > 0), max_bytes=max_bytes)
        self._worth = token_cost(lm) if can_pack(lm) else 0.0

    def without_cache(self) -> EditScorer:
        """A scorer of the same model that stores nothing: for the time that its weights are changed."""
        other = copy.copy(self)
        other.stored = HiddenStates((), max_bytes=0)
        return other

    def score(self, edited: Sequence[EditedProbes]) -> list[list[Answer]]:
        """Answers of every edit, in the order of its probes. Equal probes of an edit are computed once."""
        scored = [[p for p in one.probes if isinstance(p, ScoreProbe)] for one in edited]
        pairs = zip(edited, scored, strict=True)
        encoded = encode_probes(self.lm, [(probes, one.rewrite) for one, probes in pairs])
        edits = PerRow(self.lm.model, [one.deltas for one in edited])
        rows = [row for one, texts in zip(edited, encoded, strict=True) for row in self._rows(one, texts)]
        with packed_weights(self.lm):
            sums = self._run(rows, edits, unedited=not any(one.deltas for one in edited))
        answers = [texts.answers(sums) for texts in encoded]
        return [[by_id[p.id] for p in probes] for by_id, probes in zip(answers, scored, strict=True)]

    def _rows(self, one: EditedProbes, texts: EncodedProbes) -> list[_EditRow]:
        """Rows of one edit. Under a routed edit a row holds one prompt with its targets: a gate reads whole prompts."""
        routed = is_routed(self.lm.model) or any(isinstance(delta, RoutedDelta) for delta in one.deltas)
        start = first_layer(self.lm, one.deltas)
        by_prompt: dict[Tokens, dict[Tokens, list[TokenRead]]] = {}
        for slot, target in texts.targets.items():
            prompt = target.ids[: target.first] if routed else ()
            reads = by_prompt.setdefault(prompt, {}).setdefault(target.ids[:-1], [])
            reads += reads_of(target, slot, texts.probes[slot[1]])
        rows = []
        for prompt, reads_by_text in by_prompt.items():
            for tree in build_trees(list(reads_by_text), worth=self._worth, max_tokens=self.lm.layout.window):
                wanted = {
                    read._replace(position=path[read.position])
                    for sequence, path in zip(tree.sequences, tree.paths, strict=True)
                    for read in reads_by_text[sequence]
                }
                known = start if start and self.stored.get(start, tree) is not None else None
                rows.append(_EditRow(texts.edit, tree, tuple(wanted), known, len(prompt)))
        return rows

    def _run(self, rows: list[_EditRow], edits: PerRow, *, unedited: bool) -> TokenSums:
        """All passes; values are fetched at the end, so that a pass is built while the one before it runs."""
        sums, slots, values = TokenSums(), list[Slot](), list[Tensor]()

        def run(batch: list[_EditRow]) -> list[None]:
            tops: list[TopBlock] = []
            chunks = self._pass(batch, edits, tops, unedited=unedited)
            sums.top_blocks += tops  # only now: a pass that ran out of memory leaves nothing behind
            for slots_of_chunk, chunk in chunks:
                slots.extend(slots_of_chunk)
                values.append(chunk.to(self.lm.device))
            return [None] * len(batch)

        windowed = self.lm.layout.window is not None  # a tree's mask knows no window; plain rows go through the model's
        kinds: dict[tuple[int | None, bool], list[_EditRow]] = {}
        for row in rows:
            kinds.setdefault((row.start, windowed and row.tree.chain), []).append(row)
        for some in kinds.values():
            in_batches(some, lambda row: len(row.tree.ids), run, self.budget)
        if values:
            sums.add(slots, *torch.cat(values, dim=1).tolist())
        return sums

    @torch.no_grad()
    def _pass(
        self, batch: list[_EditRow], edits: PerRow, tops: list[TopBlock], *, unedited: bool
    ) -> list[tuple[list[Slot], Tensor]]:
        """One pass over rows that start at one layer: slots of all reads, and their values, still on the device."""
        lm, numbers = self.lm, [row.edit for row in batch]
        longest = max(len(row.tree.ids) for row in batch)
        own_mask = lm.device.type == "cuda" and bool(self._worth) and lm.layout.window is None and longest <= LONG
        packed = to_tensors(lm, [row.tree for row in batch], own_mask=own_mask)
        run = lm.module(lm.layout.base) if lm.layout.plain_head else lm.model
        routed = any(row.prompt for row in batch)
        prompts = PromptRows.of([max(1, row.prompt) for row in batch], lm.device) if routed else None
        with ExitStack() as hooks:
            seen = {n: hooks.enter_context(capture(lm.block(n))) for n in self.stored.layers if unedited}
            hooks.enter_context(edits.on(numbers))
            if batch[0].start is not None:
                hooks.enter_context(resume_at(lm, self._layer_input(batch, batch[0].start, longest)))
            hooks.enter_context(tell_prompts_if(lm.model, prompts))
            out = run(input_ids=packed.ids, **packed.arguments)
        for layer, activations in seen.items():
            self.stored.tuples[layer] = activations.tuples
            for n, row in enumerate(batch):
                self.stored.put(layer, row.tree, activations.input[n, : len(row.tree.ids)])
        hidden = out.last_hidden_state if lm.layout.plain_head else out.logits
        reads = [read._replace(row=n) for n, row in enumerate(batch) for read in row.reads]
        head = lm.module(lm.layout.head)  # it runs on chosen states, each under the edit of its row
        head_edits = lambda rows: edits.on([numbers[row] for row in rows], only=head)  # noqa: E731
        return list(gather_on_device(lm, hidden, reads, tops, head_edits=head_edits))

    def _layer_input(self, batch: list[_EditRow], layer: int, longest: int) -> LayerInput:
        """The stored hidden states of rows, padded to one length."""
        lm = self.lm
        hidden = torch.zeros(len(batch), longest, lm.layout.width, dtype=lm.dtype, device=lm.device)
        for n, row in enumerate(batch):
            states = self.stored.get(layer, row.tree)
            assert states is not None
            hidden[n, : len(states)] = states
        return LayerInput(layer, hidden, self.stored.tuples[layer])


def first_layer(lm: LM, deltas: Sequence[Delta]) -> int | None:
    """The lowest block that deltas change; None if there are none, or one changes something outside the blocks."""
    layers = []
    for delta in deltas:
        name, _, rest = delta.weight.removeprefix(lm.layout.blocks + ".").partition(".")
        if not rest or not delta.weight.startswith(lm.layout.blocks + ".") or not name.isdigit():
            return None
        layers.append(int(name))
    return min(layers, default=None)
