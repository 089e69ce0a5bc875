"""Batched generation equals one row after the other under ``applied``."""

from __future__ import annotations

import pytest
import torch

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


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_the_head_reads_whole_tensors(kind: str) -> None:
    """Of a view of the last positions, PyTorch copies the head once a row on a CPU: gigabytes for many tokens."""
    lm, whole = make(kind), list[bool]()
    head = lm.module(lm.layout.head)
    with_hook = head.register_forward_hook(lambda _, args, __: whole.append(args[0].is_contiguous()))
    try:
        generate(lm, [PromptToContinue(text) for text in TEXTS], sampling=Sampling(max_tokens=3))
    finally:
        with_hook.remove()
    assert len(whole) >= 3 and all(whole) and not head._forward_pre_hooks, "nothing stays behind"


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


def test_nothing_to_continue() -> None:
    with pytest.raises(UserError, match="nothing to continue"):
        generate(make("gpt2"), [PromptToContinue("")])


def test_a_models_own_generation_settings_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("llama")
    plain = generate(lm, [PromptToContinue(TEXTS[0])], sampling=Sampling(8))
    settings = lm.model.generation_config
    settings.repetition_penalty, settings.do_sample, settings.temperature, settings.min_new_tokens = 5.0, True, 3.0, 8
    assert generate(lm, [PromptToContinue(TEXTS[0])], sampling=Sampling(8)) == plain
    assert lm.model.generation_config is settings


def test_prompts_that_nearly_fill_the_model_are_not_padded() -> None:
    """A padded row would lose room: each ends at the model's own limit."""
    lm = make("gpt2")
    ids = lm.tokenizer("Peru is a country. " * 40)["input_ids"]
    texts = [lm.tokenizer.decode(ids[:n]) for n in (90, 40)]
    together = generate(lm, [PromptToContinue(text) for text in texts], sampling=Sampling(60))
    alone = [generate(lm, [PromptToContinue(text)], sampling=Sampling(60))[0] for text in texts]
    assert together == alone and [t.ended for t in together] == ["length", "length"]
    assert len(together[0].ids) < 10 and len(together[1].ids) > 50
