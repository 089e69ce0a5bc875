"""A whole filter round with a real Label Studio server and a real browser; skipped, with the reason, without them.

Set SCEDIT_LABEL_STUDIO to its program (``make label-studio`` installs it in an environment of its own). What the
annotators say here is said by programs.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task, rater_progress
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.forms import mark
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.verdicts import Verdict
from tests.annotation_ui.cli.conftest import call
from tests.support.app import served_app as served
from tests.support.app.label_studio_results import build_result

NAMES = ("synthetic-ann", "synthetic-bob", "synthetic-cho")
FORM = FilterQuestion.form
YES = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}
NO = {**YES, "guides": "no", "reasons": ["target_not_forced"], "comment": "other words fit"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A running server. A migrated data folder may be handed over to save the first start's two minutes."""
    pytest.importorskip("label_studio_sdk", reason="label-studio-sdk is not installed")
    from tests.support.app.label_studio_server import find_program, start_server, stop_server

    try:
        find_program()
    except UserError as error:
        pytest.skip(str(error))
    where = tmp_path_factory.mktemp("label-studio")
    migrated = os.environ.get("SCEDIT_LABEL_STUDIO_DATA")
    if migrated and Path(migrated).is_dir():
        shutil.copytree(migrated, where, dirs_exist_ok=True)
        (where / "server.pid").unlink(missing_ok=True)
    start_server(where)
    yield where
    stop_server(where)


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
def test_a_whole_filter_round(folder: Path, db: RatingsDB, store: Store) -> None:
    served.need_browser()
    from label_studio_sdk import LabelStudio

    from annotation_ui.label_studio.client import LabelStudioSite
    from tests.support.app.label_studio_server import read_access, start_server, token_of

    site = LabelStudioSite(read_access(folder).url, read_access(folder).token)
    accounts = {}
    for name in NAMES:
        people.invite(db, name, synthetic=True)
        accounts[name] = site.invite(db, name)
    with pytest.raises(UserError, match="has an account already"):
        site.invite(db, NAMES[0])
    create_campaign(db, store, "filter", make_task("filter_question"), CampaignOptions(overlap=3))
    assign_items(db, "filter")
    push_result = site.push(db, "filter")
    assert push_result.new == 24 and site.push(db, "filter")[1:] == (0, 24)
    ((_, project),) = push_result.projects.items()
    task_of = {i: int(t) for i, t in db.remote_names(site.url, "task/filter/*").items()}
    items = list(task_of)
    api: dict[str, Any] = {n: LabelStudio(base_url=site.url, api_key=token_of(site.url, accounts[n])) for n in NAMES}

    with served.browser() as browser:  # the first answers in the browser
        log_in_and_answer(browser.new_page(), site.url, accounts[NAMES[0]], project, 2)

    for item in items:  # the second by API
        api[NAMES[1]].annotations.create(task_of[item], result=build_result(YES, FORM), lead_time=4.0)
    for n, item in enumerate(items[:12]):  # the third in two halves, the server killed in between
        api[NAMES[2]].annotations.create(
            task_of[item], result=build_result(NO if n % 3 == 0 else YES, FORM), lead_time=5.0
        )
    os.killpg(int((folder / "server.pid").read_text()), signal.SIGKILL)
    with pytest.raises(UserError, match="does not answer"):
        LabelStudioSite(read_access(folder).url, read_access(folder).token)
    start_server(folder)
    for item in items[12:]:
        api[NAMES[2]].annotations.create(task_of[item], result=build_result(YES, FORM), lead_time=5.0)

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
    assert {v.by for v in verdicts} == {f"person:{n}/filter_question@2" for n in NAMES}
    assert all(store.lineage(v.id)[0].detail["synthetic"] for v in verdicts)


@pytest.mark.slow
def test_blind_tasks_have_a_project_a_person_and_never_predictions(folder: Path, db: RatingsDB, store: Store) -> None:
    from annotation_ui.label_studio.client import LabelStudioSite
    from tests.support.app.label_studio_server import read_access

    site = LabelStudioSite(read_access(folder).url, read_access(folder).token)
    for name in ("synthetic-dan", "synthetic-eve"):
        people.invite(db, name, synthetic=True)
        site.invite(db, name)
    create_campaign(db, store, "rate", make_task("rate_script"), CampaignOptions(overlap=2))
    with pytest.raises(UserError, match="nothing of 'rate' is assigned"):
        site.push(db, "rate")
    assign_items(db, "rate")
    assert set(site.push(db, "rate").projects) == {"synthetic-dan", "synthetic-eve"}
    for number in db.remote_names(site.url, "project/rate").values():
        text = str(next(pages(site, int(number)))["data"])
        assert "tiny" not in text and "rome" not in text and "none" not in text


@pytest.mark.slow
def test_a_push_that_was_stopped_is_completed(folder: Path, db: RatingsDB, store: Store) -> None:
    from annotation_ui.label_studio.client import LabelStudioSite
    from tests.support.app.label_studio_server import read_access

    site = LabelStudioSite(read_access(folder).url, read_access(folder).token)
    people.invite(db, "synthetic-fay", synthetic=True)
    create_campaign(db, store, "half", make_task("filter_question"), CampaignOptions(overlap=1))
    assign_items(db, "half")
    ((_, project),) = site.push(db, "half").projects.items()
    db.connection.execute(
        "DELETE FROM links WHERE kind = 'task/half/*'"
    )  # as if it had been stopped before it wrote down what it did
    assert site.push(db, "half")[1:] == (0, 24)
    tasks = {t["data"]["scedit_item"]: t for t in pages(site, project)}
    assert len(tasks) == 24


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
    folder: Path, db: RatingsDB, store: Store, tmp_path: Path
) -> None:
    from annotation_ui.agreement.report import agreement_report, live_judgements
    from annotation_ui.label_studio.client import BROKEN_TASK, LabelStudioSite
    from tests.support.app.label_studio_server import read_access, token_of

    site = LabelStudioSite(read_access(folder).url, read_access(folder).token)
    accounts = {}
    for name in ("synthetic-gil", "synthetic-hal"):
        people.invite(db, name, synthetic=True)
        accounts[name] = site.invite(db, name)
    gil, hal = accounts.values()
    tokens = {name: token_of(site.url, account) for name, account in accounts.items()}
    marks, pairs = make_task("filter_question", spans=True), make_task("compare_scripts")
    create_campaign(db, store, "marks", make_task("filter_question"), CampaignOptions(overlap=2, spans=True))
    create_campaign(db, store, "pairs", pairs, CampaignOptions(overlap=2))
    for name in ("marks", "pairs"):
        assign_items(db, name)
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
