"""Items out and annotations back, with a Label Studio that is a few lists; the real one is in ``test_server.py``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from annotation_ui.campaigns.campaign import CampaignOptions, create_campaign, make_task
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.generated_scripts import GeneratedScript
from tests.annotation_ui.conftest import begin
from tests.support.app import served_app as served
from tests.support.app.label_studio_results import build_result

client: Any = pytest.importorskip("annotation_ui.label_studio.client", reason="label-studio-sdk is not installed")

FORM = FilterQuestion.form
YES = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}
URL = "http://ls"


class Studio:
    """As much of a Label Studio as a push and a pull ask of it.

    Attributes:
        made: Settings of each project by number.
        tasks: Tasks of each project.
        predictions: What was suggested.
        stop_after: Imports after which it dies with its work done and not told, or None.
    """

    def __init__(self) -> None:
        self.made: dict[int, dict[str, Any]] = {}
        self.tasks: dict[int, list[dict[str, Any]]] = {}
        self.predicted: list[dict[str, Any]] = []
        self.imports: list[int] = []
        self.stop_after: int | None = None
        self.gone: set[int] = set()
        self.refuses = False
        self.users = SimpleNamespace(whoami=self.whoami)
        self.projects = SimpleNamespace(
            create=self.create, list=self.list, get=self.get, import_tasks=self.import_tasks
        )
        self.predictions = SimpleNamespace(create=lambda **fields: self.predicted.append(fields))
        self._client_wrapper = SimpleNamespace(httpx_client=SimpleNamespace(request=self.request))

    def whoami(self) -> None:
        if self.refuses:
            raise client.ApiError(status_code=401)

    def create(self, **fields: Any) -> Any:
        number = len(self.made) + 1
        self.made[number], self.tasks[number] = fields, []
        return SimpleNamespace(id=number, title=fields["title"])

    def list(self, *, title: str) -> list[Any]:
        pairs = [(n, g["title"]) for n, g in self.made.items() if g["title"].startswith(title)]
        return [SimpleNamespace(id=n, title=t) for n, t in pairs]

    def get(self, number: int) -> Any:
        project = self.made[number]
        return SimpleNamespace(task_number=len(self.tasks[number]), label_config=project.get("label_config"))

    def import_tasks(self, number: int, *, request: list[dict[str, Any]], return_task_ids: bool) -> Any:
        self.imports.append(len(request))
        first = 100 * number + len(self.tasks[number])
        ids = [first + n for n in range(len(request))]
        self.tasks[number] += [{"id": i, "annotations": [], **r} for i, r in zip(ids, request, strict=True)]
        if self.stop_after is not None and len(self.imports) > self.stop_after:
            raise KeyboardInterrupt
        return SimpleNamespace(task_ids=ids)

    def request(self, path: str, *, method: str, params: Mapping[str, Any]) -> Any:
        number, page, size = params["project"], params["page"], params["page_size"]
        if number in self.gone:
            return SimpleNamespace(status_code=404, text="not found")
        tasks = self.tasks[number]
        rows = tasks[(page - 1) * size : page * size]
        return SimpleNamespace(status_code=200, json=lambda: {"tasks": rows, "total": len(tasks)})


@pytest.fixture
def studio(monkeypatch: pytest.MonkeyPatch) -> Studio:
    fake = Studio()
    monkeypatch.setattr(client, "LabelStudio", lambda **_: fake)
    return fake


@pytest.fixture
def site(studio: Studio) -> Any:
    return client.LabelStudioSite(URL + "/", "token")


def campaign(db: RatingsDB, store: Store, task: str, overlap: int, *names: str) -> None:
    begin(db, store, "c", task, *names, overlap=overlap)
    db.link(URL, "person", [(name, str(7 + n)) for n, name in enumerate(names)])


def annotate(task: dict[str, Any], account: int, **change: Any) -> None:
    record = {"id": 1, "completed_by": account, "updated_by": account, "result": build_result(YES, FORM)}
    task["annotations"].append({**record, "updated_at": "2026-01-01", "lead_time": 2.0, **change})


def test_a_token_that_is_refused_is_told(studio: Studio) -> None:
    studio.refuses = True
    with pytest.raises(UserError, match="refuses the token .HTTP 401") as error:
        client.LabelStudioSite(URL, "token")
    assert error.value.where == URL and "token" not in str(error.value.where)


def test_an_address_that_is_no_label_studio_is_told() -> None:
    with pytest.raises(UserError, match="does not answer"):
        client.LabelStudioSite(f"http://127.0.0.1:{served.free_port()}", "token")


def test_everybody_shares_a_project_only_where_all_judge_all_and_may_see_one_another(
    db: RatingsDB, store: Store, site: Any
) -> None:
    campaign(db, store, "filter_question", 2, "ann", "bob")
    push_result = site.push(db, "c")
    assert (list(push_result.projects), push_result.new, push_result.known) == (["*"], 24, 0)
    people.invite(db, "cho")  # now not everybody judges everything
    assert set(site.push(db, "c").projects) == {"ann", "bob"}


def test_people_with_projects_of_their_own_get_their_own_items(db: RatingsDB, store: Store, site: Any) -> None:
    campaign(db, store, "rate_script", 2, "ann", "bob")  # a blind task
    projects = site.push(db, "c").projects
    assert set(projects) == {"ann", "bob"}
    for person, number in projects.items():
        scedit_items = {t["data"]["scedit_item"] for t in site.sdk.tasks[number]}
        assert scedit_items == {a.item for a in db.assignments("c", person)} and scedit_items
    assert all(not g["show_collab_predictions"] for g in site.sdk.made.values())


def test_pushing_again_repeats_nothing_and_brings_what_is_new(db: RatingsDB, store: Store, site: Any) -> None:
    campaign(db, store, "rate_executability", 1, "ann")
    assert site.push(db, "c")[1:] == (12, 0)
    assert site.push(db, "c")[1:] == (0, 12)
    script = next(iter(store.all(GeneratedScript)))
    store.put([script.model_copy(update={"key": "generated/new", "editor": "ft"})])
    begin(db, store, "c", "rate_executability", overlap=1)
    assert site.push(db, "c")[1:] == (1, 12)
    assert len(site.sdk.made) == 1


@pytest.mark.parametrize("stop", [0, 2, 4])
def test_a_push_that_was_stopped_anywhere_is_completed_without_a_second_task(
    db: RatingsDB, store: Store, site: Any, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    monkeypatch.setattr(client, "CHUNK", 5)
    monkeypatch.setattr(client, "PAGE", 4)
    campaign(db, store, "filter_question", 1, "ann")
    site.sdk.stop_after = stop
    with pytest.raises(KeyboardInterrupt):
        site.push(db, "c")
    site.sdk.stop_after = None
    site.push(db, "c")
    ((_, number),) = db.remote_names(URL, "project/c").items()
    ids = [t["data"]["scedit_item"] for t in site.sdk.tasks[int(number)]]
    assert len(ids) == len(set(ids)) == 24
    assert set(db.remote_names(URL, "task/c/*")) == set(ids)


def test_a_project_that_was_made_and_not_written_down_is_found_by_its_title(
    db: RatingsDB, store: Store, site: Any
) -> None:
    campaign(db, store, "filter_question", 1, "ann")
    site.sdk.create(title="scedit c / ann")  # begins alike, and is another
    site.sdk.create(title="scedit c")
    assert site.push(db, "c").projects == {"*": 2}


def test_a_push_before_anything_is_assigned_is_refused(db: RatingsDB, store: Store, site: Any) -> None:
    create_campaign(db, store, "c", make_task("rate_script"), CampaignOptions(overlap=1))
    with pytest.raises(UserError, match="nothing of 'c' is assigned"):
        site.push(db, "c")
    assert site.sdk.made == {}


def test_a_pull_turns_pages_and_takes_each_answer_once(
    db: RatingsDB, store: Store, site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PAGE", 5)
    campaign(db, store, "filter_question", 1, "ann")
    ((_, number),) = site.push(db, "c").projects.items()
    for task in site.sdk.tasks[number]:
        annotate(task, 7, id=task["id"])
    pull_result = site.pull(db, "c")
    assert (pull_result.answers, pull_result.new, pull_result.rejected, pull_result.missing) == (24, 24, (), ())
    assert (site.pull(db, "c").answers, site.pull(db, "c").new) == (24, 0)


def test_what_was_deleted_there_is_named_and_the_rest_is_taken(db: RatingsDB, store: Store, site: Any) -> None:
    campaign(db, store, "filter_question", 1, "ann", "bob")
    projects = site.push(db, "c").projects
    task = site.sdk.tasks[projects["ann"]].pop()
    annotate(site.sdk.tasks[projects["ann"]][0], 7)
    site.sdk.gone.add(projects["bob"])
    pull_result = site.pull(db, "c")
    assert pull_result.answers == 1
    assert sorted(pull_result.missing) == [
        f"project {projects['bob']} cannot be read (HTTP 404)",
        f"task {task['id']} of item {task['data']['scedit_item']} was deleted",
    ]


def test_a_campaign_that_was_never_pushed_cannot_be_pulled(db: RatingsDB, store: Store, site: Any) -> None:
    campaign(db, store, "filter_question", 1, "ann")
    with pytest.raises(UserError, match="was never pushed"):
        site.pull(db, "c")


def test_inviting_needs_a_person_who_has_no_account_yet(db: RatingsDB, site: Any) -> None:
    with pytest.raises(UserError, match="no person 'ann'"):
        site.invite(db, "ann")
    people.invite(db, "ann")
    db.link(URL, "person", [("ann", "7")])
    with pytest.raises(UserError, match="has an account already"):
        site.invite(db, "ann")


def test_executability_is_pushed_before_the_rest_of_its_group(db: RatingsDB, store: Store, site: Any) -> None:
    begin(db, store, "exec", "rate_executability", "ann", group="paper")
    begin(db, store, "rest", "rate_script", overlap=1, group="paper")
    with pytest.raises(UserError, match="'exec' comes first, and ann has not finished it"):
        site.push(db, "rest")
    for a in db.assignments("exec", "ann"):
        db.save("exec", "ann", a.item, {"executability": 3}, form="rate_executability@3")
    assert site.push(db, "rest").new == 12


def test_names_that_no_address_can_hold_get_one_of_their_own() -> None:
    names = [
        "ann",
        "Ann.B",
        "Zoë",
        "Zoe",
        "\N{GRINNING FACE}",
        "\N{WINKING FACE}",
        "a,b",
        "a;b",
        ".ann",
        "a..b",
        "x" * 90,
    ]
    addresses = [client.account_email(name) for name in names]
    assert addresses[:2] == ["ann@scedit.invalid", "Ann.B@scedit.invalid"], "accounts made so far are found again"
    assert len(set(addresses)) == len(names)
    for address in addresses:
        # what Django's validator takes before the @ (Label Studio's sign-up form uses it), at most 64 characters of it
        assert re.fullmatch(
            r"[-!#$%&'*+/=?^_`{}|~0-9A-Za-z]+(\.[-!#$%&'*+/=?^_`{}|~0-9A-Za-z]+)*@scedit\.invalid", address
        )
        assert len(address.split("@")[0]) <= 64


def test_a_task_whose_item_was_changed_and_one_that_we_never_pushed_are_refused(
    db: RatingsDB, store: Store, site: Any
) -> None:
    campaign(db, store, "filter_question", 1, "ann")
    ((_, number),) = site.push(db, "c").projects.items()
    first, second, third = site.sdk.tasks[number][:3]
    annotate(first, 7, id=1)
    first["data"]["scedit_item"] = second["data"]["scedit_item"]
    annotate(second, 9, id=2)  # an account of nobody
    foreign = {"id": 9999, "data": dict(third["data"]), "annotations": []}
    annotate(foreign, 7, id=3)
    site.sdk.tasks[number].append(foreign)
    pull_result = site.pull(db, "c")
    assert pull_result.answers == 0
    assert {r.annotation: r.person for r in pull_result.rejected} == {"1": "ann", "2": "account 9", "3": "ann"}
    reason = {r.annotation: r.why for r in pull_result.rejected}
    assert "another item" in reason["1"] and "9" in reason["2"] and "not pushed" in reason["3"]


@pytest.fixture
def pushed(db: RatingsDB, store: Store, site: Any) -> tuple[Any, list[dict[str, Any]]]:
    """A site with a campaign of ann's, and the tasks there."""
    campaign(db, store, "filter_question", 1, "ann")
    ((_, number),) = site.push(db, "c").projects.items()
    return site, site.sdk.tasks[number]


@pytest.fixture
def rated(pushed: tuple[Any, list[dict[str, Any]]]) -> tuple[Any, list[dict[str, Any]]]:
    """The same, with answers to the first two tasks."""
    for number, task in enumerate(pushed[1][:2], 1):
        annotate(task, 7, id=number)
    return pushed


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("cut", "Step 1: Something else", "the task's data was changed since the push"),
        ("question", None, "the task's data was changed since the push"),
        ("extra", "a hint", "the task's data was changed since the push"),
        ("scedit_form", None, "it names no form"),
        ("scedit_form", "filter_question@7", "it was given to the form filter_question@7"),
        ("scedit_item", None, "the task's data was changed since the push"),
    ],
)
def test_what_was_rated_must_be_what_was_pushed(
    db: RatingsDB, rated: Any, key: str, value: str | None, reason: str
) -> None:
    site, (first, *_) = rated
    if value is None:
        del first["data"][key]
    else:
        first["data"][key] = value
    pull_result = site.pull(db, "c")
    assert (pull_result.answers, [r.annotation for r in pull_result.rejected]) == (1, ["1"])
    assert reason in pull_result.rejected[0].why


def test_changed_anchors_refuse_the_whole_project_and_another_spelling_does_not(db: RatingsDB, pushed: Any) -> None:
    site, (first, *_) = pushed
    annotate(first, 7)
    annotations = site.sdk.made[1]
    before = annotations["label_config"]
    annotations["label_config"] = before.replace("/>", " />").replace("\n", "\n\n")
    assert site.pull(db, "c").answers == 1
    annotations["label_config"] = before.replace(
        "Would a correct script clearly change", "Would a script change a little"
    )
    assert annotations["label_config"] != before
    (rejection,) = site.pull(db, "c").rejected
    assert "labelling configuration" in rejection.why and "changed since the push" in rejection.why
    annotations["label_config"] = "<View"
    assert site.pull(db, "c").answers == 0


def test_a_form_that_was_changed_without_its_version_is_not_pushed_again(
    db: RatingsDB, pushed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, _ = pushed
    monkeypatch.setattr(make_task("filter_question").__class__, "form", FORM.model_copy(update={"title": "New"}))
    with pytest.raises(client.UserError, match="raise its version"):
        site.push(db, "c")


def test_an_annotation_that_was_deleted_is_told_and_its_answer_holds(db: RatingsDB, rated: Any) -> None:
    site, (first, *_) = rated
    site.pull(db, "c")
    first["annotations"].clear()
    pull_result = site.pull(db, "c")
    (word,) = pull_result.missing
    assert "annotation 1 of ann" in word and "was deleted" in word
    assert len(db.current_answers("c")) == 2
    db.save("c", "ann", first["data"]["scedit_item"], YES, form=FORM.label)
    assert site.pull(db, "c").missing == (), "another answer holds by now"


def test_an_annotation_that_was_given_to_somebody_else_is_refused(db: RatingsDB, store: Store, site: Any) -> None:
    campaign(db, store, "filter_question", 2, "ann", "bob")
    ((_, number),) = site.push(db, "c").projects.items()
    task = site.sdk.tasks[number][0]
    annotate(task, 7)
    site.pull(db, "c")
    task["annotations"][0] |= {"completed_by": 8, "updated_by": 8, "updated_at": "2026-03-01"}
    pull_result = site.pull(db, "c")
    assert (pull_result.answers, [r.person for r in pull_result.rejected]) == (0, ["bob"])
    assert "it was ann's" in pull_result.rejected[0].why and "re-assigned" in pull_result.rejected[0].why
    assert [r.person for r in db.current_answers("c")] == ["ann"]


@pytest.mark.parametrize("data", ["x", [1], 5, None])
def test_a_task_whose_data_is_no_object_stops_neither_push_nor_pull(db: RatingsDB, rated: Any, data: Any) -> None:
    site, (first, *_) = rated
    first["data"] = data
    db.connection.execute("DELETE FROM links WHERE kind = 'task/c/*'")  # so that the push looks at what is there
    site.sdk.tasks[1].append({"id": 9999, "data": data, "annotations": []})
    site.push(db, "c")
    pull_result = site.pull(db, "c")
    assert pull_result.answers == 1 and [r.annotation for r in pull_result.rejected] == ["1"]


def test_an_export_is_compared_with_what_was_pushed(db: RatingsDB, rated: Any, tmp_path: Any) -> None:
    from tests.annotation_ui.cli.conftest import call

    _, (first, second, *_) = rated
    first["data"]["cut"] = "changed"
    path = tmp_path / "e.json"
    path.write_text(json.dumps([first, second, "no task", {"id": 3}]))
    result = call("label-studio", "pull", "c", "-r", db.path, "--export", path, "--account", "7=ann", "--json")
    data = json.loads(result.output)
    assert (result.exit_code, data["answers"]) == (1, 1)
    assert sorted(r["why"].split(":")[0] for r in data["refused"]) == [
        *["it is no task that can be read"] * 2,
        "the task's data was changed since the push",
    ]


@pytest.mark.parametrize(
    ("by", "texts", "person", "forged"),
    [
        (7, 7, "ann", False),
        ({"id": 7}, 7, "ann", False),
        ("7", None, "ann", False),
        (7, 8, "ann", True),
        (8, 8, None, False),
        (None, 7, None, True),
    ],
)
def test_whose_an_annotation_is(by: Any, texts: Any, person: str | None, forged: bool) -> None:
    task = {"id": 5, "data": {"scedit_item": "i"}, "annotations": [{"id": 1, "completed_by": by, "updated_by": texts}]}
    (annotation,) = client.annotations_of_task(task, {"7": "ann"}, {"5": "i"})
    assert (annotation.person, annotation.forged) == (person, forged)


@pytest.mark.parametrize("annotations", [["x"], [None], [[]], {"a": 1}, "abc", 5])
def test_annotations_that_are_no_objects_are_handed_on_to_be_refused(annotations: Any) -> None:
    task = {"id": 1, "data": {"scedit_item": "i"}, "annotations": annotations}
    (annotation,) = client.annotations_of_task(task, {"7": "ann"}, None)
    assert (annotation.item, annotation.person) == ("i", None) and "no annotation" in annotation.fault


PAGE = client.PAGE

TASKS = [{"id": n, "annotations": []} for n in range(2 * PAGE + 3)]
PUSHED = {str(t["id"]): f"item {t['id']}" for t in TASKS}


def studio_with(broken: set[int], listed: int = 200, *, cap: int = PAGE, missing: int = 0) -> Any:
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
    assert client.read_tasks(studio_with(set(), cap=cap), 1, PUSHED) == (TASKS, [])


@pytest.mark.parametrize("cap", [PAGE, 100])
def test_tasks_that_are_counted_and_not_given_are_not_called_deleted(cap: int) -> None:
    with pytest.raises(UserError, match=r"lists 406 tasks and gave 403 of them"):
        client.read_tasks(studio_with(set(), cap=cap, missing=3), 1, PUSHED)


def test_a_task_that_breaks_the_list_keeps_no_other_back() -> None:
    tasks, unreadable = client.read_tasks(studio_with({7, 260}, listed=500), 1, PUSHED)
    assert unreadable == ["7", "260"]
    assert tasks == [t for t in TASKS if t["id"] not in (5, 7, 260)], "5 was deleted there"


@pytest.mark.parametrize(
    "make", [lambda: studio_with({7}, listed=403), lambda: studio_with(set(range(len(TASKS))), listed=502)]
)
def test_a_project_that_cannot_be_read_at_all_is_an_error(make: Callable[[], Any]) -> None:
    with pytest.raises(client.ApiError):
        client.read_tasks(make(), 1, PUSHED)
