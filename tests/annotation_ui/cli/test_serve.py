"""``annotate serve``: which process is started, and what is refused before one is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.cli.serve import command
from annotation_ui.ratings.database import RatingsDB
from schemas.core.errors import MissingPackage, UserError
from tests.annotation_ui.cli.conftest import call


def test_a_ratings_file_that_is_not_there_is_told(db_path: Path) -> None:
    with pytest.raises(UserError, match="no such ratings file"):
        call("serve", "-r", db_path.with_name("none"))


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The processes that would be started, without starting them."""
    calls: list[dict[str, Any]] = []

    def run(words: list[str], env: dict[str, str]) -> int:
        calls.append({"words": words, "env": env})
        return 3

    monkeypatch.setattr("annotation_ui.cli.serve.subprocess.call", run)
    return calls


def test_the_app_gets_absolute_paths_and_its_status_is_ours(
    db_path: Path, store_path: Path, started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    RatingsDB(db_path, create=True).close()
    monkeypatch.chdir(db_path.parent)
    result = call("serve", "-r", db_path.name, "--store", store_path.name, "--port", 8765)
    assert result.exit_code == 3
    assert "http://127.0.0.1:8765" in result.stderr and result.stdout == ""
    ((words, _),) = [c.values() for c in started]
    assert words[4:] == [str(db_path.absolute()), str(store_path.absolute())]
    options = json.loads(words[3])
    assert (options["server.port"], options["server.address"]) == (8765, "127.0.0.1")


def test_nothing_is_sent_anywhere_and_errors_show_no_code(db_path: Path) -> None:
    options = json.loads(command(db_path, None, host="127.0.0.1", port=1)[3])
    assert options["browser.gatherUsageStats"] is False and options["server.enableXsrfProtection"] is True
    assert (options["client.showErrorDetails"], options["client.toolbarMode"]) == ("none", "minimal")
    assert options["server.headless"] is True


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_this_machine_needs_no_permission(db_path: Path, started: list[dict[str, Any]], host: str) -> None:
    RatingsDB(db_path, create=True).close()
    call("serve", "-r", db_path, "--host", host)
    assert json.loads(started[0]["words"][3])["server.address"] == host


def test_another_address_is_served_when_it_is_meant(db_path: Path, started: list[dict[str, Any]]) -> None:
    RatingsDB(db_path, create=True).close()
    for host in ("0.0.0.0", "192.168.1.5", "::"):
        with pytest.raises(UserError, match="can be reached by other machines"):
            call("serve", "-r", db_path, "--host", host)
    assert started == []
    call("serve", "-r", db_path, "--host", "0.0.0.0", "--allow-network")
    assert len(started) == 1


def test_a_missing_streamlit_is_named_before_anything_starts(
    db_path: Path, started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    RatingsDB(db_path, create=True).close()
    monkeypatch.setattr("annotation_ui.cli.serve.importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="streamlit"):
        call("serve", "-r", db_path)
    assert started == []
