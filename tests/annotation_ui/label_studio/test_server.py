"""A whole filter round with a real Label Studio server and a real browser; skipped, with the reason, without them.

Set SCEDIT_LABEL_STUDIO to its program, unless it is where ``make label-studio`` installs it. What the annotators say
here is said by programs.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import make_task, rater_progress
from annotation_ui.child_environment import child_environment
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.forms import mark
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.verdicts import Verdict
from tests.annotation_ui.cli.conftest import call
from tests.annotation_ui.conftest import begin
from tests.support.app import served_app as served
from tests.support.app.label_studio_results import build_result

PROGRAM = Path(os.environ.get("SCEDIT_LABEL_STUDIO") or ".venv-label-studio/bin/label-studio").absolute()
NAMES = ("synthetic-ann", "synthetic-bob", "synthetic-cho")
FORM = FilterQuestion.form
YES = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}
NO = {**YES, "guides": "no", "reasons": ["target_not_forced"], "comment": "other words fit"}


class Server:
    """A Label Studio on this machine, with its data in a folder; its first start takes about two minutes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.token, port = folder, secrets.token_hex(20), served.free_port()
        self.url = f"http://127.0.0.1:{port}"
        words = ["start", "--no-browser", "--internal-host", "127.0.0.1", "-p", str(port), "--data-dir", str(folder)]
        self.command = [str(PROGRAM), *words]

    def start(self) -> None:
        """Start it; returns when it answers."""
        env = child_environment("LABEL_STUDIO_", "DJANGO_") | {
            "PYTHONPATH": "",
            "LABEL_STUDIO_USERNAME": "owner@scedit.invalid",
            "LABEL_STUDIO_PASSWORD": secrets.token_urlsafe(18),
            "LABEL_STUDIO_USER_TOKEN": self.token,
            "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true",
            "LABEL_STUDIO_DISABLE_SIGNUP_WITHOUT_LINK": "true",
            "COLLECT_ANALYTICS": "false",
            "LATEST_VERSION_CHECK": "false",
            "SENTRY_DSN": "",
            "FRONTEND_SENTRY_DSN": "",
        }
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env=env, start_new_session=True)
        end = time.monotonic() + 300
        while not self.is_up():
            assert self.process.poll() is None and time.monotonic() < end, f"see {self.folder}/server.log"
            time.sleep(0.5)

    def is_up(self) -> bool:
        try:
            return bool(httpx.get(f"{self.url}/health", timeout=2.0, trust_env=False).json().get("status") == "UP")
        except (httpx.HTTPError, ValueError):
            return False

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def token_of(self, account: Any) -> str:
        """The API token of an annotator, as they see it on their account page after they logged in."""
        with httpx.Client(base_url=self.url, follow_redirects=True, timeout=60, trust_env=False) as client:
            client.get("/user/login/")
            form = {"email": account.email, "password": account.password,
                    "csrfmiddlewaretoken": client.cookies.get("csrftoken", "")}  # fmt: skip
            client.post("/user/login/", data=form, headers={"Referer": f"{self.url}/user/login/"})
            return str(client.get("/api/current-user/token").json()["token"])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("label_studio_sdk", reason="label-studio-sdk is not installed")
    if not PROGRAM.exists():
        pytest.skip(f"Label Studio is not installed at {PROGRAM}; run: make label-studio")
    running = Server(tmp_path_factory.mktemp("label-studio"))
    running.start()
    yield running
    running.kill()


def log_in_and_answer(page: Any, url: str, account: Any, project: int, count: int) -> None:
    """Answer ``count`` tasks of the label stream by hand, all yes."""
    page.set_default_timeout(served.PATIENCE * 1000)
    page.goto(url)
    page.locator("input[name=email]").fill(account.email)
    page.locator("input[name=password]").fill(account.password)
    page.locator("button[type=submit]").click()
    page.wait_for_url(lambda u: "login" not in u)
    for _ in range(count):
        page.goto(f"{url}/projects/{project}/data?labeling=1")
        page.get_by_text("Text up to the gap").first.wait_for()
        for n in range(len(FORM.asked_fields())):
            page.locator("label", has_text="yes").nth(n).click()
        with page.expect_response(lambda r: "/annotations" in r.url and r.request.method == "POST"):
            page.get_by_test_id("bottombar-submit-button").click()


def pages(site: Any, project: int) -> Iterator[dict[str, Any]]:
    """The tasks of a project with their annotations."""
    from annotation_ui.label_studio.client import task_pages

    return task_pages(site.sdk._client_wrapper.httpx_client, project)


@pytest.mark.slow
def test_a_whole_filter_round(server: Server, db: RatingsDB, store: Store) -> None:
    served.need_browser()
    from label_studio_sdk import LabelStudio

    from annotation_ui.label_studio.client import LabelStudioSite

    site = LabelStudioSite(server.url, server.token)
    accounts = {}
    for name in NAMES:
        people.invite(db, name, synthetic=True)
        accounts[name] = site.invite(db, name)
    with pytest.raises(UserError, match="has an account already"):
        site.invite(db, NAMES[0])
    begin(db, store, "filter", "filter_question", overlap=3)
    push_result = site.push(db, "filter")
    assert push_result.new == 24 and site.push(db, "filter")[1:] == (0, 24)
    ((_, project),) = push_result.projects.items()
    task_of = {i: int(t) for i, t in db.remote_names(site.url, "task/filter/*").items()}
    items = list(task_of)
    api: dict[str, Any] = {n: LabelStudio(base_url=site.url, api_key=server.token_of(accounts[n])) for n in NAMES}

    with served.browser() as browser:  # the first answers in the browser
        log_in_and_answer(browser.new_page(), site.url, accounts[NAMES[0]], project, 2)

    for item in items:  # the second by API
        api[NAMES[1]].annotations.create(task_of[item], result=build_result(YES, FORM), lead_time=4.0)
    for n, item in enumerate(items):  # the third too, with a no here and there
        result = build_result(NO if n < 12 and n % 3 == 0 else YES, FORM)
        api[NAMES[2]].annotations.create(task_of[item], result=result, lead_time=5.0)

    bob = {str(a["id"]): a for t in pages(site, project) for a in t["annotations"]}
    number = db.remote_names(site.url, "person")
    third = api[NAMES[2]]
    third.annotations.create(task_of[items[0]], result=build_result({**YES, "meaningful": "9"}, FORM))  # off the scale
    third.annotations.create(task_of[items[1]], result=build_result({"meaningful": "yes"}, FORM))  # a dimension missing
    third.annotations.create(  # in somebody else's name
        task_of[items[2]], result=build_result(NO, FORM), completed_by=int(number[NAMES[1]])
    )
    third.annotations.create(task_of[items[3]], result=build_result(YES, FORM))  # a second one, which holds
    first_of_bob = next(k for k, a in bob.items() if str(a["completed_by"]) == number[NAMES[1]])
    third.annotations.update(int(first_of_bob), result=build_result(NO, FORM))  # changing another's annotation
    site.sdk.tasks.delete(task_of[items[-1]])  # a task that is gone

    pulled_data = site.pull(db, "filter")
    reasons = [f.why for f in pulled_data.rejected]
    assert len(reasons) == 4, reasons
    assert any("'meaningful' is '9'; allowed: yes, no" in w for w in reasons)
    assert any("'changes' has no answer" in w for w in reasons)
    assert sum("another account wrote it" in w for w in reasons) == 2
    assert [f.why for f in pulled_data.ignored] == ["a later one of the same person on the same item counts"]
    assert [m.split(" of ")[1] for m in pulled_data.missing] == [f"item {items[-1]} was deleted"]
    answers = {(r.person, r.item): r.answers for r in db.current_answers("filter")}
    by = {n: sum(p == n for p, _ in answers) for n in NAMES}
    assert by == {NAMES[0]: 2, NAMES[1]: 22, NAMES[2]: 23}
    assert all(a in (YES, NO) for a in answers.values())
    pull_result = site.pull(db, "filter")
    assert pull_result.new == 0 and (len(pull_result.rejected), len(pull_result.ignored)) == (4, 1)

    import_result = import_campaign(db, store, "filter")
    assert import_result.answers == 47 and not import_result.rejected
    verdicts = [v for v in store.all(Verdict) if v.check == "filter_question"]
    assert {v.by for v in verdicts} == {f"person:{n}/filter_question@3" for n in NAMES}
    assert all(store.lineage(v.id)[0].detail["synthetic"] for v in verdicts)


HOSTILE: tuple[dict[str, Any], ...] = (
    {"lead_time": "abc"},
    {"lead_time": -5},
    {"lead_time": 1e308},
    {"result": "yes"},
    {"result": {"from_name": "guides"}},
    {"result": [7, None, "x"]},
    {"result": [*build_result(YES, FORM), {"from_name": "marked_in_cut", "to_name": "shown_question", "type": "labels",
                                           "value": {"start": 0, "end": 2, "labels": ["leak"]}}]},
    {"result": [{"from_name": ["guides"], "to_name": "x", "type": "choices", "value": {"choices": ["yes"]}}]},
    {"result": build_result({**YES, "comment": "x" * 300_000}, FORM)},
    {"result": build_result({**YES, "comment": "half \ud800"}, FORM)},
    {"result": [*build_result(YES, FORM), *build_result({"meaningful": "no"}, FORM)]},
    {"result": [*build_result(YES, FORM), {"from_name": "zeal", "to_name": "shown_cut", "type": "x", "value": []}]},
    *(
        {"result": [*build_result(YES, FORM), {"from_name": "marked_in_cut", "to_name": "shown_cut", "type": "labels",
                                               "value": value}]}
        for value in (
            {"start": 0, "end": 10**9, "labels": ["leak"]},
            {"start": -4, "end": 2, "labels": ["leak"]},
            {"start": 0.5, "end": 2, "labels": ["leak"]},
            {"start": 9, "end": 2, "labels": ["leak"]},
            {"start": 0, "end": 3, "labels": ["leak", "fail"]},
            {"start": 0, "end": 3, "labels": ["zeal"]},
            {"start": 0, "end": 3, "labels": ["leak"], "text": "quite other words"},
            [0, 3],
        )
    ),
)  # fmt: skip
"""Each goes to an item of its own; beside it stands a good answer of somebody else."""


@pytest.mark.slow
def test_marks_pairs_and_hostile_annotations_by_api_and_by_export_file(
    server: Server, db: RatingsDB, store: Store, tmp_path: Path
) -> None:
    from annotation_ui.agreement.report import agreement_report, live_judgements
    from annotation_ui.label_studio.client import BROKEN_TASK, LabelStudioSite

    site = LabelStudioSite(server.url, server.token)
    accounts = {}
    for name in ("synthetic-gil", "synthetic-hal"):
        people.invite(db, name, synthetic=True)
        accounts[name] = site.invite(db, name)
    gil, hal = accounts.values()
    tokens = {name: server.token_of(account) for name, account in accounts.items()}
    marks, pairs = make_task("filter_question", spans=True), make_task("compare_scripts")
    begin(db, store, "marks", "filter_question", overlap=2, spans=True)
    begin(db, store, "pairs", "compare_scripts", overlap=2)
    for name in ("marks", "pairs"):
        site.push(db, name)

    def send(account: Any, number: int, body: dict[str, Any]) -> bool:
        payload = httpx.post(
            f"{site.url}/api/tasks/{number}/annotations/", content=json.dumps(body), timeout=120, trust_env=False,
            headers={"Authorization": f"Token {tokens[account.person]}", "Content-Type": "application/json"},
        )  # fmt: skip
        return payload.status_code == 201

    of_marks = {i: int(t) for i, t in db.remote_names(site.url, "task/marks/*").items()}
    good = {}
    for item, number in of_marks.items():
        text = db.item("marks", item).item.shown
        good[item] = {**YES, "marked": [mark(text, "cut", 0, 4, "leak"), mark(text, "question", 0, 3, "fail")]}
        assert send(hal, number, {"result": build_result(good[item], marks.form), "lead_time": 3.0})
    for number, body in zip(of_marks.values(), HOSTILE, strict=False):
        send(gil, number, body)  # some are refused, some are taken, and some taken with an answer that says otherwise
    record = {"coherence": "first", "consistency": "tie", "completeness": "cannot_judge"}
    for account in (gil, hal):
        for task in db.remote_names(site.url, f"task/pairs/{account.person}").values():
            assert send(account, int(task), {"result": build_result(record, pairs.form), "lead_time": 3.0})
    odd, *_ = db.remote_names(site.url, "task/pairs/synthetic-gil").values()
    assert send(gil, int(odd), {"result": build_result({**record, "coherence": "third"}, pairs.form)})

    db.connection.execute("VACUUM INTO ?", [str(tmp_path / "second.sqlite")])  # as it is before the pull
    pull_result = site.pull(db, "marks")
    (faults,) = [i for (i, _), b in zip(of_marks.items(), HOSTILE, strict=False) if "half" in str(b)]
    assert pull_result.missing == (f"task {of_marks[faults]} of item {faults} cannot be read: {BROKEN_TASK}",)
    del good[faults]  # it is in a task that Label Studio itself can read no more
    assert {r.item: r.answers for r in db.current_answers("marks")} == good and pull_result.new == len(good)
    assert len(pull_result.rejected) >= 10 and {f.person for f in pull_result.rejected} == {"synthetic-gil"}, (
        pull_result.rejected
    )
    assert len(site.pull(db, "pairs").rejected) == 1 and len(db.current_answers("pairs")) == 12
    for name, task in (("marks", marks), ("pairs", pairs)):
        assert agreement_report(live_judgements(db, name), task) and rater_progress(db, name)
        assert not import_campaign(db, store, name).rejected
    verdicts = list(store.all(Verdict))
    assert sum(len(v.spans) for v in verdicts if v.check == "filter_question") == 2 * len(good)
    assert {v.value for v in verdicts if v.check == "compare_scripts_consistency"} == {0.5}

    site.sdk.tasks.delete(of_marks[faults])
    project = int(db.remote_names(site.url, "project/marks")["*"])
    export = site.sdk._client_wrapper.httpx_client.request(
        f"api/projects/{project}/export", method="GET", params={"exportType": "JSON"}
    ).json()
    revision, unnamed = export[-1], export[-2]
    revision["data"]["cut"] += " and more"
    del unnamed["data"]["scedit_form"]
    (tmp_path / "export.json").write_text(json.dumps([*export, 7, {"annotations": [None]}]), encoding="utf-8")
    whose = [w for name in accounts for w in ("--account", f"{db.remote_names(site.url, 'person')[name]}={name}")]
    words = ["label-studio", "pull", "marks", "--ratings", tmp_path / "second.sqlite", "--json"]
    run = call(*words, "--export", tmp_path / "export.json", *whose)
    assert run.exit_code == 1, run.output
    data = json.loads(run.output)
    assert data["new"] == len(good) - 2
    assert len(data["refused"]) >= len(pull_result.rejected) + 4, data["refused"]
    reason = " ".join(f["why"] for f in data["refused"])
    assert "it names no form" in reason and "it is no task" in reason and "it is no annotation" in reason
