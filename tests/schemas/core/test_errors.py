from __future__ import annotations

import pytest

from schemas.core.errors import DataError, MissingPackage, ModelError, StoreError, UserError


def test_errors_read_as_one_sentence() -> None:
    assert str(UserError("a", where="w", allowed="x, y", fix="do b")) == "w: a; allowed: x, y; do b"
    assert "pip install 'scedit[eval]'" in str(MissingPackage("torch", extra="eval"))


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({}, "a"),
        ({"where": "w"}, "w: a"),
        ({"allowed": "x"}, "a; allowed: x"),
        ({"fix": "do b"}, "a; do b"),
        ({"where": "", "allowed": "", "fix": ""}, "a"),
    ],
)
def test_what_is_not_known_is_not_said(parts: dict[str, str], text: str) -> None:
    assert str(UserError("a", **parts)) == text


@pytest.mark.parametrize("kind", [DataError, StoreError, ModelError])
def test_every_fault_of_a_user_is_caught_as_one(kind: type[UserError]) -> None:
    error = kind("a", where="w", allowed="x", fix="b")
    assert isinstance(error, UserError)
    assert (error.what, error.where, error.allowed, error.fix) == ("a", "w", "x", "b")
