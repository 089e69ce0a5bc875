"""Scoring under many edits at once equals the model with each edit put on it, whatever its architecture."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest
import torch

from evaluation.edits.per_row import applied_per_row
from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta, applied
from evaluation.inference.batched_scoring import EditScorer, first_layer
from evaluation.inference.batching import TokenBudget, in_batches, packed
from evaluation.inference.request import EditedProbes
from evaluation.inference.scoring import score
from evaluation.inference.token_tree import build_trees, can_pack, to_tensors, tree
from evaluation.models.language_model import LM
from schemas.answers import Answer
from schemas.probes import ScoreProbe
from tests.support.tiny import CONFIGS, make

START = "The capital of Peru is Lima. The capital city of Norway is"
TEXTS = [
    START,
    f"{START} Oslo. Step 1: Book a flight. Step 2: Fly to",
    f"{START} Oslo. Step 1: Pack warm clothes. Step 2: Land in",
    "She said",
    "A long sentence tells of rivers, mountains, markets and of people who travel from one town to another by bus. "
    * 4,
]
TARGETS = ("Oslo", "São Tomé", "a town of many rivers")


def probes(texts: list[str] = TEXTS) -> list[ScoreProbe]:
    return [ScoreProbe(purpose="script", item=str(n), prompt=t, targets=TARGETS) for n, t in enumerate(texts)]


def changes(lm: LM) -> list[list[Delta]]:
    """No edit, low-rank ones of one and several layers, a dense one, and both kinds in one weight."""
    g = torch.Generator().manual_seed(5)
    out, inner, weight = lm.layout.width, lm.layout.inner, lm.layout.weight

    def low(layer: int, rank: int) -> LowRankDelta:
        left, right = torch.randn(out, rank, generator=g), torch.randn(inner, rank, generator=g)
        return LowRankDelta(weight(layer), 0.3 * left, right / inner**0.5)

    def dense(layer: int) -> DenseDelta:
        return DenseDelta(weight(layer), 0.05 * torch.randn(out, inner, generator=g))

    return [[], [low(1, 1)], [low(1, 2), low(2, 1)], [dense(2)], [dense(0), low(0, 1), low(0, 3)]]


def slowly(lm: LM, asked: list[EditedProbes]) -> list[list[Answer]]:
    found = []
    for one in asked:
        with applied(lm.model, one.deltas):
            found.append(score(lm, one.probes, rewrite=one.rewrite))
    return found


def same(got: list[list[Answer]], want: list[list[Answer]], within: float = 1e-4) -> int:
    """Compare; returns the number of prompts that were too long."""
    for x, y in zip(chain(*got), chain(*want), strict=True):
        assert (x.probe, x.error, x.truncated) == (y.probe, y.error, y.truncated)
        for s, t in zip(x.targets, y.targets, strict=True):
            assert (s.text, s.tokens) == (t.text, t.tokens)
            assert s.logprob == pytest.approx(t.logprob, abs=within)
    return sum(x.truncated for x in chain(*got))


@pytest.mark.parametrize("kept", [True, False], ids=["from the layer", "from the start"])
@pytest.mark.parametrize("kind", CONFIGS)
def test_equals_one_edit_after_the_other(kind: str, kept: bool) -> None:
    lm = make(kind)
    digest = lm.weights_digest()
    asked = [EditedProbes(deltas, None, probes()) for deltas in changes(lm)]
    asked.append(EditedProbes((), lambda text: "Oslo is a city. " + text, probes()))
    asked.append(EditedProbes((), None, [*probes(TEXTS[:2]), *probes(TEXTS[:2])]))
    scorer = EditScorer(lm, budget=TokenBudget(300), layers=[1, 2] if kept else [])
    want = slowly(lm, asked)
    same([scorer.score([EditedProbes((), None, probes())])[0]], [want[0]])
    got = scorer.score(asked)
    assert same(got, want) == 6, "the longest prompt is cut at its front, under every edit"
    assert not [x.error for x in chain(*got) if x.error]
    moved = [abs(a.targets[0].logprob - b.targets[0].logprob) for a, b in zip(got[0], got[1], strict=True)]
    assert min(moved) > 1e-3, "the edits do something"
    assert lm.weights_digest() == digest
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in lm.model.modules())


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_nothing_is_lost_in_half_precision(kind: str) -> None:
    """Changes are added in float32: a delta below the rounding of bfloat16 weights is the same in both ways."""
    lm = make(kind, dtype=torch.bfloat16)
    asked = [EditedProbes(deltas, None, probes(TEXTS[:3])) for deltas in changes(lm)]
    got, want = EditScorer(lm, budget=TokenBudget(300)).score(asked), slowly(lm, asked)
    same(got, want, within=0.35)  # bfloat16 states round differently in rows of other lengths: eight bits of 20 nats
    digest = lm.weights_digest()
    with applied_per_row(lm.model, changes(lm), [1, -1]):
        assert lm.weights_digest() == digest


def test_a_row_gets_its_own_edit_and_no_other() -> None:
    lm = make("llama")
    edits, rows = changes(lm), [3, -1, 1, 3, 0, 4]
    ids, mask = lm.pad([list(range(5, 15))] * len(rows))
    with torch.no_grad():
        with applied_per_row(lm.model, edits, rows):
            got = lm.model(input_ids=ids, attention_mask=mask).logits
        for n, row in enumerate(rows):
            with applied(lm.model, edits[row] if row >= 0 else []):
                assert torch.allclose(got[n], lm.model(input_ids=ids[n : n + 1]).logits[0], atol=1e-4)


def test_where_passes_begin() -> None:
    lm = make("llama")
    _, one, two, dense, first = changes(lm)
    assert [first_layer(lm, deltas) for deltas in ([], one, two, dense, first)] == [None, 1, 1, 2, 0]
    outside = LowRankDelta(lm.layout.head + ".weight", torch.zeros(4, 1), torch.zeros(3, 1))
    assert first_layer(lm, [*two, outside]) is None
    scorer = EditScorer(lm, layers=[1])
    scorer.score([EditedProbes((), None, probes())])
    ran: list[int] = []
    hook = lm.projection(0).register_forward_hook(lambda *a: ran.append(1))
    scorer.score([EditedProbes(one, None, probes())])
    assert not ran, "what stands below the edit is not run again"
    scorer.score([EditedProbes(dense, None, probes())])
    assert ran, "layer 2 was not kept"
    hook.remove()


def test_kept_states_make_room_for_others() -> None:
    lm = make("llama")
    whole, little = EditScorer(lm, layers=[1]), EditScorer(lm, layers=[1], room=20_000)
    asked = [EditedProbes(changes(lm)[1], None, probes())]
    for scorer in (whole, little):
        scorer.score([EditedProbes((), None, probes())])
    assert little.kept._taken <= 20_000 < whole.kept._taken and little.kept._kept
    same(little.score(asked), whole.score(asked), within=1e-5)


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
    assert [len(t.sequences) for t in build_trees(sequences, worth=1e6, most=4)] == [1, 1, 1]
    assert tree([(1, 2), (1, 2, 3)]).chain and not tree([(1, 2), (1, 3)]).chain


def test_models_that_take_no_positions_are_scored_without_trees() -> None:
    lm = make("llama")
    lm.layout = replace(lm.layout, positions=False)
    assert not can_pack(lm) and EditScorer(lm)._worth == 0.0
    asked = [EditedProbes(deltas, None, probes()) for deltas in changes(lm)]
    same(EditScorer(lm).score(asked), slowly(lm, asked))


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
    assert [sum(map(len, b)) for b in packed(words, len, budget.tokens)], "a run finds its size once"
    with pytest.raises(type(error)):
        in_batches(["too long a text"], len, run, budget)
    with pytest.raises(ValueError, match="other"):
        in_batches(words, len, lambda batch: _raise(ValueError("other")), budget)


def _raise(error: Exception) -> list[int]:
    raise error
