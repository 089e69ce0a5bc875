"""Options of a campaign: kept where they are not given again, and never changed under people's answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation_ui.campaigns.campaign import (
    CampaignOptions,
    campaign_options,
    campaign_task,
    create_campaign,
    make_task,
)
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.annotation_ui.cli.conftest import call


def test_a_campaign_keeps_what_is_not_given_again(db: RatingsDB, store: Store) -> None:
    task = make_task("filter_question")
    first = {"overlap": 3, "batch": 7, "consent": "I agree", "number": 5, "percent": None, "spans": True, "group": ""}
    create_campaign(db, store, "pilot", task, campaign_options(db, "pilot", first))
    defaults = dict.fromkeys(first) | {"spans": False, "group": "", "percent": 50.0}
    options = campaign_options(db, "pilot", defaults)
    assert (options.overlap, options.batch, options.consent, options.spans) == (3, 7, "I agree", True)
    assert (options.percent, options.number) == (50.0, None), "one size replaces the other"
    with pytest.raises(UserError, match="neither grows nor shrinks"):
        create_campaign(db, store, "pilot", task, options)
    create_campaign(db, store, "pilot", task, options.model_copy(update={"percent": 100.0, "number": 5}))
    assert [f.kind for f in campaign_task(db, "pilot").form.fields].count("spans") == 1
    assert campaign_options(db, "other", {}) == CampaignOptions()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n\t", "the consent text is empty"),
        ("W\x00e\x00", "no plain text; save it as UTF-8"),
        ("We keep \ufffd", "no plain text"),
        ("\ud800", "no plain text"),
        ("x" * 100_001, "has 100001 characters; allowed: at most 100000"),
    ],
)
def test_a_consent_text_that_nobody_could_read_is_refused(db: RatingsDB, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        campaign_options(db, "pilot", {"consent": text})
    assert len(str(caught.value)) < 300 and str(caught.value).encode()


@pytest.mark.parametrize("content", [b"", b"\n", b"\xef\xbb\xbf", "Wir".encode("utf-16"), "Wir für".encode("latin-1"),
                                     "We".encode("utf-16-le")])  # fmt: skip
def test_a_file_without_a_consent_text_asks_nobody_for_nothing(
    db: RatingsDB, store: Store, tmp_path: Path, content: bytes
) -> None:
    """An empty file was taken for no option: people rated without having been asked."""
    path = tmp_path / "consent.txt"
    path.write_bytes(content)
    store.close()
    with pytest.raises(UserError, match="consent text is"):
        call("new", "pilot", "--task", "rate_script", "-s", store.path, "-r", db.path, "--consent", path)
    assert db.campaigns() == []


def test_marks_cannot_be_asked_for_later(db: RatingsDB, store: Store) -> None:
    task = make_task("filter_question")
    create_campaign(db, store, "pilot", task, CampaignOptions())
    with pytest.raises(UserError, match="made without marked words"):
        create_campaign(db, store, "pilot", task, CampaignOptions(spans=True))
