"""Everybody's own server: one person's items and account on each, and all of it comes back together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.label_studio.server import ServerAccess
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.annotation_ui.cli.conftest import call
from tests.annotation_ui.label_studio.test_client import Studio, annotate, campaign, client
from tests.support.commands import json_value

isolation: Any = pytest.importorskip("annotation_ui.label_studio.isolation", reason="label-studio-sdk is not installed")


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Studio]:
    """Servers by address: one a folder, each a few lists; accounts are numbered from 70."""
    studios: dict[str, Studio] = {}

    def start(folder: Path) -> Any:
        folder.mkdir(parents=True, exist_ok=True)
        studios.setdefault(f"http://{folder.name}", Studio())
        return ServerAccess(f"http://{folder.name}", "o@x", "pw", "token")

    def invite(self: Any, db: RatingsDB, person: str) -> Any:
        db.link(self.url, "person", [(person, "70")])
        return client.AnnotatorAccount(person, f"{person}@scedit.invalid", f"secret of {person}", "t")

    monkeypatch.setattr(isolation, "start_server", start)
    monkeypatch.setattr(client, "LabelStudio", lambda base_url, api_key: studios[base_url])
    monkeypatch.setattr(client.LabelStudioSite, "invite", invite)
    return studios


def test_nobody_shares_a_server_and_everything_comes_back(
    db: RatingsDB, store: Store, servers: dict[str, Studio], tmp_path: Path
) -> None:
    campaign(db, store, "filter_question", 2, "ann", "bob")
    first = isolation.push_isolated(db, "c", tmp_path)
    assert [(p.person, p.password, p.new) for p in first] == [
        ("ann", "secret of ann", 24),
        ("bob", "secret of bob", 24),
    ]
    assert set(servers) == {"http://rater-ann", "http://rater-bob"}
    assert [g["title"] for s in servers.values() for g in s.made.values()] == ["scedit c / ann", "scedit c / bob"]
    pushes = isolation.push_isolated(db, "c", tmp_path)
    assert [(p.password, p.new, p.known) for p in pushes] == [(None, 0, 24)] * 2
    for studio in servers.values():
        for task in studio.tasks[1]:
            annotate(task, 70, id=task["id"])  # each server counts from 1, and its list has no other name
    annotate(servers["http://rater-bob"].tasks[1][0], 71)
    pull_result = isolation.pull_isolated(db, "c", tmp_path)
    assert (pull_result.answers, pull_result.new, len(pull_result.rejected), pull_result.missing) == (48, 48, 1, ())
    assert {r.person for r in db.current_answers("c")} == {"ann", "bob"}
    again = isolation.pull_isolated(db, "c", tmp_path)
    assert (again.answers, again.new) == (48, 0)
    del servers["http://rater-bob"].tasks[1][1]["annotations"][:]
    (gone,) = isolation.pull_isolated(db, "c", tmp_path).missing
    assert "of bob on item" in gone and "was deleted; the answer pulled before holds" in gone


def test_the_command_prints_passwords_once_and_pull_finds_the_servers(
    db: RatingsDB, store: Store, servers: dict[str, Studio], tmp_path: Path
) -> None:
    campaign(db, store, "filter_question", 1, "ann")
    words = ("c", "-r", db.path, "--folder", tmp_path / "ls")
    with pytest.raises(UserError, match="isolate c"):
        call("label-studio", "pull", *words, "--isolated")
    (data,) = json_value(call("label-studio", "isolate", *words, "--json").stdout)
    assert data["password"] == "secret of ann" and data["url"] == "http://rater-ann/projects/1/data?labeling=1"
    assert "secret" not in call("label-studio", "isolate", *words).output
    annotate(servers["http://rater-ann"].tasks[1][0], 70)
    assert json.loads(call("label-studio", "pull", *words, "--isolated", "--json").output)["answers"] == 1


def test_a_name_leads_out_of_no_folder(tmp_path: Path) -> None:
    for person in ("..", "a/b", ".", "person:x"):
        assert isolation.person_folder(tmp_path, person).parent == tmp_path / "people"


def test_nothing_runs_where_nothing_was_started(tmp_path: Path) -> None:
    assert isolation.stop_isolated(tmp_path) == 0
    (tmp_path / "people" / "rater-ann").mkdir(parents=True)
    assert isolation.stop_isolated(tmp_path) == 0
