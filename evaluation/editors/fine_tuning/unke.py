"""UnKE (Deng et al. 2025, "Everything is Editable"): all weights of one block trained to say a searched state."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from evaluation.covariance.corpus import TextSource
from evaluation.covariance.covariance import open_corpus
from evaluation.editors.base import FactFormat
from evaluation.editors.fine_tuning.trained_weights import Training, WeightScope, WeightTraining
from evaluation.editors.locate_edit.target_windows import TargetWindow, search_windows, windows_of
from evaluation.editors.locate_edit.value_search import SearchedValue, SearchSettings
from evaluation.inference.passes import LayerInput, resume_at, run_until
from evaluation.models.hooks import capture, stopping_after
from evaluation.models.language_model import LM
from schemas.cases import EditRequest
from schemas.core.ids import seed

DRAWN_FROM = 1000
"""Documents of the corpus that the unrelated texts are drawn from: the first ones."""

ROWS = 16
"""Texts a pass."""

WHOLE = 2**31
"""A window that no target fills."""


class UnstructuredEditing(WeightTraining):
    """A state before the target is searched for, and the block that is to produce it trained, attention included.

    First a shift δ of the block's output at the prompt's last token, under which the model says the whole target. Then
    all weights of the block learn, by AdamW, the outputs of the prompt with δ at its place, and to keep those of
    unrelated texts: the mean squared error over both (§4). With ``window`` the target is cut and a state is searched
    for before every window, given those before it, as in ``anyedit`` (UnKE with AnyEdit).
    """

    name: ClassVar[str] = "unke"
    takes: ClassVar[tuple[str, ...]] = ("fact", "document")
    about: ClassVar[str] = "all weights of one block trained to say a searched state, unrelated texts kept (UnKE)"
    costs: ClassVar[str] = (
        "25 forward and backward passes a window, then 50 through one block; five times the block's memory"
    )

    class Params(FactFormat, WeightScope):
        """Options of UnKE: the block, the search, the training.

        Attributes:
            scope: A whole block is trained, always.
            layers: Which one, counted from 0.
            window: Tokens of the target a state; None: one state for all of it.
            lead: Tokens of a document that ask for the rest of it.
            steps: Evaluations of the loss in the search (one more than updates). ``lr``: Adam's learning rate.
            weight_decay: Weight of |δ|/|v₀|². ``clamp``: δ stays within this many |v₀|.
            stop_below: Loss at which a window's search ends; 0: never before its last step.
            updates: Of the block's weights. ``block_lr``: AdamW's learning rate. ``block_decay``: its weight decay,
                of matrices only.
            texts: Unrelated texts whose outputs are to stay. ``cap``: most tokens of each.
            corpus: Where they are drawn from: text file(s), or ``hub:NAME...``; None: the shipped corpus.
            seed: Of the draw.
        """

        scope: Literal["blocks"] = "blocks"
        layers: tuple[Annotated[int, Field(ge=0)], ...] = Field(min_length=1, max_length=1)
        window: int | None = Field(default=None, ge=1)
        lead: int = Field(default=5, ge=1)
        steps: int = Field(default=25, ge=1)
        lr: float = Field(default=0.5, gt=0)
        weight_decay: float = Field(default=1e-3, ge=0)
        clamp: float = Field(default=4.0, gt=0)
        stop_below: float = Field(default=0.0, ge=0)
        updates: int = Field(default=50, ge=1)
        block_lr: float = Field(default=2e-4, gt=0)
        block_decay: float = Field(default=0.01, ge=0)
        texts: int = Field(default=20, ge=1)
        cap: int = Field(default=128, ge=1)
        corpus: tuple[str, ...] | str | None = None
        seed: int = 0

    params: Params

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {"corpus": open_corpus(self.params.corpus).digest}

    def training(self, requests: Sequence[EditRequest]) -> Training:
        """Training that writes all requests of an edit.

        Raises:
            UserError: a request that the model cannot read whole, or a document no longer than its lead.
        """
        p = self.params
        window = p.window or WHOLE
        windows = [windows_of(self.lm, n, one, window=window, lead=p.lead) for n, one in enumerate(requests)]
        texts = unrelated_texts(open_corpus(p.corpus), p.texts, str(p.seed), *(one.key for one in requests))
        return partial(_train, windows=windows, texts=texts, params=p)


def unrelated_texts(corpus: TextSource, count: int, *names: str) -> list[str]:
    """Texts of a corpus, drawn by names from its first thousand documents; all where it has fewer."""
    pool = list(islice(corpus.stream(), DRAWN_FROM))
    return random.Random(seed("unke", *names)).sample(pool, min(count, len(pool)))


class BlockRows(NamedTuple):
    """Rows whose outputs of a block are to be something.

    Attributes:
        ids: Token ids, [rows, positions], padded on the right. ``mask``: 1 where there is a token.
        start: What the block reads.
        goals: What it is to return, float32 [rows, positions, width].
    """

    ids: Tensor
    mask: Tensor
    start: LayerInput
    goals: Tensor

    def squared_error(self, lm: LM) -> Tensor:
        """Sum over tokens and entries of (output - goal)², as the block now is; padding does not count."""
        gaps = block_output(lm, self.ids, self.mask, self.start) - self.goals
        return (gaps.square() * self.mask[..., None].to(gaps.device)).sum()


def block_output(lm: LM, ids: Tensor, mask: Tensor, start: LayerInput) -> Tensor:
    """The block's output on what it reads, float32 [rows, positions, width]."""
    block = lm.block(start.layer)
    with resume_at(lm, start), capture(block) as seen, stopping_after(block):
        lm.module(lm.layout.base)(input_ids=ids, attention_mask=mask, use_cache=False)
    return seen.output.float()


def _rows(
    lm: LM, layer: int, texts: Sequence[Sequence[int]], shifts: Sequence[Sequence[tuple[int, Tensor]]]
) -> list[BlockRows]:
    """Texts with the outputs that they have, shifted at some places."""
    out = []
    for first in range(0, len(texts), ROWS):
        ids, mask = lm.pad(texts[first : first + ROWS])
        start = run_until(lm, layer, ids, mask)
        with torch.no_grad():
            goals = block_output(lm, ids, mask, start).clone()
            for row, places in enumerate(shifts[first : first + ROWS]):
                for place, shift in places:
                    goals[row, place] += shift
        out.append(BlockRows(ids, mask, start, goals))
    return out


def _train(
    lm: LM,
    weights: Sequence[torch.nn.Parameter],
    *,
    windows: Sequence[Sequence[TargetWindow]],
    texts: Sequence[str],
    params: UnstructuredEditing.Params,
) -> dict[str, Any]:
    """Search, and train in place; what is told of it."""
    p, (layer,) = params, params.layers
    settings = SearchSettings(p.steps, p.lr, 0.0, p.weight_decay, p.clamp, p.stop_below)
    states = [search_windows(lm, layer, some, settings=settings) for some in windows]
    written = _rows(lm, layer, [some[-1].ids[: some[-1].first] for some in windows], list(_shifts(windows, states)))
    unrelated = [ids[: min(p.cap, lm.limit or p.cap)] for ids in (lm.token_ids(text) for text in texts)]
    kept = _rows(lm, layer, [ids for ids in unrelated if ids], [()] * len(unrelated))
    matrices, vectors = [w for w in weights if w.ndim > 1], [w for w in weights if w.ndim < 2]
    groups = [{"params": matrices, "weight_decay": p.block_decay}, {"params": vectors, "weight_decay": 0.0}]
    optimiser, errors = torch.optim.AdamW([g for g in groups if g["params"]], lr=p.block_lr), [0.0, 0.0]
    for _ in range(p.updates):
        optimiser.zero_grad(set_to_none=True)
        errors = [_mean_squared_error(lm, rows) for rows in (written, kept)]
        optimiser.step()
    optimiser.zero_grad(set_to_none=True)
    searched = [value for some in states for value in some]
    loss = sum(value.nll for value in searched) / len(searched)
    return {"loss": loss, "windows": len(searched), "written_error": errors[0], "kept_error": errors[1]}


def _shifts(
    windows: Sequence[Sequence[TargetWindow]], states: Sequence[Sequence[SearchedValue]]
) -> Iterator[list[tuple[int, Tensor]]]:
    for some, values in zip(windows, states, strict=True):
        yield [(w.first - 1, v.target - v.initial) for w, v in zip(some, values, strict=True)]


def _mean_squared_error(lm: LM, rows: Sequence[BlockRows]) -> float:
    """The mean over tokens and entries, whose slopes are added to the weights' gradients."""
    entries = sum(int(part.mask.sum()) for part in rows) * rows[0].goals.shape[-1] if rows else 1
    total = 0.0
    for part in rows:
        with torch.enable_grad():
            error = part.squared_error(lm) / entries
            torch.autograd.backward(error)
        total += float(error.detach())
    return total
