"""Items out and annotations back, with a Label Studio that is a few lists; the real one is in ``test_server.py``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

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
project_tasks: Any = pytest.importorskip(
    "annotation_ui.label_studio.client", reason="label-studio-sdk is not installed"
)

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
    monkeypatch.setattr(project_tasks, "PAGE", 4)
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
    monkeypatch.setattr(project_tasks, "PAGE", 5)
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
