"""Folded texts, hidden subjects, and thoughts taken out of texts."""

from __future__ import annotations

import random

import pytest
from hypothesis import given

from schemas.facts import Entity
from schemas.text.folding import fold
from schemas.text.masking import mask, parts
from schemas.text.thoughts import MARKS, opening_mark, split_thought
from tests.support.drawn_text import SHORT, WILD


@SHORT
@given(WILD)
def test_folding_twice_is_folding_once(text: str) -> None:
    once = fold(text).text
    assert fold(once).text == once


@SHORT
@given(WILD, WILD)
def test_every_folded_character_has_its_place(text: str, more: str) -> None:
    folded_text = fold(text + more)
    if folded_text.starts is not None and folded_text.ends is not None:
        assert len(folded_text.text) == len(folded_text.starts) == len(folded_text.ends)
        assert list(folded_text.starts) == sorted(folded_text.starts)
        assert all(0 <= s < e <= len(text + more) for s, e in zip(folded_text.starts, folded_text.ends, strict=True))


@pytest.mark.parametrize(
    ("text", "folded_text"),
    [
        ("", ""),
        ("ROME", "rome"),
        ("`Rome`", "'rome'"),
        ("Łódź", "lodz"),
        ("Saint–Étienne’s", "saint-etienne's"),
        ("Ｒｏｍｅ", "rome"),
        ("ﬁn", "fin"),
        ("Gießen", "giessen"),
        ("Bra\u00adsil", "brasil"),
        ("パリ", "パリ"),
        ("ハ\u309aリ", "パリ"),
        ("हिन्दी", "हिन्दी"),
    ],
)
def test_what_is_folded_away_and_what_is_kept(text: str, folded_text: str) -> None:
    assert fold(text).text == folded_text


def test_places_are_those_of_whole_letters() -> None:
    folded_text = fold("aß\u0301b")  # ß with an accent is two folded characters and two of the original
    assert folded_text.text == "assb"
    assert folded_text.place(1, 3) == (1, 3) and folded_text.place(3, 4) == (3, 4)
    assert folded_text.whole(1, 3) and not folded_text.whole(1, 2) and not folded_text.whole(2, 3)
    plain = fold("US", case=False)
    assert plain.text == "US" and fold("Ünited", case=False).text == "United"
    assert plain.starts is None and plain.place(0, 1) == (0, 1) and plain.whole(0, 1)


def test_a_letter_of_endless_marks_is_folded_in_time() -> None:
    assert fold("Z" + "\u0301" * 100_000 + "x").text == "zx"


YORK = Entity(text="New York", aliases=("NYC",))


@pytest.mark.parametrize(
    ("entity", "words"),
    [
        (Entity(text="Peru"), ()),
        (Entity(text="Ludwig van Beethoven"), ("Ludwig", "Beethoven")),
        (Entity(text="Al B. Sure"), ("Sure",)),
        (Entity(text="Jean-Luc O'Neil", aliases=("Captain Jean-Luc",)), ("Jean-Luc", "O'Neil", "Captain")),
        (Entity(text="the who"), ()),
        (Entity(text="東京 タワー"), ()),
    ],
    ids=["one word", "small words", "short words", "joined words", "no capital", "no capitals in the script"],
)
def test_words_that_can_stand_for_an_entity(entity: Entity, words: tuple[str, ...]) -> None:
    assert parts(entity) == words


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("", ""),
        ("Buy a new map", "Buy a new map"),
        ("New maps of York", "X maps of X"),
        ("New York and NYC's parks", "X and X's parks"),
        ("NEW YORK, new-york", "X, X"),
        ("Newark and Yorkshire", "Newark and Yorkshire"),
        ("New New York", "X X"),
    ],
    ids=["empty", "small letter", "parts", "aliases", "folded", "inside words", "beside the name"],
)
def test_what_is_hidden(text: str, masked: str) -> None:
    assert mask(text, YORK) == masked
    assert mask("Play (A+)* Band or Band.*", Entity(text="(A+)* Band")) == "Play X or X.*", "pattern signs"
    assert mask("Peru, Peru", Entity(text="Peru"), by=r"\1 {}") == r"\1 {}, \1 {}"


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
