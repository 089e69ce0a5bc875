from __future__ import annotations

import pytest
import torch

from evaluation.inference.batching import TokenBudget, in_batches, pack_batches


@pytest.mark.parametrize("error", [MemoryError("no"), torch.cuda.OutOfMemoryError("CUDA out of memory")])
def test_batches_are_cut_until_they_fit(error: Exception) -> None:
    sizes, budget = [], TokenBudget(64)

    def run(batch: list[str]) -> list[int]:
        sizes.append(sum(map(len, batch)))
        if sizes[-1] > 9:
            raise error
        return [len(text) for text in batch]

    words = ["aaaa", "b", "ccc", "dd", "eeeee", "ffff", "g"]
    assert in_batches(words, len, run, budget) == [4, 1, 3, 2, 5, 4, 1], "in the order of the items"
    assert budget.tokens < 64
    assert [sum(map(len, b)) for b in pack_batches(words, len, budget.tokens)], "a run finds its size once"
    with pytest.raises(type(error)):
        in_batches(["too long a text"], len, run, budget)
    with pytest.raises(ValueError, match="other"):
        in_batches(words, len, lambda batch: _raise(ValueError("other")), budget)


def _raise(error: Exception) -> list[int]:
    raise error
