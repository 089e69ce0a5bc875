"""Rows that think first: thought and answer have a limit each, and stop texts count in the answer only."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from transformers import LogitsProcessor

from evaluation.inference.answering import model_input, write, write_each
from evaluation.inference.passes import EditedProbes
from evaluation.inference.text_ending import GrowingText
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe, ThoughtAsked
from schemas.text.thoughts import split_thought
from tests.support.tiny import make, tokenizer

MARKS = (("<think>", "</think>"), ("[T]", "[/T]"))


def tok_with(special: bool) -> Any:
    """The tiny tokenizer with the first pair of marks as tokens of their own, plain or special."""
    tok = copy.deepcopy(tokenizer(False))
    tok.add_tokens(list(MARKS[0]), special_tokens=special)
    return tok


def model(tok: Any, limit: int | None = None) -> Any:
    return SimpleNamespace(tokenizer=tok, limit=limit, model=SimpleNamespace(generation_config=None))


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
