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


def test_a_ratings_file_that_is_not_there_is_told(files: tuple[Path, Path]) -> None:
    with pytest.raises(UserError, match="no such ratings file"):
        call("serve", "-r", files[0].with_name("none"))


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
    files: tuple[Path, Path], started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    db, store = files
    RatingsDB(db, create=True).close()
    monkeypatch.chdir(db.parent)
    result = call("serve", "-r", db.name, "--store", store.name, "--port", 8765)
    assert result.exit_code == 3
    assert "http://127.0.0.1:8765" in result.stderr and result.stdout == ""
    ((words, _),) = [c.values() for c in started]
    from annotation_ui.app.main import arguments

    assert arguments(words[4:]) == (db.absolute(), store.absolute())
    options = json.loads(words[3])
    assert (options["server.port"], options["server.address"]) == (8765, "127.0.0.1")


def test_nothing_is_sent_anywhere_and_errors_show_no_code(files: tuple[Path, Path]) -> None:
    options = json.loads(command(files[0], None, host="127.0.0.1", port=1)[3])
    assert options["browser.gatherUsageStats"] is False and options["server.enableXsrfProtection"] is True
    assert (options["client.showErrorDetails"], options["client.toolbarMode"]) == ("none", "minimal")
    assert options["server.headless"] is True


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_this_machine_needs_no_permission(files: tuple[Path, Path], started: list[dict[str, Any]], host: str) -> None:
    RatingsDB(files[0], create=True).close()
    call("serve", "-r", files[0], "--host", host)
    assert json.loads(started[0]["words"][3])["server.address"] == host


def test_another_address_is_served_when_it_is_meant(files: tuple[Path, Path], started: list[dict[str, Any]]) -> None:
    RatingsDB(files[0], create=True).close()
    for host in ("0.0.0.0", "192.168.1.5", "::"):
        with pytest.raises(UserError, match="can be reached by other machines"):
            call("serve", "-r", files[0], "--host", host)
    assert started == []
    call("serve", "-r", files[0], "--host", "0.0.0.0", "--allow-network")
    assert len(started) == 1


def test_a_missing_streamlit_is_named_before_anything_starts(
    files: tuple[Path, Path], started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    RatingsDB(files[0], create=True).close()
    monkeypatch.setattr("annotation_ui.cli.serve.importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingPackage, match="streamlit"):
        call("serve", "-r", files[0])
    assert started == []
