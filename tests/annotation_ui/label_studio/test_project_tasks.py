"""Tasks of a project whose list breaks the server: what can be read is read, what cannot is named."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

pytest.importorskip("label_studio_sdk", reason="label-studio-sdk is not installed")

from label_studio_sdk.core.api_error import ApiError

from annotation_ui.label_studio.project_tasks import PAGE, read_tasks

TASKS = [{"id": n, "annotations": []} for n in range(2 * PAGE + 3)]
PUSHED = {str(t["id"]): f"item {t['id']}" for t in TASKS}


def client(broken: set[int], listed: int = 200) -> Any:
    """A Label Studio in which these tasks cannot be read; ``listed`` is what its list of tasks answers then."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/tasks":
            page = int(request.url.params["page"])
            tasks = TASKS[(page - 1) * PAGE : page * PAGE]
            if listed != 200 and broken & {int(str(t["id"])) for t in tasks}:
                return httpx.Response(listed, text="<!doctype html>")
            return httpx.Response(200, json={"tasks": tasks, "total": len(TASKS)})
        number = int(request.url.path.rpartition("/")[2])
        if number == 5:
            return httpx.Response(404)
        return httpx.Response(500) if number in broken else httpx.Response(200, json=TASKS[number])

    http = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://studio")

    def request(path: str, *, method: str, params: dict[str, int] | None = None) -> httpx.Response:
        return http.request(method, path, params=params)

    return SimpleNamespace(request=request)


def test_a_whole_project_is_read_by_pages() -> None:
    assert read_tasks(client(set()), 1, PUSHED) == (TASKS, [])


def test_a_task_that_breaks_the_list_keeps_no_other_back() -> None:
    tasks = read_tasks(client({7, 260}, listed=500), 1, PUSHED)
    assert tasks.unreadable == ["7", "260"]
    assert tasks.tasks == [t for t in TASKS if t["id"] not in (5, 7, 260)], "5 was deleted there"


@pytest.mark.parametrize("make", [lambda: client({7}, listed=403), lambda: client(set(range(len(TASKS))), listed=502)])
def test_a_project_that_cannot_be_read_at_all_is_an_error(make: Callable[[], Any]) -> None:
    with pytest.raises(ApiError):
        read_tasks(make(), 1, PUSHED)
