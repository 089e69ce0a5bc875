"""Settings, times, ids, errors, and what a file is that is not UTF-8."""

from __future__ import annotations

import hashlib
import math
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError

from schemas.core.clock import now, today
from schemas.core.config import Options, override, read_toml, validate
from schemas.core.decoding import line_of, why_not_utf8, wide_encoding
from schemas.core.errors import DataError, MissingPackage, UserError
from schemas.core.ids import ID_LENGTH, canonical_json, content_id, digest, seed, slug


class Params(Options):
    layer: int = 5
    sizes: tuple[Annotated[int, Field(ge=1)], ...] = ()
    shares: dict[str, float] = Field(default_factory=dict)
    rate: Annotated[float, Field(gt=0)] = 1.0
    either: int | bool = 3
    free: Any = None
    flag: Literal[True] | int = 3


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a = ", "not readable as TOML"), (b"\xff\xfe", "not UTF-8 text but UTF-16"), (None, "no such")],
)
def test_bad_toml(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "x.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_toml(path)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"layer": "x"}, "run.toml: layer: Input should be a number, not a text"),
        ({"laier": 3}, "run.toml: laier: unknown field, did you mean 'layer'"),
        ({"zzz": 1}, "run.toml: zzz: unknown field; allowed: layer, "),
        ({"zzz": 1, "layer": "x"}, "(and 1 more)"),
        (3, "run.toml: Input should be a table"),
        ({"sizes": 3}, "run.toml: sizes: Input should be a list"),
        ({"layer": True}, "run.toml: layer: Input should be a number, not true or false"),
        ({"layer": "4"}, "run.toml: layer: Input should be a number, not a text"),
        ({"sizes": [4, "5"]}, "run.toml: sizes: Input should be a number, not a text"),
        ({"shares": {"a": "1"}}, "run.toml: shares: Input should be a number, not a text"),
        ({"sizes": [4, False]}, "run.toml: sizes: Input should be a number"),
        ({"shares": {"a": True}}, "run.toml: shares: Input should be a number"),
        ({"rate": True}, "run.toml: rate: Input should be a number"),
        ({"rate": math.inf}, "run.toml: rate: Input should be a finite number"),
        ({"rate": math.nan}, "run.toml: rate: Input should be a finite number"),
    ],
)
def test_a_mistake_is_one_sentence(data: object, sentence: str) -> None:
    with pytest.raises(DataError) as error:
        validate(Params, data, where="run.toml")
    assert sentence in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("data", [{"either": True}, {"free": [True]}, {"flag": True}, {"layer": 3.0}])
def test_a_truth_value_stands_where_the_option_takes_one(data: dict[str, Any]) -> None:
    assert validate(Params, data, where="run.toml").model_dump() == Params().model_dump() | data


@pytest.mark.parametrize(
    ("settings", "result"),
    [
        (["a.b=3"], {"a": {"c": 1, "b": 3}}),
        (["a.b=true"], {"a": {"c": 1, "b": True}}),
        (["a.b=rome"], {"a": {"c": 1, "b": "rome"}}),
        (['a.b=["x"]'], {"a": {"c": 1, "b": ["x"]}}),
        (["a.b=1e-3"], {"a": {"c": 1, "b": 1e-3}}),
        (["a.b=1", "a.b=2", "a.d=3"], {"a": {"c": 1, "b": 2, "d": 3}}),
        (['a={ name = "batch", size = 10 }'], {"a": {"name": "batch", "size": 10}}),
        (["a={ broken"], {"a": "{ broken"}),
        (["a="], {"a": ""}),
        (["a=x=y"], {"a": "x=y"}),
        (["a=null"], {"a": None}),
        (["a=[1, 2]"], {"a": [1, 2]}),
    ],
)
def test_settings_change_a_copy(settings: list[str], result: object) -> None:
    data = {"a": {"c": 1}}
    assert override(data, settings) == result
    assert data == {"a": {"c": 1}}


@pytest.mark.parametrize(
    ("setting", "message"), [("novalue", "name=value"), ("=3", "name=value"), ("a.b=2", "is a value")]
)
def test_settings_that_are_refused(setting: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        override({"a": 1}, [setting])


def test_options_do_not_change() -> None:
    with pytest.raises(ValidationError):
        Params().layer = 6  # type: ignore[misc]


@pytest.mark.parametrize(
    ("choice", "form"),
    [
        ({}, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00"),
        ({"precision": "minutes"}, r"\d{4}-\d\d-\d\dT\d\d:\d\d\+00:00"),
        ({"precision": "milliseconds"}, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00"),
        ({"zone": "Z"}, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"),
    ],
)
def test_forms_of_times(choice: dict[str, Any], form: str) -> None:
    assert re.fullmatch(form, now(**choice))


def test_it_is_the_present_in_utc() -> None:
    before = datetime.now(UTC)
    moment = datetime.fromisoformat(now("milliseconds"))
    assert before - timedelta(milliseconds=1) <= moment <= datetime.now(UTC)
    later = datetime.fromisoformat(now("milliseconds", plus=timedelta(hours=12)))
    assert timedelta(hours=12) <= later - moment < timedelta(hours=12, minutes=1)
    assert today() in {before.date().isoformat(), datetime.now(UTC).date().isoformat()}


@pytest.mark.parametrize(
    ("data", "message", "line"),
    [
        ("one\ntwo Côte".encode("latin-1"), "Latin-1", 2),
        ("Côte".encode("utf-16"), "but UTF-16", 1),
        ("Côte".encode("utf-32"), "but UTF-32", 1),
        (b"\x00\x00\xfe\xff\x00\x00\x00a", "but UTF-32", 1),
        ("Côte".encode("utf-16-be"), "not a text file", 1),
        (b"\x00\x01\n\xff", "not a text file", 2),
    ],
)
def test_bytes_that_are_no_text(data: bytes, message: str, line: int) -> None:
    with pytest.raises(UnicodeDecodeError) as error:
        data.decode()
    assert message in why_not_utf8(error.value) and line_of(error.value) == line


MARKS = ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"]
NEITHER = [b"", b"a", b"\0", b"a\0", bytes(4), b"abcd", b"ab\0\0", b"\0\0ab", b"\0abc", b"a\0bc"]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        *((text.encode(mark)[:4], mark[:6].upper()) for mark in MARKS for text in ("ab", '{"', "[\n")),
        *((head, None) for head in NEITHER),
    ],
)
def test_two_and_four_bytes_a_letter_are_told_apart(head: bytes, name: str | None) -> None:
    assert wide_encoding(head) == name


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"where": "w", "allowed": "x, y", "fix": "do b"}, "w: a; allowed: x, y; do b"),
        ({}, "a"),
        ({"where": "w"}, "w: a"),
        ({"allowed": "x"}, "a; allowed: x"),
        ({"fix": "do b"}, "a; do b"),
        ({"where": "", "allowed": "", "fix": ""}, "a"),
    ],
)
def test_errors_read_as_one_sentence(parts: dict[str, str], text: str) -> None:
    assert str(UserError("a", **parts)) == str(DataError("a", **parts)) == text
    assert "pip install 'scedit[eval]'" in str(MissingPackage("torch", extra="eval"))


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()))
def test_canonical_json_ignores_order(data: dict[str, object]) -> None:
    reversed_data = dict(reversed(list(data.items())))
    assert canonical_json(data) == canonical_json(reversed_data)
    assert content_id("k", data) == content_id("k", reversed_data)


def test_ids_that_users_keep_in_their_stores() -> None:
    assert content_id("fact", {"a": "é"}) == "5996e8eff673a3bb4079"
    assert digest(["a", "b"]) == "911169ddaaf146aff539f58c26c489af3b892dff0fe283c1c264c65ae5aa59a2"
    assert digest([]) == hashlib.sha256(b"").hexdigest()
    assert seed("split", "case") == 196225722742921494


def test_an_id_is_of_kind_and_content() -> None:
    assert content_id("fact", {"a": 1}) != content_id("script", {"a": 1})
    assert content_id("fact", {"a": 1}) != content_id("fact", {"a": 1.0})
    assert content_id("fact", "é") != content_id("fact", "e\u0301"), "strings are not normalised"
    assert len(content_id("fact", "\ud800")) == ID_LENGTH and len(digest(["\ud800"])) == 64, "half a character"
    assert digest(["ab", ""]) != digest(["a", "b"]) != digest(["ab"])
    assert seed("a", "b") != seed("ab")


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_what_json_has_no_word_for_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        canonical_json({"a": number})


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        ("Saint-Étienne's café!", "saint-etienne-s-cafe"),
        ("東京", "東京"),
        ("", "x"),
        ("?!", "x"),
        ("a" * 60, "a" * 48),
        ("a" * 47 + " b", "a" * 47),
        ("Straße 7", "strasse-7"),
        ("_a_", "a"),
    ],
)
def test_a_slug_is_never_empty_and_never_long_and_ends_in_no_hyphen(text: str, piece: str) -> None:
    assert slug(text) == piece
