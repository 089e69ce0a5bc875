"""Fixtures that all tests share: small facts, and where the shared test data lies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from schemas.facts import Fact
from tests.support.facts import peru_fact

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # tests need no hub, and do not wait for one that is not there

# A busy machine is no fault of an example: neither a deadline nor the time that its making took fails a test.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

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


@pytest.fixture(scope="session")
def embedded() -> LM:
    """SmolLM2-135M in float32 on the CPU, from the user's cache folder (converted there on first use)."""
    from curation.files.model_packages import embedded_gguf
    from evaluation.models.language_model import LM
    from schemas.core.errors import ModelError

    try:
        embedded_gguf()
    except ModelError as error:
        pytest.skip(f"the embedded model is not here: {error}")
    return LM.load("embedded", device="cpu")
