from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest


def _load(name: str) -> None:
    """Make a helper of this folder importable: importlib mode puts no test folder on the path."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
        assert spec and spec.loader
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])


_load("scripted_server")
_load("made_facts")
_load("hostile_text")

from made_facts import make_fact  # noqa: E402


@pytest.fixture
def fact():
    return make_fact()


@pytest.fixture(scope="session")
def grouped() -> Path:
    root = Path(os.environ.get("SCEDIT_SHARED") or Path(__file__).parents[3] / "shared")
    path = root / "data/counterfact/counterfact_grouped.json"
    if not path.exists():
        pytest.skip(f"the shared data is not here ({path.name} of CounterFact; set SCEDIT_SHARED)")
    return path
