"""Options of a campaign: how items are chosen and assigned, and what people see around them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import field_validator

from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.invitations import web_address
from annotation_ui.ratings.records import Campaign
from schemas.core.config import Options, validate
from schemas.core.errors import UserError

LONGEST_CONSENT = 100_000  # characters


class CampaignOptions(Options):
    """How a campaign's items are chosen and assigned.

    Attributes:
        overlap: Raters per item.
        batch: Items a batch.
        percent: How many of the store's items, stratified; 100 for all.
        least: From every stratum at the least, when sampled.
        only: ``all`` items, or those that the checks are ``unsure`` about (for people to decide).
        consent: What people agree to before they begin; empty for none.
        number: How many items, in place of a percentage; None for a percentage.
        group: Campaigns of one group ask about the same drawn items; empty for a campaign on its own.
        spans: Whether words of the shown texts can be marked.
        stop_width: The round is over once the interval of every difference between methods is narrower; None: never.
        routing: Share open items out by what they tell about those differences, instead of evenly.
        completion_code: What the finish page tells, for a crowd service; empty for none.
        completion_url: Where the finish page leads, likewise.
    """

    overlap: int = 2
    batch: int = 20
    percent: float = 100.0
    least: int = 1
    only: str = "all"
    consent: str = ""
    number: int | None = None
    group: str = ""
    spans: bool = False
    stop_width: float | None = None
    routing: bool = False
    completion_code: str = ""
    completion_url: str = ""

    @field_validator("completion_code")
    @classmethod
    def _check_code(cls, code: str) -> str:
        if code and not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", code):
            raise ValueError("a completion code is 1 to 64 letters, digits, - or _")
        return code

    @field_validator("completion_url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        if url and web_address(url, "https") is None:
            raise ValueError("a completion address begins with https:// and names a host")
        return url

    @field_validator("consent")
    @classmethod
    def _check_consent(cls, text: str) -> str:
        if text and not text.strip():
            raise ValueError("the consent text is empty; write what raters agree to, or leave it out")
        if any(c in text for c in "\x00\ufffd") or any("\ud800" <= c <= "\udfff" for c in text):
            raise ValueError("the consent text is no plain text; save it as UTF-8")
        if len(text) > LONGEST_CONSENT:
            raise ValueError(f"the consent text has {len(text)} characters; allowed: at most {LONGEST_CONSENT}")
        return text


def campaign_options(db: RatingsDB, name: str, options: Mapping[str, Any]) -> CampaignOptions:
    """The options of a campaign: those that are given now, else those that it was made with, else the usual ones.

    Args:
        db: The ratings file.
        name: Of the campaign, which may not be there yet.
        options: By name; None, False and empty text count as not given.
    """
    known = set(CampaignOptions.model_fields)
    earlier = next((c.settings for c in db.campaigns() if c.name == name), {})
    earlier_options = {k: v for k, v in earlier.items() if k in known and v is not None}
    now_given = {k: v for k, v in options.items() if v not in (None, False, "")}
    if {"number", "percent"} & now_given.keys():  # one replaces the other
        earlier_options = {k: v for k, v in earlier_options.items() if k not in ("number", "percent")}
    return validate(CampaignOptions, earlier_options | now_given, where=f"campaign '{name}'")


def as_begun(sharing: CampaignOptions, before: Campaign) -> CampaignOptions:
    """Options of a campaign that is there: its group and its form stay as they were.

    Raises:
        UserError: words shall be marked, and could not be so far.
    """
    marking = bool(before.settings.get("spans"))
    if sharing.spans and not marking:
        raise UserError(
            f"the campaign '{before.name}' was made without marked words",
            where="spans",
            fix="leave them out, or make a new campaign with them",
        )
    return sharing.model_copy(
        update={"group": sharing.group or str(before.settings.get("group", "")), "spans": marking}
    )
