from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.core.ids import ID_LENGTH, canonical_json, content_id, digest, seed, slug


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_canonical_json_ignores_order(data: dict[str, object]) -> None:
    reversed_data = dict(reversed(list(data.items())))
    assert canonical_json(data) == canonical_json(reversed_data)
    assert content_id("k", data) == content_id("k", reversed_data)


def test_seed_and_slug() -> None:
    assert 0 <= seed("a", "b") < 2**63
    assert seed("a", "b") != seed("ab")
    assert slug("Saint-Étienne's café!") == "saint-etienne-s-cafe"
    assert slug("東京") == "東京"


def test_ids_that_users_keep_in_their_stores() -> None:
    assert content_id("fact", {"a": "é"}) == "5996e8eff673a3bb4079"
    assert digest(["a", "b"]) == "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2"
    assert seed("split", "case") == 196225722742921494


def test_an_id_is_of_kind_and_content() -> None:
    assert content_id("fact", {"a": 1}) != content_id("script", {"a": 1})
    assert content_id("fact", {"a": 1}) != content_id("fact", {"a": 1.0})
    assert content_id("fact", "é") != content_id("fact", "e\u0301"), "strings are not normalised"


def test_half_a_character_has_an_id() -> None:
    assert len(content_id("fact", "\ud800")) == ID_LENGTH
    assert len(digest(["\ud800"])) == 64


def test_parts_of_a_digest_stay_apart() -> None:
    assert digest(["ab", ""]) != digest(["a", "b"]) != digest(["ab"])
    assert digest([]) == hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_json_has_no_word_for_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"a": number})


@pytest.mark.parametrize(
    ("text", "piece"), [("", "x"), ("?!", "x"), ("a" * 60, "a" * 48), ("Straße 7", "strasse-7"), ("_a_", "a")]
)
def test_a_slug_is_never_empty_and_never_long(text: str, piece: str) -> None:
    assert slug(text) == piece


def test_a_slug_that_is_cut_ends_in_no_hyphen() -> None:
    assert slug("abc def", length=4) == "abc"
