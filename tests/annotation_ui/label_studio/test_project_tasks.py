"""Tasks of a project whose list breaks the server: what can be read is read, what cannot is named."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

pytest.importorskip("label_studio_sdk", reason="label-studio-sdk is not installed")

from label_studio_sdk.core.api_error import ApiError

from annotation_ui.label_studio.client import PAGE, read_tasks
from schemas.core.errors import UserError

TASKS = [{"id": n, "annotations": []} for n in range(2 * PAGE + 3)]
PUSHED = {str(t["id"]): f"item {t['id']}" for t in TASKS}


def client(broken: set[int], listed: int = 200, *, cap: int = PAGE, missing: int = 0) -> Any:
    """A Label Studio in which these tasks cannot be read; ``listed`` is what its list of tasks answers then.

    ``cap`` is the longest page that it gives, ``missing`` how many tasks it counts and does not give.
    """

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/tasks":
            page = int(request.url.params["page"])
            size = min(cap, int(request.url.params["page_size"]))
            tasks = TASKS[(page - 1) * size : page * size]
            if not tasks:
                return httpx.Response(404)
            if listed != 200 and broken & {int(str(t["id"])) for t in tasks}:
                return httpx.Response(listed, text="<!doctype html>")
            return httpx.Response(200, json={"tasks": tasks, "total": len(TASKS) + missing})
        number = int(request.url.path.rpartition("/")[2])
        if number == 5:
            return httpx.Response(404)
        return httpx.Response(500) if number in broken else httpx.Response(200, json=TASKS[number])

    http = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://studio")

    def request(path: str, *, method: str, params: dict[str, int] | None = None) -> httpx.Response:
        return http.request(method, path, params=params)

    return SimpleNamespace(request=request)


@pytest.mark.parametrize("cap", [1, 50, 100, 199, 1000])
def test_all_tasks_are_read_whatever_the_servers_longest_page_is(cap: int) -> None:
    assert read_tasks(client(set(), cap=cap), 1, PUSHED) == (TASKS, [])


@pytest.mark.parametrize("cap", [PAGE, 100])
def test_tasks_that_are_counted_and_not_given_are_not_called_deleted(cap: int) -> None:
    with pytest.raises(UserError, match=r"lists 406 tasks and gave 403 of them"):
        read_tasks(client(set(), cap=cap, missing=3), 1, PUSHED)


def test_a_task_that_breaks_the_list_keeps_no_other_back() -> None:
    tasks, unreadable = read_tasks(client({7, 260}, listed=500), 1, PUSHED)
    assert unreadable == ["7", "260"]
    assert tasks == [t for t in TASKS if t["id"] not in (5, 7, 260)], "5 was deleted there"


@pytest.mark.parametrize("make", [lambda: client({7}, listed=403), lambda: client(set(range(len(TASKS))), listed=502)])
def test_a_project_that_cannot_be_read_at_all_is_an_error(make: Callable[[], Any]) -> None:
    with pytest.raises(ApiError):
        read_tasks(make(), 1, PUSHED)
