"""Fixtures for everything that runs a model: tiny random ones, and the embedded one where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.files.artifact_cache import Cache
from evaluation.models.language_model import LM
from tests.support.tiny import make


@pytest.fixture(params=["llama", "gpt2"])
def tiny(request: pytest.FixtureRequest) -> LM:
    """A fresh tiny model: Linear with a start token, and Conv1D without one."""
    return make(request.param)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")
