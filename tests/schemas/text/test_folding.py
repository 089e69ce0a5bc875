from __future__ import annotations

import pytest
from hypothesis import given

from schemas.text.folding import fold
from tests.support.drawn_text import SHORT, WILD


@SHORT
@given(WILD)
def test_folding_twice_is_folding_once(text: str) -> None:
    once = fold(text).text
    assert fold(once).text == once


@SHORT
@given(WILD, WILD)
def test_every_folded_character_has_its_place(text: str, more: str) -> None:
    folded = fold(text + more)
    if folded.starts is not None and folded.ends is not None:
        assert len(folded.text) == len(folded.starts) == len(folded.ends)
        assert list(folded.starts) == sorted(folded.starts)
        assert all(0 <= s < e <= len(text + more) for s, e in zip(folded.starts, folded.ends, strict=True))


@pytest.mark.parametrize(
    ("text", "folded"),
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
def test_what_is_folded_away_and_what_is_kept(text: str, folded: str) -> None:
    assert fold(text).text == folded


def test_capitals_stay_on_request() -> None:
    assert fold("US", case=False).text == "US"
    assert fold("Ünited", case=False).text == "United"


def test_places_are_those_of_whole_letters() -> None:
    folded = fold("aß\u0301b")  # ß with an accent is two folded characters and two of the original
    assert folded.text == "assb"
    assert folded.place(1, 3) == (1, 3) and folded.place(3, 4) == (3, 4)
    assert folded.whole(1, 3) and not folded.whole(1, 2) and not folded.whole(2, 3)


def test_a_text_of_ascii_needs_no_places() -> None:
    folded = fold("Rome")
    assert folded.starts is None and folded.ends is None
    assert folded.place(1, 3) == (1, 3) and folded.whole(1, 2)


def test_a_letter_of_endless_marks_is_folded_in_time() -> None:
    assert fold("Z" + "\u0301" * 100_000 + "x").text == "zx"
