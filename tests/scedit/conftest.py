"""What all tests of the Python door need."""

from __future__ import annotations

import pytest

from curation.loaders import LOADERS
from evaluation.editors import EDITORS
from evaluation.metrics import METRICS


@pytest.fixture(autouse=True)
def own_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes that a test hands over are registered for that test alone."""
    for registry in (EDITORS, METRICS, LOADERS):
        monkeypatch.setattr(registry, "_added", {})
