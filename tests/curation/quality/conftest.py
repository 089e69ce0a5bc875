"""A store that holds thirty cases of mini, and a sample of them that two people are asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.loaders.importer import import_split
from curation.quality.sample import Sample, draw, keep_people, keep_sample, sample_named
from curation.store.store import Store
from tests.support.curation.judged_sample import MINI


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("base") / "s.duckdb"
    import_split(MINI, path, origin="test")
    return path


@pytest.fixture
def sample(store: Store) -> Sample:
    draw_result = draw(MINI, percent=30)
    keep_sample(store, draw_result)
    keep_people(store, {d.item_id: ("ann", "bob") for d in draw_result.items})
    keep_sample(store, draw_result)  # again changes nothing
    return sample_named(store, draw_result.name[:6])
