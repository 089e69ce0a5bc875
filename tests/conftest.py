"""Fixtures that all tests share: small facts, and where the shared test data lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from schemas.facts import Entity, Fact, Object, Relation, Source

_ROOT = Path(__file__).resolve().parent.parent


def shared_folder() -> Path | None:
    """The folder of real test data: SCEDIT_SHARED, or ../shared beside the repository."""
    named = os.environ.get("SCEDIT_SHARED")
    folder = Path(named) if named else _ROOT.parent / "shared"
    return folder if (folder / "data").is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    folder = shared_folder()
    if folder is None:
        pytest.skip("the shared test data is not here (set SCEDIT_SHARED)")
    return folder


def fact(key: str = "f/peru", **changes: object) -> Fact:
    """A small fact with any field replaced."""
    fields: dict[str, object] = {
        "key": key,
        "subject": Entity(text="Peru"),
        "relation": Relation(id="P36", label="capital"),
        "prompt": "The capital of {} is",
        "old": Object(text="Lima"),
        "new": Object(text="Oslo"),
        "paraphrases": ("The capital city of Peru is",),
        "source": Source(name="tests", licence="CC0-1.0"),
    }
    return Fact.model_validate({**fields, **changes})


@pytest.fixture
def peru() -> Fact:
    return fact()
