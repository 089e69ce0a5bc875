"""``annotate label-studio``: what is said of a pull, and recorded exports, without a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.label_studio.validation import PullResult, task_data
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.script_questions import FilterQuestion
from schemas.core.errors import UserError
from tests.annotation_ui.cli.conftest import call
from tests.support.app.label_studio_results import build_result
from tests.support.commands import json_value

client: Any = pytest.importorskip("annotation_ui.label_studio.client", reason="label-studio-sdk is not installed")
FORM = FilterQuestion.form
YES = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}


def test_label_studio_needs_a_server(db_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LABEL_STUDIO_URL", raising=False)
    with pytest.raises(UserError, match=r"LABEL_STUDIO_URL is not set; start a server \(label-studio start\)"):
        call("label-studio", "push", "p", "-r", db_path)
    monkeypatch.setenv("LABEL_STUDIO_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("LABEL_STUDIO_API_KEY", raising=False)
    with pytest.raises(UserError, match="LABEL_STUDIO_API_KEY is not"):
        call("label-studio", "push", "p", "-r", db_path)


@pytest.fixture
def pilot(db_path: Path, store_path: Path) -> tuple[Path, list[str]]:
    """A campaign of one person; the ratings file and that person's items."""
    call("new", "p", "--task", "filter_question", "-s", store_path, "-r", db_path, "--overlap", 1)
    call("invite", "ann", "-r", db_path)
    call("assign", "p", "-r", db_path)
    with RatingsDB(db_path) as ratings:
        return db_path, [a.item for a in ratings.assignments("p", "ann")]


def annotation(number: int, answers: dict[str, Any], *, by: Any = 7) -> dict[str, Any]:
    return {"id": number, "completed_by": by, "updated_by": by, "result": build_result(answers, FORM), "lead_time": 2.5}


def export(path: Path, db: Path, *tasks: tuple[str, list[dict[str, Any]]]) -> Path:
    with RatingsDB(db) as ratings:
        rows = [
            {"id": n, "data": task_data(ratings.item("p", item).item, FORM), "annotations": annotations}
            for n, (item, annotations) in enumerate(tasks)
        ]
    path.write_text(json.dumps(rows))
    return path


def test_an_export_is_read_without_a_server(pilot: tuple[Path, list[str]], tmp_path: Path) -> None:
    db, items = pilot
    path = export(tmp_path / "e.json", db, *((item, [annotation(n, YES)]) for n, item in enumerate(items[:3])))
    words = ("label-studio", "pull", "p", "-r", db, "--export", path, "--account", "7=ann", "--json")
    result = call(*words)
    data = json_value(result.stdout)
    assert (result.exit_code, data) == (0, {"answers": 3, "new": 3, "refused": [], "ignored": []})
    assert json.loads(call(*words).output)["new"] == 0
    with RatingsDB(db) as ratings:
        assert {r.item for r in ratings.current_answers("p", person="ann")} == set(items[:3])
        assert {r.seconds for r in ratings.current_answers("p")} == {2.5}


def test_what_is_rejected_is_told_written_and_sets_the_status(pilot: tuple[Path, list[str]], tmp_path: Path) -> None:
    db, items = pilot
    bad = {**YES, "guides": "perhaps"}
    path = export(
        tmp_path / "e.json",
        db,
        (items[0], [annotation(1, YES)]),
        (items[1], [annotation(2, bad)]),
        (items[2], [annotation(3, YES, by={"id": 8})]),
    )
    report = tmp_path / "refused.jsonl"
    result = call(
        "label-studio", "pull", "p", "-r", db, "--export", path, "--account", "7=ann", "--report", report
    )  # fmt: skip
    assert result.exit_code == 1
    rows = {r["annotation"]: r for r in map(json.loads, report.read_text().splitlines())}
    assert rows["2"]["person"] == "ann" and rows["2"]["item"] == items[1] and "'perhaps'" in rows["2"]["why"]
    assert rows["3"]["person"] == "account 8" and set(rows) == {"2", "3"}
    assert "annotation 2 of ann" in result.output and result.output.startswith("1 valid answer")
    with RatingsDB(db) as ratings:
        assert [r.item for r in ratings.current_answers("p")] == [items[0]]


@pytest.mark.parametrize("account", ["ann", "7", "7="])
def test_an_account_is_a_number_and_a_name(pilot: tuple[Path, list[str]], tmp_path: Path, account: str) -> None:
    path = export(tmp_path / "e.json", pilot[0])
    result = call("label-studio", "pull", "p", "-r", pilot[0], "--export", path, "--account", account)
    assert result.exit_code == 2 and f"got '{account}'" in result.output


class Site:
    """A site that takes everything."""

    url = "http://ls"

    def push(self, db: RatingsDB, name: str) -> Any:
        return client.PushResult({"*": 5, "ann": 6}, 2, 1)

    def pull(self, db: RatingsDB, name: str) -> PullResult:
        return PullResult(2, 1, (), ("task 9 of item i was deleted",))

    def invite(self, db: RatingsDB, person: str) -> Any:
        return client.AnnotatorAccount(person, f"{person}@x", "secret")


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Site:
    result = Site()
    monkeypatch.setattr("annotation_ui.cli.label_studio._site", lambda: result)
    return result


def test_a_push_names_everybody_s_address(pilot: tuple[Path, list[str]], site: Site) -> None:
    output = call("label-studio", "push", "p", "-r", pilot[0]).output.splitlines()
    assert "http://ls/projects/5/" in output[1] and output[1].endswith("everybody")
    assert "http://ls/projects/6/" in output[2] and output[2].endswith("ann")


def test_a_task_that_is_gone_there_sets_the_status_too(pilot: tuple[Path, list[str]], site: Site) -> None:
    result = call("label-studio", "pull", "p", "-r", pilot[0], "--json")
    assert result.exit_code == 1
    assert json.loads(result.output)["refused"] == [{"missing": "task 9 of item i was deleted"}]


def test_a_password_is_printed(pilot: tuple[Path, list[str]], site: Site) -> None:
    row = {"person": "ann", "email": "ann@x", "password": "secret"}
    assert json.loads(call("label-studio", "invite", "ann", "-r", pilot[0], "--jsonl").stdout) == row
    assert json_value(call("label-studio", "invite", "ann", "-r", pilot[0], "--json").stdout) == [row]
