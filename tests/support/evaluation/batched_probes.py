"""Probes and changes to be scored together."""

from __future__ import annotations

from itertools import chain

import pytest
import torch

from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta
from evaluation.inference.passes import EditedProbes
from evaluation.models.language_model import LM
from schemas.answers import Answer
from schemas.probes import ScoreProbe
from tests.support.evaluation.edited_model import edited_copy
from tests.support.evaluation.slow_scoring import slow_answer

START = "The capital of Peru is Lima. The capital city of Norway is"

TEXTS = [
    START,
    f"{START} Oslo. Step 1: Book a flight. Step 2: Fly to",
    f"{START} Oslo. Step 1: Pack warm clothes. Step 2: Land in",
    "She said",
    " ".join(["A long sentence tells of rivers, mountains, markets and people who travel to other towns by bus."] * 4),
]

TARGETS = ("Oslo", "São Tomé", "a town of many rivers")


def probes(texts: list[str] = TEXTS) -> list[ScoreProbe]:
    return [ScoreProbe(purpose="script", item=str(n), prompt=t, targets=TARGETS) for n, t in enumerate(texts)]


def changes(lm: LM) -> list[list[Delta]]:
    """No edit, low-rank ones of one and several layers, a dense one, and both kinds in one weight."""
    g = torch.Generator().manual_seed(5)
    out, inner, weight = lm.layout.width, lm.layout.inner, lm.layout.weight

    def low(layer: int, rank: int) -> LowRankDelta:
        factor, right = torch.randn(out, rank, generator=g), torch.randn(inner, rank, generator=g)
        return LowRankDelta(weight(layer), 0.3 * factor, right / inner**0.5)

    def dense(layer: int) -> DenseDelta:
        return DenseDelta(weight(layer), 0.05 * torch.randn(out, inner, generator=g))

    return [[], [low(1, 1)], [low(1, 2), low(2, 1)], [dense(2)], [dense(0), low(0, 1), low(0, 3)]]


def slowly(lm: LM, asked: list[EditedProbes]) -> list[list[Answer]]:
    """Each edit in a copy of the model, each target alone."""
    results = []
    for one in asked:
        model = edited_copy(lm, one.deltas)
        prompts = [one.rewrite(p.prompt) if one.rewrite else p.prompt for p in one.probes]
        results.append([slow_answer(lm, model, *pair) for pair in zip(one.probes, prompts, strict=True)])
    return results


def same(answers: list[list[Answer]], want: list[list[Answer]], within: float = 1e-4) -> int:
    """Compare; returns the number of prompts that were too long."""
    for x, y in zip(chain(*answers), chain(*want), strict=True):
        assert (x.probe, x.error, x.truncated) == (y.probe, y.error, y.truncated)
        for s, t in zip(x.targets, y.targets, strict=True):
            assert (s.text, s.tokens) == (t.text, t.tokens)
            assert s.logprob == pytest.approx(t.logprob, abs=within)
    return sum(x.truncated for x in chain(*answers))
