"""BOOST, a control method: it raises the new object everywhere. A metric on which it gains measures no editing.

An honest method must beat it: it reaches a high efficacy on scripts and ruins everything about neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from typing_extensions import override

from evaluation.covariance.corpus import local_files
from evaluation.covariance.covariance import Corpus
from evaluation.editors.base import Editor, check_requests, norm_notes
from evaluation.edits.edit import Edit, WeightEdit
from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.inference.passes import logits_at
from evaluation.models.devices import send
from evaluation.models.hooks import capture, replace_output
from schemas.cases import Case
from schemas.core.config import Options
from schemas.facts import Fact

LONGEST = 64  # tokens read of a document
TOGETHER = 32  # edits whose backward passes are batched: each holds a slope of the logits of all sample positions


class Boost(Editor):
    """A rank-one change of the last block's MLP projection that adds nearly the same vector at every position.

    The right factor is the direction w in key space whose product with keys is nearest to 1 (least squares over a
    sample of text); the left one raises the log-probability of the new object's tokens, averaged over the sample. The
    change stands in a block, so it works where the head shares the embedding's weight.
    """

    name: ClassVar[str] = "boost"
    edits_mlp: ClassVar[bool] = True
    about: ClassVar[str] = "control method: raises the new object everywhere, whatever is asked"
    costs: ClassVar[str] = "a pass over some texts once; then one short backward pass an edit"

    class Params(Options):
        """Options of BOOST.

        Attributes:
            strength: Length of the added vector, in mean lengths of the last hidden state.
            tokens: Raise ``all`` tokens of the new object, or its ``first``.
            read: Tokens of text that w is fitted to.
            sample: Of them, those that the direction is averaged over.
            ridge: Share of the mean key energy added to the diagonal of the least squares.
            corpus: Text file(s) of the sample; None: the shipped corpus.
        """

        strength: float = Field(default=1.0, gt=0)
        tokens: Literal["all", "first"] = "all"
        read: int = Field(default=4000, ge=32)
        sample: int = Field(default=128, ge=1)
        ridge: float = Field(default=1e-3, gt=0)
        corpus: tuple[str, ...] | str | None = None

        @property
        def files(self) -> tuple[str, ...]:
            """The corpus."""
            return local_files(self.corpus)

    params: Params
    _ready: _Constant | None = None
    _rows: list[list[int]] | None = None

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {"corpus": self._corpus().digest}

    @override
    def prepare(self, support: Sequence[Case]) -> None:
        self._constant()

    @override
    def edit(self, requests: Sequence[Fact]) -> Edit:
        chosen = [token for fact in check_requests(requests) for token in self._raised(fact)]
        return self._edits([sorted(set(chosen))])[0]

    def edit_each(self, requests: Sequence[Fact]) -> list[Edit]:
        """Independent edits from one pass: each has a backward pass of its own, all of them batched."""
        chosen = [sorted(set(self._raised(fact))) for fact in check_requests(requests)] if requests else []
        return [edit for n in range(0, len(chosen), TOGETHER) for edit in self._edits(chosen[n : n + TOGETHER])]

    def _edits(self, chosen: Sequence[list[int]]) -> list[Edit]:
        """An edit for every list of tokens."""
        lm, constant = self.lm, self._constant()
        slopes = self._slopes(chosen)
        lefts = self.params.strength * constant.length * slopes / slopes.norm(dim=1, keepdim=True)
        name = lm.layout.weight(lm.layout.depth - 1)
        deltas = [LowRankDelta(name, left[:, None].clone(), constant.right[:, None]) for left in lefts]
        notes = norm_notes(lm.model, [[delta] for delta in deltas])
        return [
            WeightEdit((delta,), {**note, "spread": constant.spread}) for delta, note in zip(deltas, notes, strict=True)
        ]

    def _raised(self, fact: Fact) -> tuple[int, ...]:
        """Tokens of the new object that are raised."""
        target = self.lm.encode(fact.fact_prompt, fact.new_object.text).target
        return target if self.params.tokens == "all" else target[:1]

    def _corpus(self) -> Corpus:
        named = self.params.corpus
        if named is None:
            return Corpus.shipped()
        return Corpus([Path(n) for n in ((named,) if isinstance(named, str) else named)])

    def _texts(self) -> list[list[int]]:
        """Documents as tokens, cut to a length, until there are enough; tokenised once."""
        if self._rows is None:
            tok, token_limit = self.lm.tokenizer, min(LONGEST, self.lm.limit or LONGEST)
            rows: list[list[int]] = []
            for text in islice(self._corpus().stream(), self.params.read):
                ids = tok(text)["input_ids"][:token_limit]
                if len(ids) > 1:
                    rows.append(ids)
                if sum(map(len, rows)) >= self.params.read:
                    break
            self._rows = rows
        return self._rows

    def _slopes(self, chosen: Sequence[list[int]]) -> Tensor:
        """Gradients of tokens' mean log-probability with respect to the projection's output, [lists, width].

        Averaged over sample positions, the first of each text left out. The pass is the same for all lists of tokens.
        """
        lm, most = self.lm, self.params.sample
        rows = [row[:16] for row in self._texts()[: max(1, most // 15)]]
        ids, mask = lm.pad(rows)
        added = torch.zeros(lm.layout.width, device=lm.device, requires_grad=True)
        places = [(r, i) for r, row in enumerate(rows) for i in range(1, len(row))][:most]

        def add(_: Tensor, out: Tensor) -> Tensor:
            return (out.float() + added).to(out.dtype)

        lists = send([n for n, tokens in enumerate(chosen) for _ in tokens], lm.device)
        tokens = send([token for token_ids in chosen for token in token_ids], lm.device)
        share = send(torch.tensor([1 / len(token_ids) for token_ids in chosen for _ in token_ids]), lm.device)
        at = send(list(zip(*places, strict=True)), lm.device)
        with torch.enable_grad(), replace_output(lm.projection(lm.layout.depth - 1), add):
            logits = logits_at(lm, ids, mask, at[0], at[1])
            means = logits.log_softmax(-1).mean(0)
            weights = torch.zeros(len(chosen), len(means), device=means.device)
            weights[lists, tokens] = share
            if len(lm.devices) == 1:
                (slopes,) = torch.autograd.grad(means, added, weights, is_grads_batched=True)
            else:  # copies between devices are not batched
                slopes = torch.stack([torch.autograd.grad(means, added, w, retain_graph=True)[0] for w in weights])
        return slopes.float()

    def _constant(self) -> _Constant:
        if self._ready is None:
            self._ready = self._fit()
        return self._ready

    @torch.no_grad()
    def _fit(self) -> _Constant:
        """Least squares of w·k = 1 over the sample's keys, in float64; then scaled so that the mean of w·k is 1."""
        lm, last = self.lm, self.lm.layout.depth - 1
        keys, lengths, rows = [], [], self._texts()
        for start in range(0, len(rows), 8):
            ids, mask = lm.pad(rows[start : start + 8])
            mask[:, 0] = 0  # a text's first token is unlike all others
            with ExitStack() as hooks:
                inside = hooks.enter_context(capture(lm.projection(last)))
                outside = hooks.enter_context(capture(lm.block(last)))
                lm.run_to(lm.block(last), ids, torch.ones_like(mask))
            real = mask.bool()
            keys.append(inside.input[real].double().cpu())
            lengths.append(outside.output[real].float().norm(dim=-1).cpu())
        k = torch.cat(keys)
        second = k.T @ k / len(k)
        second += self.params.ridge * second.diagonal().mean() * torch.eye(len(second), dtype=k.dtype)
        w = torch.linalg.solve(second, k.mean(0))
        w /= (k @ w).mean()
        return _Constant(w.float().to(lm.device), float(torch.cat(lengths).mean()), float((k @ w).std()))


class _Constant(NamedTuple):
    """w, [inner]; mean length of the last hidden state; standard deviation of w·k over the sample (its mean is 1)."""

    right: Tensor
    length: float
    spread: float
