"""A ratings file that is not there yet, and a store that is; how the commands are called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from curation.store.store import Store
from tests.support.commands import command as command_of


def call(*args: Any) -> Result:
    """``scedit annotate`` with these words."""
    return CliRunner().invoke(command_of("annotate"), [str(a) for a in args], catch_exceptions=False)


@pytest.fixture
def db_path(tmp_path: Path) -> Path:
    return tmp_path / "r.sqlite"


@pytest.fixture
def store_path(store: Store) -> Path:
    store.close()
    return store.path
