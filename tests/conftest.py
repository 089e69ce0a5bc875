"""Fixtures that all tests share: small facts, and where the shared test data lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from schemas.facts import Fact
from tests.support.facts import peru_fact

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


@pytest.fixture
def peru() -> Fact:
    return peru_fact()
