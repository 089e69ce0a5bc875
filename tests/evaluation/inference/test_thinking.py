"""Rows that think: the quick check says what decoding everything after every token says, and each limit counts."""

from __future__ import annotations

import copy
import random
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from evaluation.inference.answering import model_input, write, write_each
from evaluation.inference.request import EditedProbes
from evaluation.inference.stopping import StopCheck, TextEnding
from evaluation.inference.thinking import MarkedDecoder, ThoughtWatch
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe, ThoughtAsked
from schemas.text.thoughts import split_thought
from tests.support.tiny import TEXT, make, tokenizer

MARKS = (("<think>", "</think>"), ("[T]", "[/T]"))


def tok_with(special: bool) -> Any:
    """The tiny tokenizer with the first pair of marks as tokens of their own, plain or special."""
    tok = copy.deepcopy(tokenizer(False))
    tok.add_tokens(list(MARKS[0]), special_tokens=special)
    return tok


def model(tok: Any, limit: int | None = None) -> Any:
    return SimpleNamespace(tokenizer=tok, limit=limit, model=SimpleNamespace(generation_config=None))


def whole_text(tok: Any, ids: list[int], opened: str) -> str:
    """Token by token as runs of plain ones and the marks' own; all other special tokens left out."""
    text, run = opened, list[int]()
    own = {tok.convert_tokens_to_ids(mark): mark for mark in MARKS[0]}
    for token in ids:
        if token in own and tok.added_tokens_decoder[token].special:
            text += (tok.decode(run, skip_special_tokens=True) if run else "") + own[token]
            run = []
        else:
            run.append(token)
    return text + (tok.decode(run, skip_special_tokens=True) if run else "")


def slowly(
    tok: Any, ids: list[int], *, asked: ThoughtAsked, most: int, stop: tuple[str, ...], opened: str
) -> tuple[int, TextEnding]:
    """Every prefix decoded whole and split anew; the tokens of each stretch counted from where the text turned."""
    thinking, tail, since, thought = bool(opened), len(opened), 0, 0
    for n in range(1, len(ids) + 1):
        if ids[n - 1] == tok.eos_token_id:
            return n, TextEnding(whole_text(tok, ids[: n - 1], opened), "eos")
        text = whole_text(tok, ids[:n], opened)
        split = split_thought(text, asked.marks)
        if (split.unfinished, split.tail) != (thinking, tail):
            if thinking or not split.unfinished:
                thought += n - since
            thinking, tail, since = split.unfinished, split.tail, n
        if not thinking:
            begin = tail if split.thought is None else len(text) - len(text[tail:].lstrip())
            if places := [text.find(s, begin) for s in stop if text.find(s, begin) >= 0]:
                return n, TextEnding(text[: min(places)], "stop")
        spent = thought + n - since if thinking else 0
        if spent >= asked.most or n >= asked.most + most or (not thinking and n - since >= most):
            return n, TextEnding(text, "length")
    raise AssertionError("too few tokens")


@pytest.mark.parametrize("special", [False, True], ids=["plain marks", "special marks"])
@pytest.mark.parametrize("opened", ["", "<think>"], ids=["", "opened"])
def test_the_same_as_decoding_everything(special: bool, opened: str) -> None:
    tok, rng = tok_with(special), random.Random(5)
    counts = {"eos": 0, "stop": 0, "length": 0, "unfinished": 0, "answered after a thought": 0}
    asked = ThoughtAsked(marks=MARKS, most=14)
    for _ in range(400):
        text = rng.choice(TEXT).split(" ")
        begin = rng.randrange(max(1, len(text) - 8))
        pieces = text[begin : begin + 8]
        for _ in range(rng.randrange(4)):
            pieces.insert(rng.randrange(len(pieces) + 1), rng.choice([m for pair in MARKS for m in pair]))
        ids = tok(" ".join(pieces) + rng.choice(["", "\n\n", "\nQ:"]), add_special_tokens=False)["input_ids"]
        ids += rng.choices(range(3, 250), k=50)
        if rng.random() < 0.3:
            ids.insert(rng.randrange(30), tok.eos_token_id)
        stop = tuple(rng.sample(["\n", " ", "Lima", "k>", "nowhere"], rng.randrange(3)))
        count, want = slowly(tok, ids, asked=asked, most=9, stop=stop, opened=opened)
        check = StopCheck(model(tok), max_tokens=9, stop=stop, thought=asked)
        watch = check.watch(opened)
        assert watch is not None
        for n in range(1, count + 1):
            ending = check.ended_watched(watch, ids[:n], prompt=3)
            assert ending == (want if n == count else None), (pieces, stop, n, count)
        counts[want.reason] += 1
        split = split_thought(want.text, MARKS)
        counts["unfinished"] += split.unfinished
        counts["answered after a thought"] += bool(split.thought) and bool(split.answer)
    assert min(counts.values()) > 10, counts


def ending(text: str, *, most: int, thought: int, stop: tuple[str, ...] = (), opened: str = "") -> tuple[int, str, str]:
    """How many tokens a row of this text takes, what is written, and why it ended."""
    tok = tok_with(True)
    ids = tok(text, add_special_tokens=False)["input_ids"]
    check = StopCheck(model(tok), max_tokens=most, stop=stop, thought=ThoughtAsked(marks=MARKS, most=thought))
    watch = check.watch(opened)
    assert watch is not None
    for n in range(1, len(ids) + 1):
        if (found := check.ended_watched(watch, ids[:n], prompt=1)) is not None:
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
    decoder = MarkedDecoder(tok, ThoughtAsked(marks=MARKS))
    ids = [tok.bos_token_id, *tok("<think>a</think>b", add_special_tokens=False)["input_ids"], tok.bos_token_id]
    assert decoder.decode(ids) == "<think>a</think>b" and set(decoder.kept.values()) == set(MARKS[0])
    assert decoder.decode([]) == ""


def test_few_rows_are_decoded_whole() -> None:
    """Between two tokens that may matter a row is counted, not decoded."""
    tok = tok_with(True)
    decoder = MarkedDecoder(tok, ThoughtAsked(marks=MARKS))
    watch = ThoughtWatch(decoder, ThoughtAsked(marks=MARKS), most=9, stop=("\n",), opened="<think>")
    assert not watch.may_matter(" Lima", partial=False) and not watch.may_matter("\n", partial=False)
    assert watch.may_matter("k>", partial=False) and watch.may_matter("", partial=False)
    assert watch.may_matter(" Lima", partial=True)


CHAT = "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"


def dictated(monkeypatch: pytest.MonkeyPatch, texts: dict[str, str]) -> LM:
    """A tiny model whose tokens are dictated: rows go on as told for the word that their prompt holds, then end."""
    lm = make("gpt2", n_positions=300)
    written = {word: lm.tokenizer(text, add_special_tokens=False)["input_ids"] for word, text in texts.items()}

    def choose(batch: Any, logits: torch.Tensor, open_: list[int]) -> tuple[torch.Tensor, list[int]]:
        tokens = []
        for n in open_:
            word = next(w for w in texts if w in batch.prompts[n].text)
            rest = written[word][len(batch.new[n]) :]
            tokens.append(rest[0] if rest else lm.tokenizer.eos_token_id)
        return torch.tensor(tokens, device=lm.device), tokens

    monkeypatch.setattr("evaluation.inference.generation._GenerationBatch._choose", choose)
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
            thinking("Peru", chat="always", thought=None),
        ]
        assert [model_input(lm, p).text.endswith("</think>") for p in probes] == [False, False, True, False]
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
