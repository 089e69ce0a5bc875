"""The tasks of a Label Studio project, a page at a time; one by one where something in a page breaks the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from label_studio_sdk.core.api_error import ApiError

from schemas.core.errors import UserError

PAGE = 200
BROKEN_TASK = "an annotation in it breaks Label Studio; delete the task there, or the annotation by its API"


class ReadTasks(NamedTuple):
    """The tasks that could be read, and the numbers of those that break the server."""

    tasks: list[dict[str, Any]]
    unreadable: list[str]


def read_tasks(client: Any, project: int, pushed: Mapping[str, str]) -> ReadTasks:
    """All tasks of a project with their annotations.

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
        return ReadTasks(list(task_pages(client, project)), [])
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
    return ReadTasks(tasks, unreadable)


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
