"""Fixtures for everything that runs a model: tiny random ones, and the embedded one where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

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


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports with blank pictures: drawing takes two thirds of a report's time. ``monkeypatch.undo()`` draws them."""
    blank = SimpleNamespace(name="blank", title="blank", svg="<svg></svg>", caption="", chart=None)
    for name in ("draw", "heat_map"):
        monkeypatch.setattr(f"evaluation.report.html_page.{name}", lambda *_: blank)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """One thread in this process, as Ray gives a worker; with another number the last bits differ."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
