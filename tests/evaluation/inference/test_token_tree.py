"""Sequences that share their beginnings, read as one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.request import EditedProbes
from evaluation.inference.token_tree import build_trees, can_pack, to_tensors, tree
from tests.support.evaluation.batched_probes import changes, probes, same, slowly
from tests.support.tiny import CONFIGS, make


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_tree_is_read_as_its_sequences_are(kind: str) -> None:
    lm = make(kind)
    assert can_pack(lm)
    sequences = [(5, 6, 7, 8), (5, 6, 9, 7), (5, 6), (5, 11, 12, 13, 14), (30, 31)]
    trees = build_trees(sequences, worth=1e6)
    assert len(trees) < len(sequences) and sum(len(t.ids) for t in trees) < sum(map(len, sequences))
    packed_rows = to_tensors(lm, trees)
    base = lm.module(lm.layout.base)
    with torch.no_grad():
        hidden = base(input_ids=packed_rows.ids, **packed_rows.arguments).last_hidden_state
        for row, one in enumerate(trees):
            for sequence, path in zip(one.sequences, one.paths, strict=True):
                alone = base(input_ids=torch.tensor([sequence])).last_hidden_state[0]
                assert torch.allclose(hidden[row, path], alone, atol=1e-4 * float(alone.abs().max()))


def test_trees_are_planted_where_they_pay() -> None:
    sequences = [(1, 2, 3, 4), (1, 2, 3, 5), (9, 8)]
    assert [t.sequences for t in build_trees(sequences, worth=0)] == [((n),) for n in sorted(sequences)]
    together = build_trees(sequences, worth=1e6)
    assert together[0].sequences == tuple(sorted(sequences)[:2]) and together[0].ids == [1, 2, 3, 4, 5]
    assert [len(t.sequences) for t in build_trees(sequences, worth=1e6, max_tokens=4)] == [1, 1, 1]
    assert tree([(1, 2), (1, 2, 3)]).chain and not tree([(1, 2), (1, 3)]).chain


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
    asked = [EditedProbes(deltas, None, probes()) for deltas in changes(lm)]
    same(EditScorer(lm).score(asked), slowly(lm, asked))
