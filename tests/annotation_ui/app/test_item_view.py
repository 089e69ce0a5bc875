"""An item's page while the ratings file cannot be read: what is filled in stays, and can be sent again."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.app.conftest import Visit, pilot
from tests.annotation_ui.app.test_keyboard import last, listening, press, ready, save, wait_until
from tests.support.app import served_app as served


@pytest.mark.slow
def test_a_filled_form_outlives_a_file_that_is_away(db: RatingsDB, store: Store, visit: Visit) -> None:
    pilot(db, store, "ann", task="filter_question", spans=True)
    secret = people.invite(db, "ann")
    away = db.path.with_name("away.sqlite")
    page = visit(secret)
    ready(page, 0, 24)
    page.locator(".marks").wait_for()  # marking listens
    for key in ("m", "Enter"):  # the first word of the cut
        page.keyboard.press(key)
    page.get_by_role("button", name="Remove the mark on").wait_for()
    press(page, "yyny", ["yes", "yes", "no", "yes"])
    page.keyboard.press("a")
    page.get_by_label("Comment (optional)").fill("half a se")
    page.get_by_text("Draft saved.").wait_for()
    db.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.path.rename(away)
    for _ in range(2):  # sent twice in vain
        page.keyboard.press("Control+Enter")
        page.get_by_text("There is no such ratings file").first.wait_for()
        listening(page)  # the page has run, and takes keys again
        wait_until(page, ["yes", "yes", "no", "yes"])
        assert page.get_by_label("Comment (optional)").input_value() == "half a se"
        assert str(db.path) not in page.inner_text("body"), "where the server keeps it is nobody's business"
    away.rename(db.path)
    save(page, 1, 24)
    result = last(db)
    assert len(result.pop("marked")) == 1
    assert {name for name, value in result.items() if value == "yes"} == {"meaningful", "depends", "guides"}
    assert (result["changes"], result["comment"]) == ("no", "half a se")
    page.get_by_role("link", name="My answers").click()
    page.get_by_text("half a se").wait_for()
    db.path.rename(away)
    page.get_by_role("button", name="Change").click()
    page.get_by_text("There is no such ratings file").first.wait_for()
    assert page.get_by_role("radiogroup").count() == 0, "another page shows no form"
    away.rename(db.path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MiB; only root may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, timeout=20).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True, timeout=20)


@pytest.mark.slow
def test_a_disk_that_is_full_is_said_and_the_form_stays_filled(small_disk: Path, store: Store, browser: Any) -> None:
    """A real one, in a browser: what was saved before stays, and what is filled in is saved once there is room."""
    with RatingsDB(small_disk / "ratings.sqlite", create=True) as db:
        pilot(db, store, "ann")
        secret = people.invite(db, "ann")
        with served.served(db.path) as app:
            page = browser.new_page(viewport={"width": 1366, "height": 768})
            served.enter(page, app, secret)
            served.rate(page, ["2", "3", "4"], 0, 12)
            ready(page, 1, 12)
            ballast = small_disk / "ballast"
            with suppress(OSError), ballast.open("wb", buffering=0) as file:
                while file.write(bytes(4096)) == 4096:
                    pass
            press(page, "375", ["3", "7", "5"])
            page.get_by_label("Comment (optional)").fill("a thought " * 300)  # more than is left of the last page
            page.keyboard.press("Control+Enter")
            error = page.get_by_test_id("stAlertContentError")
            error.get_by_text("the disk is full").wait_for()
            error.get_by_text("Try again in a minute").wait_for()
            listening(page)
            wait_until(page, ["3", "7", "5"])
            assert len(db.history("pilot")) == 1
            ballast.unlink()
            save(page, 2, 12)
        assert [(r.answers or {})["coherence"] for r in db.history("pilot")] == [2, 3]
        assert str(last(db)["comment"]).startswith("a thought a thought")


def test_a_lock_while_something_is_read_is_a_sentence(db: RatingsDB, store: Store) -> None:
    from schemas.core.errors import StoreError

    with pytest.raises(StoreError, match="another program holds"), RatingsDB(db.path):
        raise sqlite3.OperationalError("database is locked")
