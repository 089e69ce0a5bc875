"""What every page is given: who looks stands in the session, and nothing that a browser says changes it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.app.page_context import PageContext
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.app.conftest import button, pilot, texts


def _main() -> None:
    from annotation_ui.app.main import main

    main()


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch) -> list[PageContext]:
    """The contexts that the first pages of raters and leads were shown with."""
    results: list[PageContext] = []
    for page in ("rate", "lead.progress"):
        pytest.importorskip("streamlit", reason="streamlit is not installed")
        monkeypatch.setattr(f"annotation_ui.app.{page}.show", results.append)
    return results


def app(monkeypatch: pytest.MonkeyPatch, db: RatingsDB, token: str | None, *words: str) -> Any:
    from streamlit.testing.v1 import AppTest

    monkeypatch.setattr(sys, "argv", ["main.py", "--ratings", str(db.path), *words])
    page = AppTest.from_function(_main, default_timeout=60)
    if token is not None:
        page.session_state["token"] = token
    return page.run()


def test_a_session_gives_its_own_person_the_file_and_the_snapshot(
    db: RatingsDB, contexts: list[PageContext], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    token = people.log_in(db, people.invite(db, "ann")) or ""
    lead = people.log_in(db, people.invite(db, "lea", role="lead")) or ""
    app(monkeypatch, db, token)
    app(monkeypatch, db, lead, "--store", str(tmp_path / "snapshot.duckdb"))
    ann, lea = contexts
    assert (ann.person, ann.token, ann.store) == (people.get_rater(db, "ann"), token, None)
    assert (lea.person, lea.token, lea.store) == (people.get_rater(db, "lea"), lead, tmp_path / "snapshot.duckdb")
    assert ann.db.path == db.path


@pytest.mark.parametrize("token", [None, "", "guess"])
def test_without_a_session_no_page_is_given_anything(
    db: RatingsDB, contexts: list[PageContext], monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    people.invite(db, "ann")
    page = app(monkeypatch, db, token)
    assert contexts == [] and [t.label for t in page.text_input] == ["Secret"]


def test_a_session_that_ends_meanwhile_ends_the_page(
    db: RatingsDB, contexts: list[PageContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = people.log_in(db, people.invite(db, "ann"))
    page = app(monkeypatch, db, token)
    people.invite(db, "ann")  # a new secret ends the old one's sessions
    page.run()
    assert len(contexts) == 1 and page.text_input[0].label == "Secret"


def test_somebody_who_was_deleted_is_out_at_the_next_click(
    db: RatingsDB, contexts: list[PageContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    token = people.log_in(db, people.invite(db, "ann"))
    page = app(monkeypatch, db, token)
    people.delete_rater(db, "ann")
    page.run()
    assert len(contexts) == 1 and page.text_input[0].label == "Secret"


def test_logging_out_ends_the_session_on_the_server(
    db: RatingsDB, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("streamlit", reason="streamlit is not installed")
    pilot(db, store, "ann")
    token = people.log_in(db, people.invite(db, "ann"))
    page = app(monkeypatch, db, token)
    assert "Logged in as ann" in "".join(c.value for c in page.sidebar.caption)
    button(page, "Log out").click().run()
    assert people.authenticate(db, token) is None
    assert "token" not in page.session_state and page.text_input[0].label == "Secret"
    assert "ann" not in texts(page)


def test_a_ratings_file_that_is_gone_is_told_in_one_sentence(
    db: RatingsDB, contexts: list[PageContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    db.close()
    db.path.unlink()
    page = app(monkeypatch, db, "x")
    assert "no such ratings file" in page.error[0].value.replace("\\", "") and not page.exception and contexts == []
