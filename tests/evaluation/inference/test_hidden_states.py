"""States are kept by tree and layer, and the oldest make room."""

from __future__ import annotations

import torch

from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.hidden_states import HiddenStates
from evaluation.inference.request import EditedProbes
from evaluation.inference.token_tree import tree
from tests.support.evaluation.batched_probes import changes, probes, same
from tests.support.tiny import make

ONE, TWO = tree([(1, 2)]), tree([(1, 3)])


def test_the_oldest_go_when_room_runs_out() -> None:
    kept = HiddenStates([3], room=2 * 2 * 4 * 4)  # two trees of two tokens, four numbers each
    assert kept.empty and kept.layers == {3} and kept.get(3, ONE) is None
    states = torch.arange(8.0).reshape(2, 4)
    kept.put(3, ONE, states)
    states += 1
    assert kept.get(3, ONE).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]], "a copy"  # type: ignore[union-attr]
    kept.put(3, ONE, states)
    assert kept.get(3, ONE)[0, 0] == 0 and kept.get(2, ONE) is None  # type: ignore[index]
    kept.put(3, TWO, states)
    kept.put(4, TWO, states)
    assert kept.get(3, ONE) is None and kept.get(3, TWO) is not None and kept.get(4, TWO) is not None
    kept.put(5, ONE, torch.zeros(2, 9))
    assert kept.get(5, ONE) is None and kept.get(3, TWO) is not None, "larger than all the room"


def test_kept_states_make_room_for_others() -> None:
    lm = make("llama")
    full_model, little = EditScorer(lm, layers=[1]), EditScorer(lm, layers=[1], room=20_000)
    batches = [EditedProbes(changes(lm)[1], None, probes())]
    for scorer in (full_model, little):
        scorer.score([EditedProbes((), None, probes())])
    assert little.kept._taken <= 20_000 < full_model.kept._taken and little.kept._kept
    assert little.outputs._taken <= 20_000 < full_model.outputs._taken
    same(little.score(batches), full_model.score(batches), within=1e-5)
