from __future__ import annotations

import os
from pathlib import Path

import pytest

from schemas.facts import Fact
from tests.support import ROOT
from tests.support.facts import make_fact


@pytest.fixture
def fact() -> Fact:
    return make_fact()


@pytest.fixture(scope="session")
def grouped() -> Path:
    root = Path(os.environ.get("SCEDIT_SHARED") or ROOT.parent / "shared")
    path = root / "data/counterfact/counterfact_grouped.json"
    if not path.exists():
        pytest.skip(f"the shared data is not here ({path.name} of CounterFact; set SCEDIT_SHARED)")
    return path


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key for endpoints; a test that needs none takes it away."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-for-tests")
