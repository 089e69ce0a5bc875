"""Both ways of small steps: by compiled loops and, as without numba, by PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.models.processor import compiled_steps
from evaluation.models.processor.compilation import has_compiler


@pytest.fixture(params=["by compiled loops", "without numba"], autouse=True)
def small_steps(request: Any, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the module's tests in both; name which."""
    if request.param == "without numba":
        monkeypatch.setattr(compiled_steps, "has_compiler", lambda: False)
    elif not has_compiler():
        pytest.skip("numba is not installed")
    return str(request.param)
