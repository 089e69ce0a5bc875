"""What was pushed, as digests: so that an answer to a text, form or scale that was changed since is not taken."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from typing import Any

from annotation_ui.label_studio.labeling_config import label_config, task_data
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.forms import Form
from schemas.core.errors import UserError
from schemas.core.ids import content_id

CONFIG_CHANGED = "the labelling configuration of its project was changed since the push"
DATA_CHANGED = "the task's data was changed since the push"


def data_digest(data: object) -> str:
    """Of a task's data: its texts, form and item, whatever the order of the keys.

    Example:
        >>> data_digest({"a": "x", "b": "y"}) == data_digest({"b": "y", "a": "x"}) != data_digest({"a": "x"})
        True
    """
    try:
        return content_id("label studio task", data)
    except (TypeError, ValueError, RecursionError):
        return "unreadable"


def config_digest(config: object) -> str:
    """Of a labelling configuration: what it says, not how its tags are written.

    Example:
        >>> config_digest('<View><A b="1" c="2"/></View>') == config_digest('<View> <A c="2" b="1"></A></View>')
        True
    """
    try:
        canonical = ET.canonicalize(str(config), strip_text=True)
    except ET.ParseError:
        return "unreadable"
    return content_id("label studio configuration", " ".join(canonical.split()))


def keep_config(db: RatingsDB, site: str, name: str, owner: str, form: Form) -> None:
    """Keep the digest of a project's configuration before anything is pushed to it.

    Raises:
        UserError: the project was made with another form than the one that the task has now.
    """
    digest = config_digest(label_config(form))
    known = db.remote_names(site, f"config/{name}").get(owner)
    if known not in (None, digest):
        raise UserError(
            f"the form of '{name}' was changed since it was pushed, and its version was not raised",
            where=form.label,
            fix="put the form back, or raise its version and make a new campaign",
        )
    if known is None and owner not in db.remote_names(site, f"project/{name}"):  # else an earlier version made it
        db.link(site, f"config/{name}", [(owner, digest)])


def keep_tasks(db: RatingsDB, site: str, name: str, owner: str, items: Mapping[str, Any], form: Form) -> None:
    """Keep the digests of items' tasks, as they are pushed now; those that are kept already stay."""
    known = db.remote_names(site, f"digest/{name}/{owner}")
    fresh = [(i, data_digest(task_data(placed.item, form))) for i, placed in items.items() if i not in known]
    if fresh:
        db.link(site, f"digest/{name}/{owner}", fresh)


class PushedDigests:
    """The digests of one project (or, for an export, of all): what a task's data must come to.

    Args:
        tasks: Digests by item.
        config: Whether the project's configuration is what was pushed; None where that is not known.
    """

    def __init__(self, tasks: Mapping[str, str], *, config: bool | None = None) -> None:
        self.tasks, self.config = tasks, config

    def fault(self, item: str | None, data: object) -> str:
        """Why a task of an item is not what was pushed; empty where it is, or where no digest was kept."""
        if self.config is False:
            return CONFIG_CHANGED
        known = self.tasks.get(item or "")
        return DATA_CHANGED if known is not None and known != data_digest(data) else ""

    def unchecked(self, items: set[str]) -> str:
        """What could not be checked, as a sentence; empty where everything was.

        Args:
            items: The items that annotations came for.
        """
        bare = len(items - set(self.tasks))
        if bare:
            return f"texts of {bare} of {len(items)} tasks were not checked: they were pushed by an earlier version"
        return "" if self.config is not None or not items else "the labelling configuration was not checked"


def digests_of_project(db: RatingsDB, site: str, name: str, owner: str, config: object) -> PushedDigests:
    """What was kept at the push of one project, compared with the configuration that it has now."""
    digest = db.remote_names(site, f"config/{name}").get(owner)
    same = None if digest is None or config is None else digest == config_digest(config)
    return PushedDigests(db.remote_names(site, f"digest/{name}/{owner}"), config=same)


def digests_of_campaign(db: RatingsDB, name: str) -> PushedDigests:
    """What was kept at any push of a campaign, for a recorded export (which does not hold the configuration)."""
    tasks: dict[str, str] = {}
    for kind in db.link_kinds(f"digest/{name}/"):
        tasks |= db.remote_names(None, kind)
    return PushedDigests(tasks)
