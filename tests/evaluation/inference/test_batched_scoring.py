"""Scoring under many edits at once equals the model with each edit put on it; packing, shared beginnings, states."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

import pytest
import torch

from evaluation.inference.batched_scoring import EditScorer, HiddenStates
from evaluation.inference.batching import TokenBudget, in_batches, pack_batches
from evaluation.inference.passes import EditedProbes, can_share
from evaluation.inference.scoring import score
from evaluation.inference.token_tree import tree
from evaluation.models.language_model import LM
from schemas.probes import ScoreProbe
from tests.support.evaluation.batched_probes import TEXTS, changes, probes, same, slowly
from tests.support.evaluation.slow_scoring import greedy_probe
from tests.support.tiny import make


def everything(lm: LM) -> list[EditedProbes]:
    """Every kind of edit, a rewritten prompt, and probes that come twice."""
    batches = [EditedProbes(deltas, None, probes()) for deltas in changes(lm)]
    batches.append(EditedProbes((), lambda text: "Oslo is a city. " + text, probes()))
    return [*batches, EditedProbes((), None, [*probes(TEXTS[:2]), *probes(TEXTS[:2])])]


WAYS = [("llama", True), ("llama", False), ("gpt2", True), ("neo", False), ("mistral", True), ("gemma2", False)]
"""Classes that differ in windows, biases and what they do with an edit's output; ``contracts`` has edits of all."""


@pytest.mark.parametrize(("kind", "with_prefix"), WAYS)
def test_equals_one_edit_after_the_other(kind: str, with_prefix: bool) -> None:
    lm = make(kind)
    digest = lm.weights_digest()
    scorer = EditScorer(lm, budget=TokenBudget(300), layers=[1, 2] if with_prefix else [])
    want = slowly(lm, everything(lm))
    same([scorer.score([EditedProbes((), None, probes())])[0]], [want[0]])
    scores = scorer.score(everything(lm))
    assert same(scores, want) == 6, "the longest prompt is cut at its front, under every edit"
    assert not [x.error for x in chain(*scores) if x.error]
    shifts = [abs(a.targets[0].logprob - b.targets[0].logprob) for a, b in zip(scores[0], scores[1], strict=True)]
    assert min(shifts) > 1e-3, "the edits do something"
    assert lm.weights_digest() == digest
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in lm.model.modules())


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_next_tokens_and_matches_are_those_of_every_edit(kind: str) -> None:
    """Tokens, their order and values, of whole vocabularies too, as a pass over one sequence gives them."""
    lm = make(kind)
    more = [{"greedy": True, "matches": True, "top": n} for n in (0, 5, 10**6)]
    asked = [ScoreProbe.model_validate({**p.model_dump(), **m}) for p in (greedy_probe(lm), *probes()) for m in more]
    edited = [EditedProbes(deltas, None, asked) for deltas in changes(lm)]
    scores, want = EditScorer(lm, budget=TokenBudget(300)).score(edited), slowly(lm, edited)
    alone = [score(lm, asked, batch_tokens=n) for n in (64, 4096)]
    for fast, slow in [*zip(scores, want, strict=True), *((one, want[0]) for one in alone)]:
        for a, b, probe in zip(fast, slow, asked, strict=True):
            assert [(t.greedy, t.matched) for t in a.targets] == [(t.greedy, t.matched) for t in b.targets]
            assert (a.next_tokens is None) == (probe.top == 0)
            if a.next_tokens is not None and b.next_tokens is not None:
                assert len(a.next_tokens.ids) == len(b.next_tokens.ids) > 4
                assert list(a.next_tokens.logprobs) == pytest.approx(list(b.next_tokens.logprobs), abs=2e-5)
                known = dict(zip(b.next_tokens.ids, b.next_tokens.logprobs, strict=True))
                lowest = min(known.values()) + 2e-5
                for token, value in zip(a.next_tokens.ids, a.next_tokens.logprobs, strict=True):
                    assert value == pytest.approx(known.get(token, lowest), abs=4e-5)
    assert [t.greedy for t in alone[0][0].targets] == [True, True, False]
    firsts = [[a.next_tokens.ids for a in answers if a.next_tokens] for answers in scores]
    assert firsts[0] != firsts[3], "the edits change what is most probable"


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("kind", ["llama", "gpt2", "mistral", "gemma2"])
def test_what_is_kept_of_the_unedited_model_changes_no_bit(kind: str) -> None:
    """Answers do not depend on whether the unedited model was scored by this process, nor on where edits begin."""
    lm = make(kind)
    keeping, forgetting = EditScorer(lm, layers=[1, 2]), EditScorer(lm, layers=[])
    plain = [EditedProbes((), None, probes())]
    assert keeping.score(plain) == forgetting.score(plain)
    assert keeping.stored._states and not forgetting.stored._states
    for deltas in changes(lm):
        edited = [EditedProbes(deltas, None, probes())]
        assert keeping.score(edited) == forgetting.score(edited)


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


def test_nothing_is_shared_near_a_sliding_window() -> None:
    lm = make("mistral")  # its window is 16 tokens
    assert can_share(lm, 8) and not can_share(lm, 9)
    assert can_share(make("llama"), 90)
    lm.layout = replace(lm.layout, positions=False)
    assert not can_share(lm, 8)


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
