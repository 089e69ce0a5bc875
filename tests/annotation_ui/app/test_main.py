"""The rating app in a real browser. Everything rated here is rated by programs and labelled synthetic."""

from __future__ import annotations

import multiprocessing
import random
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from annotation_ui.app.widgets import cookie_name
from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from tests.annotation_ui.app.conftest import Visit
from tests.annotation_ui.conftest import begin
from tests.support.app import served_app as served
from tests.support.app.served_app import App

PATIENCE = 120.0  # seconds that an answer of the server is waited for


@contextmanager
def _one_error() -> Iterator[None]:
    """Whatever breaks a connection, as one kind of error."""
    from websockets.exceptions import WebSocketException

    try:
        yield
    except (WebSocketException, TimeoutError) as error:
        raise ConnectionError(str(error)) from None


class AppSession:
    """One person at the app: what is shown, and answers that are sent as the page sends them.

    Attributes:
        done: Items that the page says are done.
        radios: Ids of the questions, in order. ``save``: id of the button that saves; empty where no form is shown.
    """

    def __init__(self, app: App, token: str) -> None:
        self.app, self.token = app, token
        self.done, self.save = -1, ""
        self.radios: list[str] = []

    def __enter__(self) -> AppSession:
        """Connect and read the page: what a reload does."""
        from websockets.sync.client import connect

        with ExitStack() as stack:
            with _one_error():
                self._socket = stack.enter_context(connect(
                    self.app.url.replace("http", "ws") + "_stcore/stream",
                    subprotocols=["streamlit"],  # type: ignore[list-item]
                    additional_headers={"Cookie": f"{cookie_name(self.app.ratings)}={self.token}"},
                    proxy=None, max_size=None, open_timeout=PATIENCE, close_timeout=1,
                ))  # fmt: skip
            self._run({}, "")
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def answer(self, values: list[int]) -> None:
        """Fill in the form with the values (points of the scale) and save; returns once the next page is whole.

        Raises:
            ConnectionError: it broke; whether the answer was saved is not known.
        """
        radios = dict(zip(self.radios, values, strict=True))
        self._run(radios, self.save)

    def _run(self, radios: dict[str, int], pressed: str) -> None:
        from streamlit.proto.BackMsg_pb2 import BackMsg

        message = BackMsg()
        message.rerun_script.query_string = ""  # so that it is a message, though nothing is filled in
        states = message.rerun_script.widget_states.widgets
        for name, value in radios.items():
            states.add(id=name, string_value=str(value))
        if pressed:
            states.add(id=pressed, trigger_value=True)
        with _one_error():
            self._socket.send(message.SerializeToString())
            self._read_page()

    def _read_page(self) -> None:
        from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

        self.radios, self.save, position = [], "", -1
        while True:
            message = ForwardMsg()
            message.ParseFromString(self._socket.recv(timeout=PATIENCE))
            kind = message.WhichOneof("type")
            if kind == "delta":
                position = max(position, self._look_at(message.delta.new_element))
            elif kind == "script_finished" and message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                self.done = position
                return

    def _look_at(self, element: Any) -> int:
        kind = element.WhichOneof("type")
        if kind == "radio":
            self.radios.append(element.radio.id)
        elif kind == "button" and element.button.is_form_submitter:
            self.save = element.button.id
        elif kind == "progress":
            match = re.match(r"(\d+) of \d+ done", element.progress.text)
            return int(match[1]) if match else -1
        return -1


UNKNOWN = """window.unknownPage = false; new MutationObserver(() => {
  if ((document.body || {innerText: ""}).innerText.includes("Page not found")) window.unknownPage = true;
}).observe(document, {childList: true, subtree: true, characterData: true});"""
"""Notes whether a page says at any moment that there is none of its address."""
NAMES = ("synthetic-ann", "synthetic-bob", "synthetic-cho")


def set_up(db: RatingsDB, store: Store, task: str, overlap: int, **more: Any) -> dict[str, str]:
    by_name = {n: people.invite(db, n, synthetic=True) for n in NAMES[:overlap]}
    by_name["lea"] = people.invite(db, "lea", role="lead")
    begin(db, store, "pilot", task, overlap=overlap, **more)
    return by_name


def test_one_rating_reload_undo_and_what_a_rater_cannot_see(
    db: RatingsDB, store: Store, app: App, visit: Visit
) -> None:
    from playwright.sync_api import expect

    secrets = set_up(db, store, "rate_executability", 1, consent="You agree to <b>this</b>.")
    page = visit("guess")
    page.get_by_text("This secret is not valid").wait_for()
    served.enter(page, app, secrets["synthetic-ann"])
    page.get_by_text("You agree to <b>this</b>.").wait_for()  # text is shown as text
    page.get_by_role("button", name="I agree").click()
    page.get_by_text("0 of 12 done").wait_for()
    page.get_by_role("button", name="Save and next").click()
    page.get_by_text("Please answer: Executability").wait_for()
    assert db.history("pilot") == []
    served.rate(page, ["6"], 0, 12)
    served.settled(page, 1, 12)
    page.get_by_label("Comment (optional)").fill("half a se")
    page.get_by_text("Draft saved.").wait_for()
    page.reload()
    served.settled(page, 1, 12)  # the session survives, and so does the answer
    expect(page.get_by_label("Comment (optional)")).to_have_value("half a se")  # and what was typed only
    page.get_by_label("Comment (optional)").fill("")
    assert "scedit" not in page.evaluate("document.cookie"), "no script reads the session"
    body = page.inner_text("body")
    assert "Agreement" not in body and "tiny" not in body and "rome" not in body
    page.goto(app.url + "adjudicate")  # a page of the lead
    page.get_by_text("Page not found").first.wait_for()
    assert "Show undecided items only" not in page.inner_text("body")
    page.add_init_script(UNKNOWN)
    page.goto(app.url + "rate")  # the first page by its own address
    served.settled(page, 1, 12)
    assert page.evaluate("window.unknownPage") is False
    page.get_by_role("button", name="Previous item").click()
    page.get_by_text("You have answered this item").wait_for()
    page.get_by_role("radiogroup").get_by_text("2", exact=True).click()
    page.get_by_role("button", name="Save and next").click()
    page.get_by_text("You have answered this item").wait_for(state="detached")
    page.get_by_role("button", name="Log out").click()
    page.get_by_text("Enter the personal secret").wait_for()
    page.reload()
    page.get_by_text("Enter the personal secret").wait_for()
    answers = [(r.answers or {})["executability"] for r in db.history("pilot")]
    assert answers == [6, 2]
    assert people.consents(db, "synthetic-ann").keys() == {"You agree to <b>this</b>."}


@pytest.mark.slow
def test_text_of_models_is_shown_as_text(db: RatingsDB, store: Store, visit: Visit) -> None:
    from schemas.generated_scripts import GeneratedScript

    script = next(iter(store.all(GeneratedScript)))
    evil = "<img src=x onerror=\"document.title='owned'\"> **bold** $x^2$ [link](http://127.0.0.1:9) :smile: \u202eabc"
    hostile = script.model_copy(
        update={"key": "generated/evil", "text": evil, "steps": (evil,), "question": script.question}
    )
    store.put([hostile])
    secrets = set_up(db, store, "rate_script", 1)
    page = visit(secrets["synthetic-ann"])
    variant = evil.replace("\u202e", "\\u202e")  # what would turn the line round is written out
    for number in range(13):
        served.settled(page, number, 13)
        if variant in page.inner_text("body"):
            break
        served.rate(page, ["6", "7", "5"], number, 13)
    assert variant in page.inner_text("body")
    assert page.title() != "owned"
    assert page.locator("a[href*='127.0.0.1:9']").count() == 0


@pytest.mark.slow
def test_the_lead_sees_progress_agreement_and_decides(
    db: RatingsDB, store: Store, tmp_path: Path, browser: Any
) -> None:
    secrets = set_up(db, store, "rate_script", 2)
    items = [a.item for a in db.assignments("pilot", NAMES[0])]
    for person, value in zip(NAMES, (2, 7), strict=False):
        for n, item in enumerate(items):
            answers = {"coherence": value if n == 0 else n % 7 + 1, "consistency": 7, "completeness": n % 5 + 1}
            db.save("pilot", person, item, answers, form="rate_script@4", seconds=4.0)
    store.copy_to(tmp_path / "snapshot.duckdb")
    with served.served(db.path, tmp_path / "snapshot.duckdb") as app:
        page = browser.new_page()
        served.enter(page, app, secrets["lea"])
        page.get_by_text("24 of 24 answers").wait_for()
        page.add_init_script(UNKNOWN)
        for address in ("progress", "agreement", "adjudicate", "items", "guidelines", "progress"):
            page.goto(app.url + address)
            page.locator("h1, .se-lead, .st-key-adjudicate-bar").first.wait_for()
            page.locator("[data-test-script-state='notRunning']").wait_for()
            assert page.evaluate("window.unknownPage") is False, address
        page.get_by_text("24 of 24 answers").wait_for()
        page.get_by_role("link", name="Agreement").click()
        page.get_by_text("Nothing here says how people agree").wait_for()
        from annotation_ui.agreement.report import agreement_report, live_judgements

        text = (
            agreement_report(live_judgements(db, "pilot"), make_task("rate_script")).aspects[0].agreement.alpha.text()
        )
        assert text in page.inner_text("body")
        page.get_by_role("link", name="Adjudicate").click()
        page.get_by_text("1 item with a disagreement, 0 decided").wait_for()
        for n, value in enumerate(("6", "7", "1")):
            page.get_by_role("radiogroup").nth(n).get_by_text(value, exact=True).click()
        page.get_by_role("button", name="Save decision").click()
        page.get_by_text("All disagreements are decided").wait_for()
        page.get_by_role("link", name="Items").click()
        page.get_by_text("12 of 12 items").wait_for()
    assert db.adjudications("pilot")[items[0]].answers == {"coherence": 6, "consistency": 7, "completeness": 1}


def _rate_to_the_end(app: served.App, person: str, token: str, counts: dict[tuple[str, str], int], stop: Event) -> None:
    """Answer until all is done; what the page said is saved goes into ``told``. A broken connection is made anew."""
    draw = random.Random(person)
    while not stop.is_set():
        with suppress(OSError), AppSession(app, token) as page:
            while page.radios:
                item, before, value = page.radios[0].split("/")[1], page.done, draw.randint(1, 7)
                page.answer([value])
                assert page.done == before + 1
                counts[person, item] = value
            if page.done == 12:
                return
        time.sleep(0.05)


@pytest.mark.slow
def test_ten_raters_and_ten_kills_lose_no_saved_answer(db: RatingsDB, store: Store) -> None:
    """The server is killed while it saves, at moments drawn by chance; what a page called saved is there."""
    served.need_browser()
    raters = [f"synthetic-{n}" for n in range(10)]
    tokens = {name: people.log_in(db, people.invite(db, name, synthetic=True)) or "" for name in raters}
    begin(db, store, "pilot", "rate_executability", overlap=10)
    fields: dict[tuple[str, str], int] = {}
    draw, stop, kills = random.Random(16), Event(), 0
    with served.served(db.path) as app:
        work = [Thread(target=_rate_to_the_end, args=(app, n, tokens[n], fields, stop), daemon=True) for n in raters]
        for thread in work:
            thread.start()
        end = time.monotonic() + 5 * served.PATIENCE
        while kills < 10 and time.monotonic() < end:
            if len(db.history("pilot")) >= 2 + 10 * kills:  # a few more of the 120 between two kills
                time.sleep(draw.random() * 0.2)
                app.kill()
                kills += 1
                app.start()
            time.sleep(0.01)
        for thread in work:
            thread.join(max(1.0, end - time.monotonic()))
        stop.set()
    assert kills == 10
    history = db.history("pilot")
    assert len(history) == 120, "each answer once"
    assert len(fields) > 20, "the others were saved, and the server was killed before it said so"
    assert {(r.person, r.item) for r in history} == {(a.person, a.item) for a in db.assignments("pilot")}
    executabilities = {(r.person, r.item): (r.answers or {})["executability"] for r in history}
    assert {k: executabilities[k] for k in fields} == fields
    assert db.connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def _rate_all(path: Path, person: str) -> None:
    with RatingsDB(path) as db:
        for n, a in enumerate(db.assignments("load", person)):
            db.save("load", person, a.item, {"executability": n % 7 + 1}, form="rate_executability@3", seconds=1.0)


@pytest.mark.slow
def test_ten_raters_save_a_thousand_while_the_lead_looks(db: RatingsDB, store: Store, visit: Visit) -> None:
    from annotation_ui.ratings.database import Assignment, Campaign, CampaignItem
    from annotation_ui.tasks.base import TaskItem

    lead = people.invite(db, "lea", role="lead")
    raters = [f"synthetic-{n}" for n in range(10)]
    for name in raters:
        people.invite(db, name, synthetic=True)
    db.add_campaign(
        Campaign("load", "rate_executability", "rate_executability@3", {"overlap": 10, "batch": 20}, "2026")
    )
    items = [CampaignItem(TaskItem(id=f"{n:020x}", case=f"c{n}", shown={"script": "Step 1: Go"})) for n in range(100)]
    assignments = [Assignment(p, item.item.id, 1 + n // 20, n) for p in raters for n, item in enumerate(items)]
    db.add_items("load", items, assignments)
    page = visit(lead)
    page.get_by_text("0 of 1,000 answers").wait_for()
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_rate_all, args=(db.path, p)) for p in raters]
    for w in workers:
        w.start()
    for w in workers:
        w.join(300)
    assert [w.exitcode for w in workers] == [0] * 10
    page.get_by_text("1,000 of 1,000 answers").wait_for()
    history = db.history("load")
    assert len(history) == 1000
    assert len({(r.person, r.item) for r in history}) == 1000
