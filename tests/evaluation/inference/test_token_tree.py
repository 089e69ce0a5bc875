"""Sequences that share their beginnings, read as one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.passes import EditedProbes
from evaluation.inference.token_tree import TokenTree, build_trees, can_pack, tree
from tests.support.evaluation.batched_probes import changes, probes, same, slowly
from tests.support.tiny import make


@pytest.mark.parametrize(("shared", "new", "worth"), [(11, 22, 3072.0), (60, 22, 3072.0), (3, 9, 500.0), (1, 1, 50.0)])
def test_trees_are_of_the_size_that_costs_least(shared: int, new: int, worth: float) -> None:
    """Attention over one tree of everything costs more than a few beginnings read again; even sizes need no padding."""
    many = [(*range(shared), *(1000 + i * new + j for j in range(new))) for i in range(200)]

    def cost(trees: list[TokenTree]) -> float:
        return sum(worth * len(t.ids) + len(t.ids) ** 2 for t in trees)

    trees = build_trees(many, worth=worth)
    by_count = {n: cost([tree(many[k : k + n]) for k in range(0, len(many), n)]) for n in range(1, len(many) + 1)}
    assert cost(trees) <= 1.01 * min(by_count.values())
    assert [s for t in trees for s in t.sequences] == sorted(many), "each once"


def test_a_fault_of_the_device_is_not_taken_for_a_models_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packing would be off in silence for the whole run, and scoring slower several times."""
    lm = make("llama")

    def fails(error: Exception) -> None:
        def forward(*args: object, **options: object) -> None:
            raise error

        monkeypatch.setattr(type(lm.module(lm.layout.base)), "forward", forward)

    for error in (torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("CUDA error: unspecified launch failure")):
        fails(error)
        with pytest.raises(type(error), match="CUDA"):
            can_pack(lm)
    fails(TypeError("forward() got an unexpected keyword argument 'position_ids'"))
    assert not can_pack(lm)


def test_models_that_take_no_positions_are_scored_without_trees() -> None:
    lm = make("llama")
    lm.layout = replace(lm.layout, positions=False)
    assert not can_pack(lm) and EditScorer(lm)._worth == 0.0
    batches = [EditedProbes(deltas, None, probes()) for deltas in changes(lm)]
    same(EditScorer(lm).score(batches), slowly(lm, batches))
