"""Options of a campaign: kept where they are not given again, and never changed under people's answers."""

from __future__ import annotations

import pytest

from annotation_ui.campaigns.campaign import campaign_task, create_campaign, make_task
from annotation_ui.campaigns.options import CampaignOptions, campaign_options
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.core.errors import UserError


def test_a_campaign_keeps_what_is_not_given_again(db: RatingsDB, store: Store) -> None:
    task = make_task("filter_question")
    first = {"overlap": 3, "batch": 7, "consent": "I agree", "number": 5, "percent": None, "spans": True, "group": ""}
    create_campaign(db, store, "pilot", task, campaign_options(db, "pilot", first))
    defaults = dict.fromkeys(first) | {"spans": False, "group": "", "percent": 50.0}
    options = campaign_options(db, "pilot", defaults)
    assert (options.overlap, options.batch, options.consent, options.spans) == (3, 7, "I agree", True)
    assert (options.percent, options.number) == (50.0, None), "one size replaces the other"
    create_campaign(db, store, "pilot", task, options)
    assert [f.kind for f in campaign_task(db, "pilot").form.fields].count("spans") == 1
    assert campaign_options(db, "other", {}) == CampaignOptions()


def test_marks_cannot_be_asked_for_later(db: RatingsDB, store: Store) -> None:
    task = make_task("filter_question")
    create_campaign(db, store, "pilot", task, CampaignOptions())
    with pytest.raises(UserError, match="made without marked words"):
        create_campaign(db, store, "pilot", task, CampaignOptions(spans=True))
