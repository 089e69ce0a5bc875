"""Label Studio: annotators who can log in, a project a task, items out, annotations back, validated.

The only import of ``label_studio_sdk``. What Label Studio accepts (values off the scale, missing
dimensions, another's name under an annotation, several annotations of one person) is sorted out here; nothing that is
refused reaches the answers, and nothing that is refused goes unsaid.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import httpx
from label_studio_sdk import LabelStudio
from label_studio_sdk.core.api_error import ApiError

from annotation_ui.campaigns.campaign import refuse_outside_app, task_of
from annotation_ui.label_studio.validation import (
    PullResult,
    RawAnnotation,
    config_digest,
    deleted_annotations,
    label_config,
    named_item,
    task_data,
    validate_annotations,
)
from annotation_ui.ratings.database import Campaign, RatingsDB
from annotation_ui.ratings.raters import get_rater, list_raters
from annotation_ui.tasks.base import RatingTask
from curation.files.json_files import read_json
from schemas.core.errors import DataError, UserError
from schemas.core.ids import slug

PAGE = 200
BROKEN_TASK = "an annotation in it breaks Label Studio; delete the task there, or the annotation by its API"


def read_tasks(client: Any, project: int, pushed: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[str]]:
    """All tasks of a project with their annotations, and the numbers of those that break the server.

    Label Studio takes an annotation with half a character (a lone surrogate) and from then on answers every list that
    it would be in with an error of its own. Such a project is read a task at a time, so that one annotation keeps
    nobody else's back.

    Args:
        client: Makes the requests: the SDK's own, called with a path and a method.
        project: Its number.
        pushed: Content ids by task number.

    Raises:
        ApiError: the project cannot be read at all.
    """
    try:
        return list(task_pages(client, project)), []
    except ApiError as error:
        if (error.status_code or 0) < 500 or not pushed:
            raise
        broken = error
    tasks: list[dict[str, Any]] = []
    unreadable: list[str] = []
    for number in pushed:
        answer = client.request(f"api/tasks/{number}", method="GET")
        if answer.status_code == 200:
            tasks.append(answer.json())
        elif answer.status_code >= 500:
            unreadable.append(number)
    if not tasks:
        raise broken
    return tasks, unreadable


def task_pages(client: Any, project: int) -> Iterator[dict[str, Any]]:
    """All tasks of a project with their annotations, a page at a time (one big export times out).

    A server may give shorter pages than were asked for (``TASK_API_PAGE_SIZE_MAX``), so tasks are counted, not pages.

    Raises:
        ApiError: a page cannot be read.
        UserError: the pages end before the number of tasks that the server names.
    """
    page, seen = 1, set[Any]()
    total = 0
    while True:
        answer = client.request(
            "api/tasks", method="GET", params={"project": project, "fields": "all", "page": page, "page_size": PAGE}
        )
        if answer.status_code == 404 and page > 1:
            break
        if answer.status_code != 200:
            raise ApiError(status_code=answer.status_code, body=answer.text[:200])
        body = answer.json()
        total = int(body["total"])
        new = [task for task in body["tasks"] if task["id"] not in seen]
        seen.update(task["id"] for task in new)
        yield from new
        if len(seen) >= total or not new:
            break
        page += 1
    if len(seen) < total:
        raise UserError(
            f"Label Studio lists {total:,} tasks and gave {len(seen):,} of them",
            where=f"project {project}",
            fix="run the command again; no task is called deleted meanwhile",
        )


CHUNK = 1000
CONFIG_CHANGED = "the labelling configuration of its project was changed since the push"
_EVERYBODY = "*"
_ADDRESS = re.compile(r"[A-Za-z0-9_+-]+(\.[A-Za-z0-9_+-]+)*")
_LONGEST_ADDRESS = 40


class AnnotatorAccount(NamedTuple):
    """An annotator's account. The password is printed once and stored nowhere by us."""

    person: str
    email: str
    password: str


class PushResult(NamedTuple):
    """What a push did: projects there now, tasks that were new, tasks that were there already."""

    projects: dict[str, int]
    new: int
    known: int


def account_email(person: str) -> str:
    """The address that stands for a person there; nothing is ever sent to it.

    Label Studio takes what Django takes for an address: names with other letters or signs get plain ones and a digest.

    Example:
        >>> account_email("ann.b"), account_email("Zo\N{LATIN SMALL LETTER E WITH DIAERESIS}")
        ('ann.b@scedit.invalid', 'zoe-c6a126@scedit.invalid')
    """
    if _ADDRESS.fullmatch(person) and len(person) <= _LONGEST_ADDRESS:
        return f"{person}@scedit.invalid"
    plain = re.sub(r"[^a-z0-9]+", "-", slug(person)).strip("-")[:_LONGEST_ADDRESS] or "rater"
    return f"{plain}-{hashlib.sha256(person.encode()).hexdigest()[:6]}@scedit.invalid"


class LabelStudioSite:
    """A Label Studio, as its owner.

    Args:
        url: Its address.
        token: The owner's access token, legacy or personal.

    Raises:
        UserError: it does not answer, or refuses the token.
    """

    def __init__(self, url: str, token: str) -> None:
        self.url, self._token = url.rstrip("/"), token
        self.sdk: Any = LabelStudio(base_url=self.url, api_key=token)  # type: ignore[no-untyped-call]
        try:
            self.sdk.users.whoami()
        except ApiError as error:
            raise UserError(
                f"Label Studio refuses the token (HTTP {error.status_code})",
                where=self.url,
                fix="take the one of the owner's account page",
            ) from None
        except httpx.HTTPError as error:
            raise UserError(
                f"Label Studio does not answer ({type(error).__name__})",
                where=self.url,
                fix="start it with: label-studio start",
            ) from None

    def invite(self, db: RatingsDB, person: str) -> AnnotatorAccount:
        """Make an account that can log in, for a person of the ratings file.

        The API's own way makes accounts whose password does not work; signing up with an invitation does.

        Raises:
            UserError: nobody is called so, or they have an account here already.
        """
        get_rater(db, person)
        if person in db.remote_names(self.url, "person"):
            raise UserError(f"'{person}' has an account already", where=self.url, fix="reset the password there")
        email, password = account_email(person), secrets.token_urlsafe(12)
        answer = self.sdk._client_wrapper.httpx_client.request("api/invite", method="GET")
        link = answer.json().get("invite_url") if answer.status_code == 200 else None
        if not link:
            raise UserError(f"Label Studio gives no invitation (HTTP {answer.status_code})", where=self.url)
        with httpx.Client(base_url=self.url, follow_redirects=True, timeout=60) as client:
            client.get(link)
            form = {
                "email": email,
                "password": password,
                "csrfmiddlewaretoken": client.cookies.get("csrftoken", ""),
                "allow_newsletters": "false",
            }
            client.post(link, data=form, headers={"Referer": self.url + link})
            who = client.get("/api/current-user/whoami")
            if who.status_code != 200:
                raise UserError(
                    f"the account '{email}' could not be made", where=self.url, fix="is the address taken there?"
                )
        db.link(self.url, "person", [(person, str(who.json()["id"]))])
        return AnnotatorAccount(person, email, password)

    def push(self, db: RatingsDB, name: str) -> PushResult:
        """Bring a campaign's items over: one project, or one a person where people must not see one another.

        Again it adds what is new and repeats nothing; tasks are looked up by their content id first, so a push that was
        stopped half way is completed.

        Args:
            db: The campaign with its assignments.
            name: Of the campaign.

        Raises:
            UserError: see ``refuse_outside_app``.
        """
        campaign, items, assigned = db.campaign(name), db.items(name), db.assignments(name)
        task = task_of(db, name)
        refuse_outside_app(db, campaign, {a.person for a in assigned})
        whose: dict[str, list[str]] = {}
        apart = self._needs_own_projects(db, campaign, task)
        rated_there = [a for a in assigned if items[a.item].purpose != "training"]  # see refuse_outside_app
        for a in rated_there:
            whose.setdefault(a.person if apart else _EVERYBODY, []).append(a.item)
        projects, new, known = {}, 0, 0
        for owner, ids in whose.items():
            project = self._project(db, campaign, task, owner)
            projects[owner] = project
            there = self._tasks(db, name, owner, project)
            missing = [i for i in dict.fromkeys(ids) if i not in there]
            known += len(set(ids)) - len(missing)
            for start in range(0, len(missing), CHUNK):
                chunk = missing[start : start + CHUNK]
                data = [{"data": task_data(items[i].item, task.form)} for i in chunk]
                done = self.sdk.projects.import_tasks(project, request=data, return_task_ids=True)
                pairs = list(zip(chunk, map(str, done.task_ids or []), strict=True))
                db.link(self.url, f"task/{name}/{owner}", pairs)
                new += len(chunk)
        return PushResult(projects, new, known)

    @staticmethod
    def _needs_own_projects(db: RatingsDB, campaign: Campaign, task: RatingTask) -> bool:
        """Whether everybody needs a project of their own: a blind task, or not everybody judges everything."""
        raters = sum(p.role == "rater" for p in list_raters(db))
        return task.blind or int(campaign.settings["overlap"]) < raters

    def _project(self, db: RatingsDB, campaign: Campaign, task: RatingTask, owner: str) -> int:
        known = db.remote_names(self.url, f"project/{campaign.name}")
        if owner in known:
            return int(known[owner])
        title = f"scedit {campaign.name}" + ("" if owner == _EVERYBODY else f" / {owner}")
        ids = [p.id for p in self.sdk.projects.list(title=title) if p.title == title]
        if not ids:
            made = self.sdk.projects.create(
                title=title,
                label_config=label_config(task.form),
                expert_instruction=str(campaign.settings.get("consent") or task.form.intro),
                show_instruction=bool(campaign.settings.get("consent")),
                show_skip_button=False,
                maximum_annotations=int(campaign.settings["overlap"]),
                show_collab_predictions=False,
            )
            ids = [made.id]
        db.link(self.url, f"config/{campaign.name}", [(owner, config_digest(label_config(task.form)))])
        db.link(self.url, f"project/{campaign.name}", [(owner, str(ids[0]))])
        return int(ids[0])

    def _tasks(self, db: RatingsDB, name: str, owner: str, project: int) -> dict[str, str]:
        """Tasks by content id: those we know of, and those of a push that was stopped before it told us."""
        known = db.remote_names(self.url, f"task/{name}/{owner}")
        if len(known) < (self.sdk.projects.get(project).task_number or 0):
            pages = task_pages(self.sdk._client_wrapper.httpx_client, project)
            there = {named_item(t.get("data")) or "": str(t["id"]) for t in pages}
            fresh = [(i, t) for i, t in there.items() if i and i not in known]
            db.link(self.url, f"task/{name}/{owner}", fresh)
            known |= dict(fresh)
        return known

    def pull(self, db: RatingsDB, name: str) -> PullResult:
        """Bring annotations back, each validated; again it adds only what is new or changed.

        Raises:
            UserError: the campaign was never pushed here.
        """
        projects = db.remote_names(self.url, f"project/{name}")
        if not projects:
            raise UserError(f"'{name}' was never pushed", where=self.url, fix="run: scedit annotate label-studio push")
        accounts = {remote: person for person, remote in db.remote_names(self.url, "person").items()}
        raw_annotations: list[RawAnnotation] = []
        unusable: list[str] = []
        readable: dict[str, set[str]] = {}
        for owner, number in projects.items():
            pushed = {task: item for item, task in db.remote_names(self.url, f"task/{name}/{owner}").items()}
            try:
                tasks, lost = read_tasks(self.sdk._client_wrapper.httpx_client, int(number), pushed)
                config = self.sdk.projects.get(int(number)).label_config
            except ApiError as error:
                unusable.append(f"project {number} cannot be read (HTTP {error.status_code})")
                continue
            same = db.remote_names(self.url, f"config/{name}").get(owner) == config_digest(config)
            fault = "" if same else CONFIG_CHANGED
            raw_annotations += [a for t in tasks for a in annotations_of_task(t, accounts, pushed, fault)]
            unusable += [f"task {t} of item {pushed[t]} cannot be read: {BROKEN_TASK}" for t in lost]
            seen = {str(t["id"]) for t in tasks} | set(lost)
            unusable += [f"task {t} of item {i} was deleted" for t, i in pushed.items() if t not in seen]
            readable[owner] = {i for t, i in pushed.items() if t in seen and t not in lost}
        unusable += deleted_annotations(db, name, readable, {a.unique for a in raw_annotations})
        return validate_annotations(db, name, raw_annotations, unusable)


def annotations_of_task(
    task: object, accounts: Mapping[str, str], pushed: Mapping[str, str] | None, fault: str = ""
) -> Iterator[RawAnnotation]:
    """The annotations of a task as Label Studio gives them, in a paged list or an export file.

    Args:
        task: The task.
        accounts: Pseudonyms by account number.
        pushed: Content ids by task number; None takes the id that is in the task's data (an export file).
        fault: Why none of them can be taken; empty if they can.
    """
    if not isinstance(task, Mapping):
        why = "it is no task that can be read: an object with annotations is expected"
        yield RawAnnotation(unique="a line of the export", fault=why)
        return
    data = task.get("data")
    item = named_item(data) if pushed is None else pushed.get(str(task.get("id")))
    annotations = task.get("annotations") or []
    for n, a in enumerate(annotations if isinstance(annotations, list) else [None]):
        if not isinstance(a, Mapping):
            name = f"number {n + 1} of task {task.get('id')}"
            yield RawAnnotation(item, data, unique=name, fault="it is no annotation: an object is expected")
            continue
        by = a.get("completed_by")
        by = by.get("id") if isinstance(by, Mapping) else by
        wrote = a.get("updated_by")
        yield RawAnnotation(
            item=item,
            data=data,
            person=accounts.get(str(by)),
            account=str(by),
            forged=wrote is not None and str(wrote) != str(by),
            result=a.get("result"),
            cancelled=bool(a.get("was_cancelled")),
            at=str(a.get("updated_at") or a.get("created_at") or ""),
            seconds=a.get("lead_time"),
            unique=str(a.get("unique_id") or a.get("id")),
            fault=fault,
        )


def read_export(path: Path) -> list[Any]:
    """The tasks of a recorded Label Studio export (its JSON format); None in place of what is no task.

    Raises:
        UserError: there is no such file. DataError: it is no such export.
    """
    tasks = read_json(path, fix="export as 'JSON' and try again")
    rows = tasks if isinstance(tasks, list) else [tasks]
    tasks_or_none = [t if isinstance(t, dict) and "annotations" in t else None for t in rows]
    if not isinstance(tasks, list) or (tasks and not any(tasks_or_none)):
        raise DataError(
            "this is no list of tasks with annotations", where=str(path), fix="export as 'JSON', not JSON-MIN or CSV"
        )
    return tasks_or_none
