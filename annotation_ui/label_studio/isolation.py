"""The strict way: a Label Studio of their own for everybody, so that nobody can look at, or change, another's work.

Community shows every account of a server all its projects. Where that is too much, each rater gets a server with one
project and one account beside the owner's.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from annotation_ui.label_studio.client import LabelStudioSite, account_email
from annotation_ui.label_studio.push_rules import refuse_push
from annotation_ui.label_studio.server import start_server, stop_server
from annotation_ui.label_studio.validation import PullResult
from annotation_ui.ratings.database import RatingsDB
from schemas.core.errors import UserError

_PEOPLE = "people"


class IsolatedPush(NamedTuple):
    """One rater's own server: where it is, the account's password if it is new, and tasks that were new or known."""

    person: str
    url: str
    email: str
    password: str | None
    new: int
    known: int


def push_isolated(db: RatingsDB, name: str, folder: Path) -> list[IsolatedPush]:
    """Start a server for each rater of a campaign, make their account, and bring their items over; repeats nothing.

    Args:
        db: The campaign with its assignments.
        name: Of the campaign.
        folder: Keeps the servers' data, a folder a person.

    Raises:
        UserError: as ``refuse_push``, for anybody, before a server is started.
    """
    raters = sorted({a.person for a in db.assignments(name)})
    refuse_push(db, db.campaign(name), set(raters))
    out = []
    for person in raters:
        site = _site(folder, person)
        known = person in db.remote_names(site.url, "person")
        account = None if known else site.invite(db, person)
        pushed = site.push(db, name, person=person)
        project = next(iter(pushed.projects.values()), "")
        url, email = f"{site.url}/projects/{project}/data?labeling=1", account_email(person)
        out.append(IsolatedPush(person, url, email, account and account.password, pushed.new, pushed.known))
    return out


def pull_isolated(db: RatingsDB, name: str, folder: Path) -> PullResult:
    """Bring the annotations of everybody's own server back.

    Raises:
        UserError: nobody has a server of their own.
    """
    people = [p for p in sorted({a.person for a in db.assignments(name)}) if person_folder(folder, p).is_dir()]
    if not people:
        raise UserError(
            f"nobody of '{name}' has a server of their own",
            where=str(folder),
            fix=f"run: scedit annotate label-studio isolate {name}",
        )
    results = [_site(folder, person).pull(db, name) for person in people]
    return PullResult(
        sum(f.answers for f in results),
        sum(f.new for f in results),
        tuple(r for f in results for r in f.rejected),
        tuple(m for f in results for m in f.missing),
        tuple(u for f in results for u in f.unchecked),
    )


def stop_isolated(folder: Path) -> int:
    """Stop everybody's own server; returns how many ran. Their data stays."""
    folders = sorted((folder / _PEOPLE).iterdir()) if (folder / _PEOPLE).is_dir() else []
    return sum(stop_server(f) for f in folders)


def person_folder(folder: Path, person: str) -> Path:
    """Where a person's own server keeps its data."""
    return folder / _PEOPLE / f"rater-{quote(person, safe='')}"


def _site(folder: Path, person: str) -> LabelStudioSite:
    server_folder = person_folder(folder, person)
    server_folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    access = start_server(server_folder)
    return LabelStudioSite(access.url, access.token)
