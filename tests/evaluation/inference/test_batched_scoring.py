"""Scoring under many edits at once equals the model with each edit put on it, whatever its architecture."""

from __future__ import annotations

from functools import cache
from itertools import chain

import pytest

from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.batching import TokenBudget
from evaluation.inference.passes import EditedProbes
from evaluation.inference.scoring import score
from evaluation.models.language_model import LM
from schemas.answers import Answer
from schemas.probes import ScoreProbe
from tests.support.evaluation.batched_probes import TEXTS, changes, probes, same, slowly
from tests.support.evaluation.slow_scoring import greedy_probe
from tests.support.tiny import CONFIGS, make


def everything(lm: LM) -> list[EditedProbes]:
    """Every kind of edit, a rewritten prompt, and probes that come twice."""
    batches = [EditedProbes(deltas, None, probes()) for deltas in changes(lm)]
    batches.append(EditedProbes((), lambda text: "Oslo is a city. " + text, probes()))
    return [*batches, EditedProbes((), None, [*probes(TEXTS[:2]), *probes(TEXTS[:2])])]


@cache
def expected(kind: str) -> list[list[Answer]]:
    """One edit after the other, one target after the other."""
    lm = make(kind)
    return slowly(lm, everything(lm))


@pytest.mark.parametrize("with_prefix", [True, False], ids=["from the layer", "from the start"])
@pytest.mark.parametrize("kind", CONFIGS)
def test_equals_one_edit_after_the_other(kind: str, with_prefix: bool) -> None:
    lm = make(kind)
    digest = lm.weights_digest()
    scorer = EditScorer(lm, budget=TokenBudget(300), layers=[1, 2] if with_prefix else [])
    want = expected(kind)
    same([scorer.score([EditedProbes((), None, probes())])[0]], [want[0]])
    scores = scorer.score(everything(lm))
    assert same(scores, want) == 6, "the longest prompt is cut at its front, under every edit"
    assert not [x.error for x in chain(*scores) if x.error]
    shifts = [abs(a.targets[0].logprob - b.targets[0].logprob) for a, b in zip(scores[0], scores[1], strict=True)]
    assert min(shifts) > 1e-3, "the edits do something"
    assert lm.weights_digest() == digest
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in lm.model.modules())


@pytest.mark.parametrize("kind", ["llama", "gpt2", "gemma2"])
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
@pytest.mark.parametrize("kind", CONFIGS)
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
