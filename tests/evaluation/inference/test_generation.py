"""Batched generation equals one row after the other under ``applied``."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta
from evaluation.inference.batching import TokenBudget
from evaluation.inference.generation import PromptToContinue, Sampling, generate
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from tests.support.evaluation.edited_model import edited_copy
from tests.support.tiny import make

TEXTS = ["The capital of Peru", "Step 1: Pack warm clothes. Step 2:", "Norway is a", "She"]


def edits(lm: LM) -> list[list[Delta]]:
    generator = torch.Generator().manual_seed(3)
    out, inner, weight = lm.layout.width, lm.layout.inner, lm.layout.weight
    factor, right = torch.randn(out, 1, generator=generator), torch.randn(inner, 1, generator=generator)
    return [
        [LowRankDelta(weight(1), factor, right)],
        [DenseDelta(weight(0), 0.2 * torch.randn(out, inner, generator=generator))],
    ]


def slowly(lm: LM, text: str, deltas: list[Delta], max_tokens: int) -> list[int]:
    """The whole row again for every token, no cache, the edit in a copy; ends as a greedy continuation does."""
    ids, model = lm.tokenizer(text)["input_ids"], edited_copy(lm, deltas)
    new: list[int] = []
    with torch.no_grad():
        while len(new) < max_tokens and (not new or new[-1] != lm.tokenizer.eos_token_id):
            logits = model(torch.tensor([[*ids, *new]])).logits[0, -1]
            best = logits.topk(2).values
            assert best[0] - best[1] > 1e-4, "a tie decides nothing"
            new.append(int(logits.argmax()))
    return new


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mistral", "gemma2"])
def test_greedy_equals_one_at_a_time(kind: str) -> None:
    lm = make(kind)
    digest, changes = lm.weights_digest(), edits(lm)
    prompts = [PromptToContinue(text, edit=n % 3 - 1) for n, text in enumerate(TEXTS)]
    continuations = generate(lm, prompts, edits=changes, sampling=Sampling(max_tokens=9), budget=TokenBudget(70))
    for prompt, value in zip(prompts, continuations, strict=True):
        assert list(value.ids) == slowly(lm, prompt.text, changes[prompt.edit] if prompt.edit >= 0 else [], 9)
    assert len({value.ids for value in continuations}) > 1
    assert lm.weights_digest() == digest


def test_a_sample_depends_on_its_seed_alone() -> None:
    lm = make("llama")
    sampling = Sampling(max_tokens=8, temperature=1.0, top_p=0.9)
    many = generate(lm, [PromptToContinue(TEXTS[0], seed=n) for n in range(4)], sampling=sampling)
    continuations = [generate(lm, [PromptToContinue(TEXTS[0], seed=n)], sampling=sampling)[0] for n in range(4)]
    assert many == continuations and len({m.ids for m in many}) > 1


def test_a_stop_is_cut_off() -> None:
    lm = make("gpt2")
    continuation = generate(lm, [PromptToContinue(TEXTS[0])], sampling=Sampling(max_tokens=8))[0]
    assert continuation.ended == "length" and len(continuation.ids) == 8
    stop = continuation.text[3:6]
    cut = generate(lm, [PromptToContinue(TEXTS[0])], sampling=Sampling(max_tokens=8, stop=(stop,)))[0]
    assert cut.ended == "stop" and cut.text == continuation.text[: continuation.text.find(stop)]


def test_the_models_room_ends_a_text() -> None:
    lm = make("gpt2")
    text = "Peru is a country. " * 40
    with pytest.raises(UserError, match="leaves no room in the 96 tokens"):
        generate(lm, [PromptToContinue(text)])
    ids = lm.tokenizer(text)["input_ids"]
    near = lm.tokenizer.decode(ids[:90])
    room = 96 - len(lm.tokenizer(near)["input_ids"])
    continuation = generate(lm, [PromptToContinue(near)], sampling=Sampling(max_tokens=50))[0]
    assert continuation.ended == "length" and len(continuation.ids) == room


def test_prompts_of_one_token() -> None:
    lm = make("gpt2")
    token = lm.tokenizer.decode([40])
    assert len(lm.tokenizer(token)["input_ids"]) == 1
    continuations = generate(lm, [PromptToContinue(token), PromptToContinue(token)], sampling=Sampling(max_tokens=4))
    assert [list(g.ids) for g in continuations] == [slowly(lm, token, [], 4)] * 2


def test_nothing_to_continue() -> None:
    with pytest.raises(UserError, match="nothing to continue"):
        generate(make("gpt2"), [PromptToContinue("")])


def test_a_step_waits_for_the_device_once_however_many_rows() -> None:
    class Counter(TorchDispatchMode):
        """Counts the operations that a device is waited for, or launched for, once a row."""

        def __init__(self) -> None:
            super().__init__()
            self.found = {"argmax": 0, "_local_scalar_dense": 0}

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = func.__name__.partition(".")[0]
            if name in self.found:
                self.found[name] += 1
            return func(*args, **(kwargs or {}))

    lm = make("llama")
    results = []
    generate(lm, [PromptToContinue(TEXTS[0])], sampling=Sampling(1))  # looks once at what the model takes
    for rows in (1, 8):
        with Counter() as counter:
            texts = generate(lm, [PromptToContinue(TEXTS[0])] * rows, sampling=Sampling(6))
        assert len(texts) == rows and len(set(t.ids for t in texts)) == 1
        steps = len(texts[0].ids)
        assert counter.found["argmax"] == steps
        results.append(counter.found["_local_scalar_dense"])
    assert results[0] == results[1], "no token is fetched by itself"
