"""Batched generation equals one row after the other; where texts end; rows that think first."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import LogitsProcessor

from evaluation.edits.weight_deltas import Delta, DenseDelta, LowRankDelta
from evaluation.inference.answering import model_input, write, write_each
from evaluation.inference.batching import TokenBudget
from evaluation.inference.generation import PromptToContinue, Sampling, generate
from evaluation.inference.passes import EditedProbes
from evaluation.inference.text_ending import GrowingText, TextEnding
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe, ThoughtAsked
from schemas.text.thoughts import split_thought
from tests.support.evaluation.edited_model import edited_copy
from tests.support.tiny import TEXT, make, tokenizer

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


def model(tok: Any, limit: int | None = None) -> Any:
    return SimpleNamespace(tokenizer=tok, limit=limit, model=SimpleNamespace(generation_config=None))


def test_the_earliest_stop_or_an_end_token_ends_a_text() -> None:
    """A stop text may begin and end within a token; of several the one that stands first in the text counts."""
    tok, text = tokenizer(False), "Fly to Lima. Step 2: Go to Oslo"
    ids = tok(text, add_special_tokens=False)["input_ids"]
    for stop, want in ((("slo", "ma. S"), "Fly to Li"), (("\n", "Oslo"), "Fly to Lima. Step 2: Go to ")):
        row = GrowingText(model(tok), max_tokens=40, stop=stop)
        endings = [ending for n in range(1, len(ids) + 1) if (ending := row.ended(ids[:n])) is not None]
        assert endings[0] == TextEnding(want, "stop")
    row = GrowingText(model(tok), max_tokens=40, stop=("Rome",))
    assert [row.ended(ids[:n]) for n in range(1, len(ids) + 1)] == [None] * len(ids)
    assert row.ended([*ids, tok.eos_token_id]) == TextEnding(text, "eos")


def test_an_empty_stop_ends_at_once_and_room_ends_a_text() -> None:
    tok = tokenizer(False)
    ids = tok(TEXT[0], add_special_tokens=False)["input_ids"]
    assert GrowingText(model(tok), max_tokens=9, stop=("",)).ended(ids[:1]) == TextEnding("", "stop")
    ending = GrowingText(model(tok, limit=10), max_tokens=9, prompt=6).ended(ids[:4])
    assert ending is not None and ending.reason == "length"


MARKS = (("<think>", "</think>"), ("[T]", "[/T]"))


def tok_with(special: bool) -> Any:
    """The tiny tokenizer with the first pair of marks as tokens of their own, plain or special."""
    tok = copy.deepcopy(tokenizer(False))
    tok.add_tokens(list(MARKS[0]), special_tokens=special)
    return tok


def ending(text: str, *, most: int, thought: int, stop: tuple[str, ...] = (), opened: str = "") -> tuple[int, str, str]:
    """How many tokens a row of this text takes, what is written, and why it ended."""
    tok = tok_with(True)
    ids = tok(text, add_special_tokens=False)["input_ids"]
    asked = ThoughtAsked(marks=MARKS, most=thought)
    row = GrowingText(model(tok), max_tokens=most, stop=stop, thought=asked, opened=opened)
    for n in range(1, len(ids) + 1):
        if (found := row.ended(ids[:n])) is not None:
            return n, found.text, found.reason
    return len(ids), "", "goes on"


def test_thought_and_answer_have_a_limit_each() -> None:
    tok = tok_with(True)
    size = {text: len(tok(text, add_special_tokens=False)["input_ids"]) for text in (" Lima", " Oslo")}
    thought = "<think>" + " Lima" * 4 + "</think>"
    long = size[" Lima"] * 4 + 2
    assert ending(thought + " Oslo" * 9, most=2 * size[" Oslo"], thought=long)[::2] == (
        long + 2 * size[" Oslo"],
        "length",
    )
    count, text, reason = ending(thought + " Oslo", most=50, thought=3)
    assert (reason, split_thought(text).unfinished) == ("length", True)
    assert count == 1 + 3, "the opening mark, and the thought's tokens"


def test_a_thought_may_hold_stop_texts_and_line_breaks_after_it_stop_nothing() -> None:
    text = "<think>Lima.\nNo:\nOslo</think>\n\nOslo\nThe end"
    assert ending(text, most=40, thought=40, stop=("\n",))[1:] == ("<think>Lima.\nNo:\nOslo</think>\n\nOslo", "stop")
    assert ending("Lima\nOslo</think> Oslo\nx", most=40, thought=40, stop=("\n",), opened="<think>")[1:] == (
        "<think>Lima\nOslo</think> Oslo",
        "stop",
    )
    assert ending("Oslo\n<think>", most=40, thought=40, stop=("\n",))[1:] == ("Oslo", "stop")


def test_thoughts_that_come_again_and_again_end() -> None:
    count, _, reason = ending("<think> Lima</think> Oslo" * 60, most=20, thought=30)
    assert reason == "length" and count <= 50


def test_special_tokens_other_than_marks_are_left_out() -> None:
    tok = tok_with(True)
    row = GrowingText(model(tok), max_tokens=9, thought=ThoughtAsked(marks=MARKS))
    ids = [tok.bos_token_id, *tok("<think>a</think>b", add_special_tokens=False)["input_ids"], tok.bos_token_id]
    assert row.text(ids) == "<think>a</think>b" and row.text([]) == ""


CHAT = "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


def dictated(monkeypatch: pytest.MonkeyPatch, texts: dict[str, str]) -> LM:
    """A tiny model whose tokens are dictated: rows go on as told for the word that their prompt holds, then end."""
    lm = make("gpt2", n_positions=300)
    written = {word: lm.tokenizer(text, add_special_tokens=False)["input_ids"] for word, text in texts.items()}

    class Dictated(LogitsProcessor):
        def __init__(self, prompts: list[str], width: int) -> None:
            self.words, self.width = [next(w for w in texts if w in prompt) for prompt in prompts], width

        def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            done = input_ids.shape[1] - self.width
            rests = [written[word][done:] for word in self.words]
            tokens = torch.tensor([[rest[0] if rest else lm.tokenizer.eos_token_id] for rest in rests])
            return torch.full_like(scores, float("-inf")).scatter_(1, tokens.to(scores.device), 0.0)

    def processors(batch: Any, sampling: Any, width: int, gates: Any) -> list[LogitsProcessor]:
        return [Dictated([row.prompt.text for row in batch], width)]

    monkeypatch.setattr("evaluation.inference.generation.processors", processors)
    return lm


def thinking(prompt: str, **more: Any) -> GenerateProbe:
    told = {"purpose": "p", "item": prompt, "prompt": prompt, "most": 12, "stop": ("\n",)}
    return GenerateProbe.model_validate({**told, "thought": ThoughtAsked(marks=MARKS, most=20), **more})


def test_thought_and_answer_come_apart_alone_and_together(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "Peru": "<think>Lima.\nOr Oslo?</think>\n\nOslo\nand more",
        "Norway": " Oslo\nand more",
        "France": "<think>" + "Lima and " * 40,
        "Quito": "<think>a</think><think>b</think> Oslo",
    }
    lm = dictated(monkeypatch, texts)
    probes = [thinking(f"Where is {word}?") for word in texts]
    alone = write(lm, probes)
    together = write_each(lm, [EditedProbes((), None, probes)])[0]
    assert alone == together
    found = [a.written for a in alone if a.written is not None]
    assert [(w.thought, w.text, w.ended) for w in found if not w.unfinished] == [
        ("Lima.\nOr Oslo?", "Oslo", "stop"),
        (None, " Oslo", "stop"),
        ("a\nb", "Oslo", "eos"),
    ]
    assert found[2].unfinished and found[2].ended == "length" and found[2].text == ""
    assert found[2].thought is not None and found[2].thought.startswith("Lima and Lima")


def test_a_template_that_opens_the_thought_and_one_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = dictated(monkeypatch, {"Peru": "Lima?</think>Oslo"})
    tail = "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% else %}<think>\n{% endif %}"
    lm.tokenizer.chat_template = CHAT + tail
    try:
        probes = [
            thinking("Peru", chat="always"),
            thinking("Peru", chat="always", thought=ThoughtAsked(marks=MARKS, enable=True)),
            thinking("Peru", chat="always", thought=ThoughtAsked(marks=MARKS, enable=False)),
            thinking("Peru", chat="always", thought=None),  # no table of thoughts: told not to think
        ]
        assert [model_input(lm, p).text.endswith("</think>") for p in probes] == [False, False, True, True]
        found = [a.written for a in write(lm, probes)]
    finally:
        lm.tokenizer.chat_template = None
    pairs = [(w.thought, w.text) for w in found if w is not None]
    assert pairs == [("Lima?", "Oslo")] * 3 + [(None, "Lima?</think>Oslo")]


def test_a_start_that_opens_the_thought(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = dictated(monkeypatch, {"Peru": "Lima?</think>Oslo"})
    (found,) = write(lm, [thinking("Peru", start="<think>")])
    assert found.written is not None and (found.written.thought, found.written.text) == ("Lima?", "Oslo")


def test_where_there_is_no_template_thinking_everywhere_is_refused() -> None:
    with pytest.raises(UserError, match=r"generation\.thought\.everywhere"):
        model_input(make("gpt2"), thinking("Peru", chat="always"))
