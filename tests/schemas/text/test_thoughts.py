"""Thoughts are taken out of texts whatever their marks do, and nothing of a text is lost or counted twice."""

from __future__ import annotations

import random

import pytest

from schemas.text.thoughts import MARKS, opening_mark, split_thought


@pytest.mark.parametrize(
    ("text", "thought", "answer", "unfinished"),
    [
        ("", None, "", False),
        (" Oslo.\n", None, " Oslo.\n", False),
        ("<think>Lima? No.</think>\n\nOslo.", "Lima? No.", "Oslo.", False),
        ("<think>\n\n</think>\n\nOslo.", "", "Oslo.", False),
        ("<think>Lima? Or", "Lima? Or", "", True),
        ("<think>", "", "", True),
        ("Lima? No.</think>Oslo.", "Lima? No.", "Oslo.", False),
        ("<think>a<think>b</think>c</think>d", "a<think>b\nc", "d", False),
        ("<think>Close it with [/THINK]?</think>d", "Close it with [/THINK]?", "d", False),
        ("<think>a</think>b<think>c</think>d", "a\nc", "b\nd", False),
        ("<think>a</think>b<think>c", "a\nc", "b", True),
        ("Oslo. <think>Lima?</think>", "Lima?", "Oslo.", False),
        ("[THINK]a[/THINK]b", "a", "b", False),
        ("<thinking>a</thinking>b", "a", "b", False),
        ("<THINK>a</THINK>b", None, "<THINK>a</THINK>b", False),
        ("I think> not", None, "I think> not", False),
    ],
    ids=[
        *("nothing", "no thought", "usual", "empty thought", "unfinished", "only begun", "opened before"),
        *("nested", "another pair's mark", "repeated", "the second unfinished", "after the answer", "brackets"),
        *("longer mark", "other letters", "no mark"),
    ],
)
def test_a_text_is_taken_apart(text: str, thought: str | None, answer: str, unfinished: bool) -> None:
    assert split_thought(text)[:3] == (thought, answer, unfinished)


def test_marks_of_ones_own_take_the_place_of_the_usual_ones() -> None:
    marks = (("(((", ")))"), ("((", "))"))
    assert split_thought("(((a))) b <think>c", marks)[:3] == ("a", "b <think>c", False)
    assert split_thought("((a)) b", marks)[:3] == ("a", "b", False)


def test_no_word_is_lost_and_the_tail_is_where_the_last_piece_begins() -> None:
    rng, alone = random.Random(3), [mark for pair in MARKS for mark in pair]
    for _ in range(500):
        pieces = rng.choices([*alone, *"abcdefgh"], k=rng.randrange(12))
        text = " ".join(pieces)
        split = split_thought(text)
        letters = sorted(p for p in pieces if len(p) == 1)
        kept = f"{split.thought or ''} {split.answer}"
        for mark in sorted(alone, key=len, reverse=True):
            kept = kept.replace(mark, " ")
        assert sorted(kept.split()) == letters
        last = (split.thought or "") if split.unfinished else split.answer
        assert text[split.tail :].strip() in last or split.thought is None


@pytest.mark.parametrize(
    ("prompt", "mark"),
    [
        ("user: x\nassistant:", ""),
        ("assistant\n<think>\n", "<think>"),
        ("assistant\n<think>\n\n</think>\n\n", ""),
        ("[THINK]", "[THINK]"),
    ],
    ids=["none", "opened", "an empty thought", "brackets"],
)
def test_a_template_may_open_the_thought(prompt: str, mark: str) -> None:
    assert opening_mark(prompt) == mark
