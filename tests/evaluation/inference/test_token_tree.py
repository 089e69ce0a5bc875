"""Sequences that share their beginnings, read as one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.passes import EditedProbes
from evaluation.inference.token_tree import TokenTree, build_trees, can_pack, to_tensors, tree
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
                single_states = base(input_ids=torch.tensor([sequence])).last_hidden_state[0]
                assert torch.allclose(hidden[row, path], single_states, atol=1e-4 * float(single_states.abs().max()))


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


@pytest.mark.parametrize("kind", CONFIGS)
def test_plain_rows_with_a_mask_of_their_own_read_the_same(kind: str) -> None:
    lm = make(kind)
    rows = [tree([(5, 6, 7, 8)]), tree([(9, 5)])]
    base = lm.module(lm.layout.base)
    results = []
    for flag in (False, True):
        packed = to_tensors(lm, rows, own_mask=flag)
        assert packed.arguments["attention_mask"].ndim == (4 if flag else 2)
        with torch.no_grad():
            hidden = base(input_ids=packed.ids, **packed.arguments).last_hidden_state
        results.append(torch.cat([hidden[0], hidden[1, :2]]))
    torch.testing.assert_close(results[0], results[1], atol=1e-5, rtol=1e-4)
