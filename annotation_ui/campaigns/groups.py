"""Groups: campaigns that ask different things about the same drawn items, in an order that spoils nothing."""

from __future__ import annotations

from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import answered_items, has_open_items, next_item, skipped_items
from annotation_ui.ratings.records import Campaign
from annotation_ui.tasks import TASKS
from schemas.core.errors import UserError


def campaigns_of_group(db: RatingsDB, group: str) -> list[Campaign]:
    """The campaigns of a group, oldest first: the first one drew the items. None for no group."""
    return [c for c in db.campaigns() if group and c.settings.get("group") == group]


def earlier_campaigns(db: RatingsDB, campaign: Campaign) -> list[Campaign]:
    """Campaigns of the group that everybody does before this one: theirs shows less than this one tells."""
    after = _tasks_before(campaign.task)
    return [c for c in campaigns_of_group(db, str(campaign.settings.get("group", ""))) if c.task in after]


def waiting_for(db: RatingsDB, campaign: Campaign, person: str) -> str | None:
    """The campaign that a person has to finish first; None where nothing stands before this one."""
    for earlier in earlier_campaigns(db, campaign):
        if has_open_items(db, earlier.name, person):
            return earlier.name
    return None


def closed_items(db: RatingsDB, campaign: Campaign, person: str) -> set[str]:
    """Items whose answer a person cannot change any more: a later campaign shows more of them.

    That is what the person answered or skipped there, and the item that stands open there now: it may be on the screen.
    """
    later = [
        c
        for c in campaigns_of_group(db, str(campaign.settings.get("group", "")))
        if campaign.task in _tasks_before(c.task)
    ]
    return {item for c in later for item in _seen_items(db, c, person)}


def _seen_items(db: RatingsDB, campaign: Campaign, person: str) -> set[str]:
    seen = {*answered_items(db, campaign.name, person), *skipped_items(db, campaign.name, person)}
    if seen or waiting_for(db, campaign, person) is None:
        at = next_item(db, campaign.name, person)
        seen |= {at.item} if at else set()
    return seen


def refuse_disorder(db: RatingsDB, name: str, task: str, group: str) -> None:
    """Refuse a campaign that should have come before one that has answers already.

    Raises:
        UserError: it should.
    """
    for other in campaigns_of_group(db, group):
        if other.name != name and task in _tasks_before(other.task) and db.history(other.name):
            raise UserError(
                f"'{task}' comes before '{other.task}', and '{other.name}' of the group '{group}' has answers already",
                fix="make it in a group of its own, for other raters",
            )


def refuse_unshared(db: RatingsDB, campaign: Campaign) -> None:
    """Refuse to assign a campaign before those that come first.

    Raises:
        UserError: one that comes first is not assigned.
    """
    for earlier in earlier_campaigns(db, campaign):
        if not db.assignments(earlier.name):
            raise UserError(
                f"'{earlier.name}' comes before '{campaign.name}' and is not assigned",
                fix=f"run: scedit annotate assign {earlier.name}",
            )


def _tasks_before(task: str) -> tuple[str, ...]:
    after: tuple[str, ...] = TASKS.get(task).after
    return after
