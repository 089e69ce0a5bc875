"""An empty store, and where it lies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.store.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.duckdb"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path, create=True) as store:
        yield store
