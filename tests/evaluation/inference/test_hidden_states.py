"""States are stored by tree and layer, and the oldest are dropped first."""

from __future__ import annotations

import torch

from evaluation.inference.batched_scoring import HiddenStates
from evaluation.inference.token_tree import tree

ONE, TWO = tree([(1, 2)]), tree([(1, 3)])


def test_the_oldest_go_when_room_runs_out() -> None:
    stored = HiddenStates([3], max_bytes=2 * 2 * 4 * 4)  # two trees of two tokens, four numbers each
    assert stored.layers == {3} and stored.get(3, ONE) is None
    states = torch.arange(8.0).reshape(2, 4)
    stored.put(3, ONE, states)
    states += 1
    assert stored.get(3, ONE).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]], "a copy"  # type: ignore[union-attr]
    stored.put(3, ONE, states)
    assert stored.get(3, ONE)[0, 0] == 0 and stored.get(2, ONE) is None  # type: ignore[index]
    stored.put(3, TWO, states)
    stored.put(4, TWO, states)
    assert stored.get(3, ONE) is None and stored.get(3, TWO) is not None and stored.get(4, TWO) is not None
    stored.put(5, ONE, torch.zeros(2, 9))
    assert stored.get(5, ONE) is None and stored.get(3, TWO) is not None, "larger than all the room"
