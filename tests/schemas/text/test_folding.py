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


def test_capitals_stay_on_request() -> None:
    assert fold("US", case=False).text == "US"
    assert fold("Ünited", case=False).text == "United"


def test_places_are_those_of_whole_letters() -> None:
    folded_text = fold("aß\u0301b")  # ß with an accent is two folded characters and two of the original
    assert folded_text.text == "assb"
    assert folded_text.place(1, 3) == (1, 3) and folded_text.place(3, 4) == (3, 4)
    assert folded_text.whole(1, 3) and not folded_text.whole(1, 2) and not folded_text.whole(2, 3)


def test_a_text_of_ascii_needs_no_places() -> None:
    folded_text = fold("Rome")
    assert folded_text.starts is None and folded_text.ends is None
    assert folded_text.place(1, 3) == (1, 3) and folded_text.whole(1, 2)


def test_a_letter_of_endless_marks_is_folded_in_time() -> None:
    assert fold("Z" + "\u0301" * 100_000 + "x").text == "zx"
