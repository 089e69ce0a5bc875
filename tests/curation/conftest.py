"""Fixtures that the tests of rules share; other modules have a ``store`` of their own."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from curation.store.store import Store
from tests.support.curation.rule_records import BESIDE, CHAINS, EDIT, LINK, OTHER
from tests.support.facts import peru_fact


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("base") / "s.duckdb"
    with Store.open(path, create=True) as store:
        store.put([EDIT, OTHER, LINK, *itertools.chain(*CHAINS), *BESIDE])
    return path


@pytest.fixture
def store(base: Path, tmp_path: Path) -> Iterator[Store]:
    with Store.open(shutil.copy(base, tmp_path / "s.duckdb"), write=True) as db:
        yield db


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Store]:
    """The edit without its neighbour, whose question is like the edit's."""
    with Store.open(tmp_path / "alone.duckdb", create=True) as store:
        store.put([EDIT, *itertools.chain(*CHAINS)])
        yield store


@pytest.fixture
def two_edits(tmp_path: Path) -> Path:
    """A store with two edits: one of two questions with their prompts, one of a single prompt."""
    chile = peru_fact("f/chile")
    texts = [r.model_copy(update={"key": f"c{n}", "fact": chile.key}) for n, r in enumerate(CHAINS[0]) if n != 1]
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([EDIT, *CHAINS[0], *CHAINS[1], chile, texts[0], texts[1].model_copy(update={"script": None})])
    return tmp_path / "s.duckdb"
