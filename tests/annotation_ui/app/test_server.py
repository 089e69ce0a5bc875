"""The app's own addresses without Streamlit behind them, and logging in."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

from annotation_ui.app.widgets import cookie_name
from annotation_ui.ratings import database
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import read_draft
from annotation_ui.ratings.raters import identity_of
from annotation_ui.tasks.generated_scripts import RateScript
from curation.store.store import Store
from tests.annotation_ui.app.conftest import button, pilot, texts

server: Any = pytest.importorskip("annotation_ui.app.server", reason="starlette is not installed")
OWN = {"x-scedit": "1"}
ENTRY = tuple[Any, str, dict[str, Any]]


@pytest.fixture
def client(db: RatingsDB) -> Any:
    from starlette.applications import Starlette
    from starlette.testclient import TestClient

    app = Starlette(routes=server.routes(db.path), middleware=[server.FRAME_REFUSAL])
    with TestClient(app, base_url="http://127.0.0.1") as http_client:
        yield http_client


@pytest.fixture
def ann(db: RatingsDB, store: Store, client: Any) -> ENTRY:
    """A client with ann's cookie, her token, and a draft of hers that has not been sent."""
    pilot(db, store, "ann", "bob")
    token = people.log_in(db, people.invite(db, "ann")) or ""
    client.post(server.SESSION_PATH, json={"token": token}, headers=OWN)
    item = db.assignments("pilot", "ann")[0].item
    return client, token, {"campaign": "pilot", "item": item, "person": "ann", "answers": {"coherence": 3}}


def test_the_cookie_is_the_server_s_own_and_named_after_the_file(db: RatingsDB, client: Any) -> None:
    token = people.log_in(db, people.invite(db, "ann")) or ""
    response = client.post(server.SESSION_PATH, json={"token": token, "secure": True}, headers=OWN)
    header = response.headers["set-cookie"]
    assert response.status_code == 204 and header.startswith(f"{cookie_name(db.path)}={token};")
    assert {"HttpOnly", "SameSite=strict", "Secure", "Path=/"} <= set(header.split("; "))
    assert cookie_name(db.path) != cookie_name(db.path.with_name("other"))
    assert "Max-Age=0" in client.request("DELETE", server.SESSION_PATH, headers=OWN).headers["set-cookie"]


def test_no_page_is_shown_in_another_s_frame(client: Any) -> None:
    for path in ("/", server.SESSION_PATH):
        response = client.get(path)
        assert response.headers["x-frame-options"] == "DENY"
        assert response.headers["content-security-policy"] == "frame-ancestors 'none'"


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"token": 5}', b'{"token": "guess"}', b"\xff", b"[" * 50_000,
                                  b'{"token": "\\ud800"}', b'{"token": NaN}'])  # fmt: skip
def test_a_guess_gets_no_cookie(db: RatingsDB, client: Any, body: bytes) -> None:
    people.invite(db, "ann")
    response = client.post(server.SESSION_PATH, content=body, headers=OWN)
    assert response.status_code == 401 and "set-cookie" not in response.headers


def test_another_site_sets_no_cookie_and_keeps_no_draft(db: RatingsDB, ann: ENTRY) -> None:
    client, token, draft = ann
    assert client.post(server.SESSION_PATH, json={"token": token}).status_code == 403
    assert client.request("DELETE", server.SESSION_PATH).status_code == 403
    assert client.post(server.DRAFT_PATH, json=draft).status_code == 400


def test_a_draft_is_kept_and_goes_with_the_save(db: RatingsDB, ann: ENTRY) -> None:
    client, _, draft = ann
    form = RateScript.form
    draft["answers"] |= {"comment": "half a se", "consistency": 99, "unknown": 1}
    response = client.post(server.DRAFT_PATH, json=draft, headers=OWN)
    assert response.status_code == 204 and "Max-Age=43200" in response.headers["set-cookie"]
    assert read_draft(db, "pilot", "ann", draft["item"], form) == {"coherence": 3, "comment": "half a se"}
    db.save("pilot", "ann", draft["item"], {"coherence": 3, "consistency": 7, "completeness": 1}, form=form.label)
    assert read_draft(db, "pilot", "ann", draft["item"], form) == {}


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"person": "bob"}, 401),  # another tab of the same browser, where bob logged in later
        ({"item": "f" * 20}, 503),
        ({"campaign": "other"}, 503),
        ({"campaign": "\ud800"}, 503),
        ({"item": "\udfff"}, 503),
        ({"campaign": {"a": 1}, "item": None}, 503),
        ({"person": "\ud800"}, 401),
        ({"answers": [1]}, 400),
        ({"answers": {"comment": "x" * 70_000}}, 400),
    ],
)
def test_a_draft_that_is_not_the_person_s_is_refused(
    db: RatingsDB, ann: ENTRY, change: dict[str, Any], status: int
) -> None:
    client, _, draft = ann
    body = json.dumps(draft | change)
    assert client.post(server.DRAFT_PATH, content=body, headers=OWN).status_code == status
    assert db.connection.execute("SELECT count(*) FROM drafts").fetchone()[0] == 0


def test_a_draft_without_end_is_not_read_to_its_end(db: RatingsDB, ann: ENTRY) -> None:
    """Sent in pieces, without a length in front."""
    client, _, draft = ann

    def endless() -> Iterator[bytes]:
        yield json.dumps(draft)[:-1].encode()
        yield from [b" " * 10_000] * 100
        yield b"}"

    assert client.post(server.DRAFT_PATH, content=endless(), headers=OWN).status_code == 400
    assert db.connection.execute("SELECT count(*) FROM drafts").fetchone()[0] == 0


def test_an_ended_session_a_full_disk_and_a_lock_are_said(
    db: RatingsDB, ann: ENTRY, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, token, draft = ann
    monkeypatch.setattr(database, "BUSY", 0.05)
    db.connection.execute("BEGIN IMMEDIATE")
    response = client.post(server.DRAFT_PATH, json=draft, headers=OWN)
    db.connection.execute("ROLLBACK")
    assert response.status_code == 503 and "another program holds the ratings file" in response.text
    people.log_out(db, token)
    response = client.post(server.DRAFT_PATH, json=draft, headers=OWN)
    assert response.status_code == 401


AppTest: Any = pytest.importorskip("streamlit.testing.v1").AppTest


def _login(ratings: str, *, ended: bool = False) -> None:
    from annotation_ui.app.main import show_login
    from annotation_ui.ratings.database import RatingsDB

    with RatingsDB(ratings) as db:
        show_login(db, ended=ended)


@pytest.fixture
def page(db: RatingsDB) -> Any:
    testing = pytest.importorskip("streamlit.testing.v1", reason="streamlit is not installed")
    return testing.AppTest.from_function(_login, kwargs={"ratings": str(db.path)}, default_timeout=60).run()


def sessions(db: RatingsDB) -> int:
    return int(db.connection.execute("SELECT count(*) FROM sessions").fetchone()[0])


@pytest.mark.parametrize("padding", ["{}", "  {}\n"])
def test_the_right_secret_opens_one_session_of_its_person(db: RatingsDB, page: Any, padding: str) -> None:
    people.invite(db, "bob")
    secret = people.invite(db, "ann")
    page.text_input[0].set_value(padding.format(secret))
    button(page, "Log in").click().run()
    assert not page.error
    person = people.authenticate(db, page.session_state["token"])
    assert person is not None and person.name == "ann"
    assert page.session_state["remember"] is True, "so that a reload does not ask again"
    assert sessions(db) == 1


@pytest.mark.parametrize("secret", ["", "guess", "ann", "' OR 1=1 --", "x" * 5000, "\U0001f600"])
def test_a_wrong_one_waits_says_so_and_opens_nothing(db: RatingsDB, page: Any, secret: str) -> None:
    people.invite(db, "ann")
    page.text_input[0].set_value(secret)
    began = time.monotonic()
    button(page, "Log in").click().run()
    assert time.monotonic() - began >= 0.5, "guessing is slow"
    assert len(page.error) == 1 and (not secret or secret not in page.error[0].value)
    assert "token" not in page.session_state and sessions(db) == 0


def test_a_session_that_ended_says_so_and_that_the_draft_is_saved(db: RatingsDB, page: Any) -> None:
    testing = pytest.importorskip("streamlit.testing.v1", reason="streamlit is not installed")
    assert not page.warning, "nobody was logged in"
    ended = testing.AppTest.from_function(_login, kwargs={"ratings": str(db.path), "ended": True}, default_timeout=60)
    assert ended.run().warning[0].value.startswith("Your session has ended. Your answers and your draft are saved.")
    ended.session_state["logged-out"] = True
    assert not ended.run().warning, "whoever logged out knows it"


def test_the_secret_is_typed_unseen(page: Any) -> None:
    assert page.text_input[0].proto.type == page.text_input[0].proto.PASSWORD


def _main() -> None:
    from annotation_ui.app.main import main

    main()


def by_link(monkeypatch: pytest.MonkeyPatch, db: RatingsDB, **parameters: str) -> Any:
    """The app as who opens a personal link sees it."""
    monkeypatch.setattr(sys, "argv", ["main.py", str(db.path)])
    opened = AppTest.from_function(_main, default_timeout=60)
    for name, value in parameters.items():
        opened.query_params[name] = value
    return opened.run()


def test_a_personal_link_leads_in_and_the_finish_page_shows_the_code(
    db: RatingsDB, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "https://app.prolific.com/submissions/complete?cc=C1ABCD"
    pilot(db, store, "p01", task="rate_executability", completion_code="C1ABCD", completion_url=url)
    secret = people.invite(db, "p01")
    for a in db.assignments("pilot", "p01"):
        db.save("pilot", "p01", a.item, {"executability": 3}, form="rate_executability@3")
    mine = by_link(monkeypatch, db, invitation=secret, PROLIFIC_PID="5f1", evil="<script>")
    assert "12 of 12 done" in mine.get("progress")[0].proto.text and "Your completion code: C1ABCD" in texts(mine)
    (link,) = mine.get("link_button")
    assert (link.proto.label.replace("\\", ""), link.proto.url) == ("Finish at app.prolific.com", url)
    assert not dict(mine.query_params), "the secret does not stay in the address"
    assert identity_of(db, "p01") == {"PROLIFIC_PID": "5f1"}
    other = by_link(monkeypatch, db, invitation=secret, PROLIFIC_PID="other")
    assert "belongs to another participant" in texts(other) and not other.radio
    assert "not valid any more" in texts(by_link(monkeypatch, db, invitation="wrong"))
