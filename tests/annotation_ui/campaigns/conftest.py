"""A campaign that is ready for three people."""

from __future__ import annotations

import pytest

from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.conftest import TASK, begin


@pytest.fixture
def ready(db: RatingsDB, store: Store) -> RatingsDB:
    begin(db, store, "pilot", TASK, "ann", "bob", "chloe", overlap=2, batch=4)
    return db
