"""What people do in a browser: rate, mark words, leave and come back, decide. Nothing that they typed is lost.

Everything rated here is rated by programs.
"""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.forms import text_digest
from curation.store.store import Store
from schemas.verdicts import Verdict
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.browser.conftest import Visit, remembered
from tests.annotation_ui.browser.test_keys import last, listening, press, ready, save, wait_until
from tests.annotation_ui.conftest import begin
from tests.support.app import served_app as served
from tests.support.app.served_app import App

pytestmark = pytest.mark.slow

UNKNOWN = """window.unknownPage = false; new MutationObserver(() => {
  if ((document.body || {innerText: ""}).innerText.includes("Page not found")) window.unknownPage = true;
}).observe(document, {childList: true, subtree: true, characterData: true});"""


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


def test_the_lead_sees_progress_agreement_and_decides(db: RatingsDB, store: Store, visit: Visit, app: App) -> None:
    secrets = set_up(db, store, "rate_script", 2)
    looks = visit(secrets["lea"])
    looks.get_by_text("0 of 24 answers").wait_for()
    remembered(looks)
    items = [a.item for a in db.assignments("pilot", NAMES[0])]
    for person, value in zip(NAMES, (2, 7), strict=False):
        for n, item in enumerate(items):
            answers = {"coherence": value if n == 0 else n % 7 + 1, "consistency": 7, "completeness": n % 5 + 1}
            db.save("pilot", person, item, answers, form="rate_script@4", seconds=4.0)
    page = looks.context.new_page()
    page.goto(app.url)
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

    text = agreement_report(live_judgements(db, "pilot"), make_task("rate_script")).aspects[0].agreement.alpha.text()
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
    looks.get_by_text("24 of 24 answers").wait_for()  # the page that was left open


def test_what_is_typed_outlives_reload_second_tab_expiry_and_kill(
    db: RatingsDB, store: Store, visit: Visit, app: App
) -> None:
    from playwright.sync_api import expect

    pilot(db, store, "ann", task="filter_question")
    secret = people.invite(db, "ann")
    page = visit(secret)
    served.settled(page, 0, 24)
    page.get_by_role("radiogroup").nth(0).get_by_text("no", exact=True).click()
    page.get_by_role("button", name="The same as another question").click()
    page.get_by_label("Comment (optional)").fill("half a se")
    page.get_by_text("Draft saved.").wait_for()

    def filled(tab: object) -> None:
        served.settled(tab, 0, 24)
        expect(tab.get_by_label("Comment (optional)")).to_have_value("half a se")  # type: ignore[attr-defined]
        expect(tab.locator("[role=toolbar] [aria-pressed=true]")).to_have_count(1)  # type: ignore[attr-defined]

    page.reload()
    filled(page)
    second = page.context.new_page()
    second.goto(app.url)
    filled(second)
    db.connection.execute("DELETE FROM sessions")  # it has run out
    page.get_by_label("Comment (optional)").fill("half a sentence")
    page.get_by_text("your session has ended. Log in again").wait_for()
    served.enter(second, app, secret)
    filled(second)
    app.kill()
    app.start()
    second.goto(app.url)
    filled(second)
    for n in range(1, 4):
        second.get_by_role("radiogroup").nth(n).get_by_text("yes", exact=True).click()
    second.get_by_role("button", name="Save and next").click()
    served.count_is(second, 1, 24)
    app.kill()  # what the page has called done is in the file
    assert [(r.answers or {})["comment"] for r in db.history("pilot")] == ["half a se"]
    app.start()
    second.goto(app.url)
    served.settled(second, 1, 24)


def test_what_was_sent_after_the_session_ended_comes_back_after_the_login(
    db: RatingsDB, store: Store, visit: Visit
) -> None:
    """Typed and sent at once, so that no draft reached the server: the tab itself has kept it."""
    from playwright.sync_api import expect

    pilot(db, store, "ann", "bob")
    secret, other = people.invite(db, "ann"), people.invite(db, "bob")
    page = visit(secret)
    ready(page, 0, 12)
    db.connection.execute("DELETE FROM sessions")
    press(page, "375", ["3", "7", "5"])
    page.get_by_label("Comment (optional)").fill("a long thought")
    page.keyboard.press("Control+Enter")
    log_in = page.get_by_role("button", name="Log in")
    for person, text in ((other, ""), (secret, "a long thought")):  # somebody else never sees it
        page.get_by_label("Secret").fill(person)
        log_in.click()
        ready(page, 0, 12)
        expect(page.get_by_label("Comment (optional)")).to_have_value(text)
        wait_until(page, ["3", "7", "5"] if text else ["", "", ""])
        db.connection.execute("DELETE FROM sessions WHERE person = 'bob'")
        if not text:
            page.keyboard.press("Control+Enter")
            log_in.wait_for()
    save(page, 1, 12)
    (revision,) = db.history("pilot")
    assert (revision.person, (revision.answers or {})["comment"]) == ("ann", "a long thought")
    page.get_by_role("button", name="Previous item").click()
    page.get_by_text("You have answered this item").wait_for()
    wait_until(page, ["3", "7", "5"])  # of the file, not of the tab


def test_double_clicks_two_windows_two_servers_and_the_way_back(db: RatingsDB, store: Store, visit: Visit) -> None:
    from playwright.sync_api import expect

    pilot(db, store, "ann")
    secret = people.invite(db, "ann")
    with served.served(db.path) as other:
        page = visit(secret)
        ready(page, 0, 12)
        second = page.context.new_page()
        second.goto(other.url)  # the same file, another server: the session is one of the file
        ready(second, 0, 12)
        press(page, "375", ["3", "7", "5"])
        page.get_by_role("button", name="Save and next").dblclick()
        ready(page, 1, 12)
        assert page.get_by_text("Please answer").count() == 0, "the second click asks nothing of the next item"
        assert len(db.history("pilot")) == 1

        press(second, "111", ["1", "1", "1"])
        second.keyboard.press("Enter")
        second.get_by_text("was saved in another window").wait_for()
        wait_until(second, ["1", "1", "1"])
        assert len(db.history("pilot")) == 1
        ready(second, 1, 12)
        save(second, 1, 12, by="Enter")
        second.get_by_text("You have answered this item").wait_for(state="detached")
        assert [(r.answers or {})["coherence"] for r in db.history("pilot")] == [3, 1], "both stay stored"

        page.get_by_label("Comment (optional)").fill("half a thought")
        page.get_by_text("Draft saved.").wait_for()
        assert page.locator(".st-key-draft [role=status]").count() == 1, "read out, not only shown"
        page.get_by_role("link", name="My answers").click()
        page.get_by_role("button", name="Change").wait_for()
        question, line = (page.locator(name).first.bounding_box() for name in (".se-text", ".se-count"))
        assert question["y"] + question["height"] <= line["y"] + 1, "one text lies over the other"
        page.go_back()
        ready(page, 1, 12)
        expect(page.get_by_label("Comment (optional)")).to_have_value("half a thought")


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


SELECT = """(n) => {
  const node = document.querySelector('[data-text="cut"]').firstChild, range = document.createRange();
  range.setStart(node, 0); range.setEnd(node, n);
  const selection = window.getSelection();
  selection.removeAllRanges(); selection.addRange(range);
}"""  # what a long press does: Playwright has no finger that rests


def chips(page: Any) -> Any:
    return page.get_by_role("button", name="Remove the mark on")


def test_words_are_marked_by_mouse_keys_and_finger_and_reach_the_store(
    db: RatingsDB, store: Store, visit: Visit
) -> None:
    pilot(db, store, "ann", task="filter_question", spans=True)
    secret = people.invite(db, "ann")
    order = [db.item("pilot", a.item).item for a in db.assignments("pilot", "ann")]
    page = visit(secret)
    ready(page, 0, 24)
    page.locator('[data-text="question"]').dblclick(position={"x": 5, "y": 8})  # the first word, by mouse
    page.get_by_role("button", name="Mark: Leak").click()
    chips(page).wait_for()
    for key in ("m", "ArrowRight", "Shift+ArrowRight", "Enter"):  # the second and third word of the cut
        page.keyboard.press(key)
    chips(page).nth(1).wait_for()
    for key in "yyyy":  # marking ends where answers begin
        page.keyboard.press(key)
    page.get_by_text("Draft saved.").wait_for()
    page.reload()
    ready(page, 0, 24)
    chips(page).nth(1).wait_for()  # marks are part of the draft
    save(page, 1, 24, by="Enter")
    question, cut = order[0].shown["question"], order[0].shown["cut"]
    marks = {m["text"]: m for m in last(db)["marked"]}
    assert marks["question"]["words"] == question.split()[0]
    assert marks["cut"]["words"] == " ".join(cut.split()[1:3])
    assert marks["cut"] == {
        "text": "cut", "start": cut.index(marks["cut"]["words"]), "end": len(" ".join(cut.split()[:3])),
        "words": marks["cut"]["words"], "label": "leak", "digest": text_digest(cut),
    }  # fmt: skip

    page.keyboard.press("m")
    page.keyboard.press("Shift+M")  # the other label
    chips(page).wait_for()
    chips(page).click()
    chips(page).wait_for(state="detached")
    page.keyboard.press("Escape")

    phone = visit(secret, viewport={"width": 390, "height": 844}, has_touch=True)
    ready(phone, 1, 24)
    phone.evaluate(SELECT, 6)
    offered = phone.get_by_role("button", name="Mark: Problem")
    offered.wait_for()
    assert offered.bounding_box()["height"] >= 44
    offered.tap()
    chips(phone).wait_for()
    assert chips(phone).bounding_box()["height"] >= 44
    for n in range(4):
        phone.get_by_role("radiogroup").nth(n).get_by_text("yes", exact=True).tap()
    phone.get_by_role("button", name="Save and next").tap()
    ready(phone, 2, 24)
    assert [(m["label"], m["words"]) for m in last(db)["marked"]] == [("fail", order[1].shown["cut"][:6].strip())]
    assert import_campaign(db, store, "pilot").rejected == ()
    verdicts = [v for v in store.all(Verdict) if v.check == "filter_question" and v.spans]
    assert {s.text for v in verdicts for s in v.spans} >= {marks["question"]["words"], marks["cut"]["words"]}
