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


@pytest.mark.parametrize("padding", [0, 1, 3, 10, None])
def test_batches_pad_no_more_than_is_allowed(padding: int | None) -> None:
    words = ["a" * n for n in (9, 1, 3, 3, 2, 4, 20, 21, 1, 5)]
    batches = list(pack_batches(words, len, 40, padding=padding))
    assert sorted(word for batch in batches for word in batch) == sorted(words)
    pads = [len(batch) * len(batch[-1]) - sum(map(len, batch)) for batch in batches]
    assert all(p <= padding for p in pads) if padding is not None else max(pads) > 10
    alike = {len(word) for word in words}
    assert len(batches) == len(alike) if padding == 0 else len(batches) < len(alike)
    seen: list[list[str]] = []

    def run(batch: list[str]) -> list[int]:
        seen.append(batch)
        return [len(word) for word in batch]

    assert in_batches(words, len, run, TokenBudget(40, padding=padding)) == [len(word) for word in words]
    assert seen == batches


def _raise(error: Exception) -> list[int]:
    raise error
