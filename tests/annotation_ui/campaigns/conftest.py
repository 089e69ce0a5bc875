"""A campaign that is ready for three people."""

from __future__ import annotations

import pytest

from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.conftest import TASK


@pytest.fixture
def ready(db: RatingsDB, store: Store) -> RatingsDB:
    for name in ("ann", "bob", "chloe"):
        people.invite(db, name)
    create_campaign(db, store, "pilot", make_task(TASK), CampaignOptions(overlap=2, batch=4))
    assign_items(db, "pilot")
    return db
