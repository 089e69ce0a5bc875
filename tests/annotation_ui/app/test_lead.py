"""The lead's pages: counts, agreement, decisions, and items with all that was said of them."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from annotation_ui.agreement.overview import answers_digest
from annotation_ui.app.lead import lead_table, quick_figures, slow_figures
from annotation_ui.campaigns.campaign import make_task
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.lineage import Lineage
from schemas.ratings import Rating
from schemas.verdicts import Verdict, verdict_key
from tests.annotation_ui.agreement.test_report import HOSTILE
from tests.annotation_ui.app.conftest import Open, button, pilot, texts
from tests.annotation_ui.conftest import work
from tests.support.commands import command
from tests.support.events import event_case
from tests.support.open_answer_records import open_answers

TASK = "rate_executability"


def rows(page: Any, n: int = 0) -> list[dict[str, str]]:
    """The lines of the n-th campaign's table of raters: texts by column."""
    value = [e.value for e in page.get("html") if 'data-label="rater"' in e.value][n]
    lines = re.findall(r"<tr>(<td.*?)</tr>", value)
    return [
        {name: re.sub(r"<[^>]+>", "", text) for name, text in re.findall(r'<td data-label="([^"]+)">(.*?)</td>', line)}
        for line in lines
    ]


def save(db: RatingsDB, person: str, item: str, value: int, seconds: float | None = 4.0) -> None:
    db.save("pilot", person, item, {"executability": value}, form=f"{TASK}@3", seconds=seconds)


def test_done_counts_real_items_once_and_training_apart(db: RatingsDB, store: Store, open_page: Open) -> None:
    items = [
        RaterControlItem(purpose=p, id=p, shown={"script": "s"}, expected={"executability": 7})
        for p in ("training", "attention")
    ]
    pilot(db, store, "ann", "bob", task=TASK, known=items)
    real = [i for i, p in db.items("pilot").items() if p.purpose == "real"]
    control = {p.purpose: i for i, p in db.items("pilot").items() if p.purpose != "real"}
    for item, value, seconds in (
        (real[0], 1, 10.0),
        (real[0], 2, 10.0),
        (real[1], 3, 20.0),
        (control["training"], 1, 90.0),
    ):
        save(db, "ann", item, value, seconds)
    save(db, "ann", control["attention"], 2, 15.0)
    page = open_page("lead.show_progress", "lea")
    (bar,) = page.get("progress")
    assert bar.proto.value == int(100 * 2 / 24) and bar.proto.text.startswith("2 of 24 answers")
    ann, bob = rows(page)
    assert (ann["done"], ann["median time per item"]) == ("2 of 12", "18 s")
    assert (ann["training items done"], ann["attention items right"]) == ("1 of 1", "0 of 1")
    assert (bob["done"], bob["median time per item"], bob["last answer (UTC)"]) == ("0 of 12", "", "")
    assert (bob["training items done"], bob["attention items right"]) == ("0 of 1", "")


def test_programs_are_marked(db: RatingsDB, store: Store, open_page: Open) -> None:
    people.invite(db, "synthetic-ann", synthetic=True)
    pilot(db, store, "bob", "synthetic-ann", task=TASK)
    by_name = {r["rater"]: r["program"] for r in rows(open_page("lead.show_progress", "lea"))}
    assert by_name == {"bob": "", "synthetic-ann": "yes"}


def test_a_withdrawn_answer_is_not_done(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task=TASK)
    item = db.assignments("pilot")[0].item
    save(db, "ann", item, 3)
    db.save("pilot", "ann", item, None, form=f"{TASK}@3")
    assert rows(open_page("lead.show_progress", "lea"))[0]["done"] == "0 of 12"


def test_nothing_shared_out_and_no_campaign_say_what_to_do(db: RatingsDB, store: Store, open_page: Open) -> None:
    from annotation_ui.campaigns.campaign import CampaignOptions, create_campaign, make_task

    people.invite(db, "lea", role="lead")
    assert "scedit annotate new" in texts(open_page("lead.show_progress", "lea"))
    create_campaign(db, store, "pilot", make_task(TASK), CampaignOptions())
    page = open_page("lead.show_progress", "lea")
    assert "scedit annotate assign pilot" in texts(page) and "data-label" not in texts(page)


def test_every_campaign_has_its_own_table(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task=TASK)
    pilot(db, store, "ann", task="filter_question", name="second")
    page = open_page("lead.show_progress", "lea")
    assert [s.value for s in page.subheader] == [f"pilot ({TASK}@3)", "second (filter_question@3)"]
    assert [rows(page, n)[0]["done"] for n in (0, 1)] == ["0 of 12", "0 of 24"]


@pytest.mark.parametrize(
    "page", ["lead.show_progress", "lead.show_agreement", "lead.show_adjudication", "lead.show_items"]
)
def test_whatever_is_stored_takes_no_page_down(db: RatingsDB, store: Store, open_page: Open, page: str) -> None:
    pilot(db, store, "ann", "bob")
    for person in ("ann", "bob"):
        work(db, "pilot", person)
    for number, body in zip((r.id for r in db.current_answers("pilot")), HOSTILE, strict=False):
        db.connection.execute("UPDATE revisions SET answers = ?, saved_at = 7 WHERE id = ?", [body, number])
    db.connection.execute(
        "INSERT INTO decisions (campaign, item, lead, answers, saved_at) SELECT 'pilot', id, 'lea', ?, 'x' FROM items",
        ['{"coherence": [], "comment": 5}'],
    )
    open_page(page, "lea")


def test_empty_columns_are_left_out_and_texts_are_escaped() -> None:
    table = lead_table(["who", "none", "note"], [["<b>ann", "", "fast"], ["bob", "", ""]], flagged=("note",))
    assert "none" not in table and "<b>" not in table and "&lt;b&gt;ann" in table
    assert table.count('<div class="se-flag">') == 1 and 'data-label="note"><div class="se-flag">fast' in table


def test_a_change_of_the_answers_is_seen_at_once(db: RatingsDB, store: Store) -> None:
    pilot(db, store, "ann", "bob")
    work(db, "pilot", "ann", 3)
    assert quick_figures(db, "pilot", answers_digest(db, "pilot")) == quick_figures(
        db, "pilot", answers_digest(db, "pilot")
    )
    work(db, "pilot", "bob", 3)
    assert sum(s.done for s in quick_figures(db, "pilot", answers_digest(db, "pilot")).progress) == 6


def test_files_of_one_name_are_told_apart(
    db: RatingsDB, store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pilot(db, store, "ann")
    work(db, "pilot", "ann", 2)
    assert len(quick_figures(db, "pilot", answers_digest(db, "pilot")).answers) == 2
    with RatingsDB(tmp_path_factory.mktemp("other") / db.path.name, create=True) as other:
        pilot(other, store, "ann")
        assert quick_figures(other, "pilot", answers_digest(other, "pilot")).answers == []


def test_the_slow_figures_are_computed_once_for_a_state_of_the_answers(
    db: RatingsDB, store: Store, figures: list[str]
) -> None:
    pilot(db, store, "ann", "bob")
    for person in ("ann", "bob"):
        work(db, "pilot", person)
    first = [slow_figures(db, "pilot", None, answers_digest(db, "pilot")) for _ in range(3)]
    assert figures == ["pilot"] and first[0] == first[2]
    (answer, *_) = db.current_answers("pilot")
    db.save("pilot", answer.person, answer.item, {**(answer.answers or {}), "coherence": 7}, form=answer.form)
    slow_figures(db, "pilot", None, answers_digest(db, "pilot"))
    assert figures == ["pilot", "pilot"]


@pytest.fixture
def rated(db: RatingsDB, store: Store) -> list[str]:
    """All twelve items, rated by ann and bob; the items."""
    pilot(db, store, "ann", "bob", task=TASK)
    items = sorted({a.item for a in db.assignments("pilot")})
    for n, item in enumerate(items):
        for person, value in (("ann", n % 7 + 1), ("bob", min(7, n % 7 + 1 + n % 2))):
            db.save("pilot", person, item, {"executability": value}, form=f"{TASK}@3")
    return items


def body(page: Any) -> str:
    return html.unescape(" ".join(e.value for e in page.get("html")))


def test_the_page_and_the_command_say_the_same(db: RatingsDB, rated: list[str], open_page: Open) -> None:
    page = body(open_page("lead.show_agreement", "lea"))
    words = ["agreement", "pilot", "-r", str(db.path), "--json"]
    result = CliRunner().invoke(command("annotate"), words, catch_exceptions=False)
    (aspect,) = json.loads(result.output)["aspects"]
    for name in ("alpha", "exact", "within_one", "ac2"):
        e = aspect["agreement"][name]
        interval = "" if e["low"] is None else f" [{e['low']:.3f}, {e['high']:.3f}]"  # none where all resamples agree
        assert f"{e['value']:.3f}{interval}" in page, name


def test_a_judge_in_the_snapshot_stands_beside_the_people(
    db: RatingsDB, store: Store, rated: list[str], open_page: Open, tmp_path: Path
) -> None:
    store.put(
        [
            Rating(key=f"r/{i}", item_id=i, aspect="executability", value=n % 7 + 1, rater="judge:m", form="judge_x@1")
            for n, i in enumerate(rated)
        ]
    )
    snapshot = tmp_path / "snapshot.duckdb"
    store.copy_to(snapshot)
    assert "judge:m" not in body(open_page("lead.show_agreement", "lea"))
    page = body(open_page("lead.show_agreement", "lea", store=snapshot))
    assert "judge:m against the mean of people" in page and "2 people (ann, bob)" in page


def test_before_the_first_answer_there_is_a_line_and_no_figure(db: RatingsDB, store: Store, open_page: Open) -> None:
    people.invite(db, "lea", role="lead")
    assert "no campaign" in texts(open_page("lead.show_agreement", "lea"))
    pilot(db, store, "ann", "bob", task=TASK)
    page = open_page("lead.show_agreement", "lea")
    assert "Nobody has answered" in texts(page) and not page.get("html")


def test_the_campaign_chosen_on_one_page_is_the_first_on_the_next(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", "bob", task=TASK)
    pilot(db, store, "ann", "bob", task="filter_question", name="second")
    page = open_page("lead.show_agreement", "lea")
    assert page.selectbox[0].value == "pilot"
    page.selectbox[0].set_value("second").run()
    assert page.session_state["lead-campaign"] == "second"


DECIDE = "Save decision"


@pytest.fixture
def items(db: RatingsDB, store: Store) -> list[str]:
    """A campaign of ann and bob in which the first three items are rated 1:7, 4:5 and 3:3; those items."""
    pilot(db, store, "ann", "bob", task=TASK)
    result = sorted({a.item for a in db.assignments("pilot")})
    for item, values in zip(result, ((1, 7), (4, 5), (3, 3)), strict=False):
        for person, value in zip(("ann", "bob"), values, strict=True):
            db.save("pilot", person, item, {"executability": value}, form=f"{TASK}@3")
    return result


@pytest.fixture
def page(items: list[str], open_page: Open) -> Any:
    return open_page("lead.show_adjudication", "lea")


def shown(page: Any) -> str:
    """The item that the page is about."""
    return re.findall(r'data-item="([^"]+)"', pane(page))[0]


def pane(page: Any) -> str:
    """What is on the page as HTML."""
    return " ".join(e.value for e in page.get("html"))


def test_the_widest_comes_first_with_what_everybody_said(db: RatingsDB, items: list[str], page: Any) -> None:
    assert shown(page) == items[0]
    assert "<span>ann <b>1</b></span><span>bob <b>7</b></span>" in pane(page)
    assert "2 items with a disagreement, 0 decided" in texts(page)
    assert page.radio[0].value is None, "no answer is suggested"
    assert "1 of 2" in texts(page), "where a phone hides the field for the number"
    page.number_input[0].set_value(2).run()
    assert shown(page) == items[1] and "2 of 2" in texts(page)


def test_a_decision_is_kept_as_the_lead_s_and_the_next_is_shown(db: RatingsDB, items: list[str], page: Any) -> None:
    page.radio[0].set_value(6)
    button(page, DECIDE).click().run()
    decision = db.adjudications("pilot")[items[0]]
    assert (decision.lead, decision.answers) == ("lea", {"executability": 6})
    assert len(db.history("pilot")) == 6, "nobody's answer was touched"
    assert shown(page) == items[1]
    page.radio[0].set_value(4)
    button(page, DECIDE).click().run()
    assert "All disagreements are decided" in texts(page) and not page.radio


def test_a_decision_can_be_looked_at_and_changed(db: RatingsDB, items: list[str], open_page: Open) -> None:
    db.adjudicate("pilot", items[0], "lea", {"executability": 2, "comment": "weak"})
    page = open_page("lead.show_adjudication", "lea")
    page.toggle[0].set_value(False).run()
    assert shown(page) == items[0]
    assert page.radio[0].value == 2 and page.text_area[0].value == "weak"
    page.radio[0].set_value(3)
    button(page, DECIDE).click().run()
    assert db.adjudications("pilot")[items[0]].answers == {"executability": 3, "comment": "weak"}


def test_an_incomplete_decision_is_refused_in_words(db: RatingsDB, items: list[str], page: Any) -> None:
    button(page, DECIDE).click().run()
    assert db.adjudications("pilot") == {}
    assert page.error[0].value.startswith("Please answer: Executability")


def test_what_a_task_refuses_is_refused_of_the_lead_too(db: RatingsDB, store: Store, open_page: Open) -> None:
    """Accuracy of 3 or less leaves no overall of 5; before, it was saved and then left out of every import."""
    store.put([event_case(), *open_answers()])
    pilot(db, store, "ann", "bob", task="rate_answer")
    item = min(a.item for a in db.assignments("pilot"))
    for person, value in (("ann", 1), ("bob", 5)):
        answers = {"accuracy": value, "coherence": value, "comprehensiveness": value, "overall": value}
        db.save("pilot", person, item, answers, form="rate_answer@2")
    page = open_page("lead.show_adjudication", "lea")
    for radio, value in zip(page.radio, (3, 5, 5, 5), strict=True):
        radio.set_value(value)
    button(page, DECIDE).click().run()
    assert db.adjudications("pilot") == {}
    assert "where accuracy is 3 or less, overall is 3 or less" in page.error[0].value
    page.radio[3].set_value(3)
    button(page, DECIDE).click().run()
    assert db.adjudications("pilot")[item].answers["overall"] == 3


def test_comments_stand_beside_answers_and_withdrawn_or_replaced_ones_do_not(
    db: RatingsDB, items: list[str], open_page: Open
) -> None:
    for comment in ("first thought", "<b>second</b>"):
        db.save("pilot", "ann", items[0], {"executability": 1, "comment": comment}, form=f"{TASK}@3")
    page = open_page("lead.show_adjudication", "lea")
    html = pane(page)
    assert "&lt;b&gt;second&lt;/b&gt;" in html and "first thought" not in html and "Comment by ann" in html


def test_where_all_agree_there_is_nothing_to_decide(db: RatingsDB, store: Store, open_page: Open) -> None:
    people.invite(db, "lea", role="lead")
    assert "no campaign" in texts(open_page("lead.show_adjudication", "lea"))
    pilot(db, store, "ann", "bob", task=TASK)
    page = open_page("lead.show_adjudication", "lea")
    assert "no disagreements" in texts(page) and not page.radio and not page.number_input


def tables(page: Any) -> list[list[dict[str, str]]]:
    """The rows of each table of a page; an empty cell, and a column of empty ones, is not there."""
    bodies = [e.value for e in page.get("html") if 'class="se-lead"' in e.value and "<table>" in e.value]
    rows = [re.findall(r"<tr>(<td.*?)</tr>", body) for body in bodies]
    cells = [[dict(re.findall(r'<td data-label="([^"]*)">([^<]+)</td>', row)) for row in table] for table in rows]
    return [[{k: html.unescape(v) for k, v in row.items()} for row in table] for table in cells]


def test_items_are_found_by_any_of_their_texts_or_their_id(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task="rate_script")
    items = db.items("pilot")
    page = open_page("lead.show_items", "lea")
    assert "12 of 12 items" in texts(page)
    page.text_input[0].set_value("NAIROBI").run()
    mentions = [i for i, p in items.items() if any("nairobi" in t.casefold() for t in p.item.shown.values())]
    assert f"{len(mentions)} of 12 items" in texts(page) and 0 < len(mentions) < 12
    one = list(items)[7]
    page.text_input[0].set_value(one).run()
    assert f"id: {one}" in texts(page) and "1 of 12 items" in texts(page)
    page.text_input[0].set_value("no such words").run()
    assert "0 of 12 items" in texts(page) and not page.number_input and not tables(page)


def test_every_revision_is_listed_in_order_and_withdrawn_ones_say_so(
    db: RatingsDB, store: Store, open_page: Open
) -> None:
    asks = make_task("rate_executability").form.field("executability").asks
    pilot(db, store, "ann", "bob", task="rate_executability")
    item = next(iter(db.items("pilot")))
    for person, value in (("ann", 3), ("bob", 5), ("ann", None)):
        answers = None if value is None else {"executability": value}
        db.save("pilot", person, item, answers, form="rate_executability@3")
    (rows,) = tables(open_page("lead.show_items", "lea"))
    assert [(r["rater"], r["answers"]) for r in rows] == [
        ("ann", f"{asks} 3"), ("bob", f"{asks} 5"), ("ann", "withdrawn"),
    ]  # fmt: skip


def test_a_lead_sees_stratum_purpose_and_probability(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task="filter_question", percent=50, least=0)
    text = texts(open_page("lead.show_items", "lea"))
    assert "purpose: real" in text and "stratum: P36 counterfactual" in text
    assert "inclusion probability: 0.5" in text


def test_verdicts_and_lineage_come_out_of_the_snapshot(
    db: RatingsDB, store: Store, open_page: Open, tmp_path: Path
) -> None:
    pilot(db, store, "ann", task="filter_question")
    item = next(iter(db.items("pilot")))
    by = "early_cut@1"
    flag = Verdict(key=verdict_key(item_id=item, by=by), item_id=item, by=by, label="drop", reason="in step 1")
    store.put([flag], [Lineage(item_id=item, stage="questions", made_at="2026-01-02T03:04:05", model="m")])
    page = open_page("lead.show_items", "lea")
    assert not tables(page) and "--store" in texts(page)
    store.copy_to(tmp_path / "snap.duckdb")
    verdicts, lineage = tables(open_page("lead.show_items", "lea", store=tmp_path / "snap.duckdb"))
    assert [(v["by"], v["label"], v["reason"]) for v in verdicts] == [(by, "drop", "in step 1")]
    assert [(x["stage"], x["model"]) for x in lineage] == [("questions", "m")]


def test_a_snapshot_that_cannot_be_read_is_told_and_the_page_stands(
    db: RatingsDB, store: Store, open_page: Open, tmp_path: Path
) -> None:
    pilot(db, store, "ann", task="rate_script")
    page = open_page("lead.show_items", "lea", store=tmp_path / "gone.duckdb")
    assert "gone.duckdb" in page.warning[0].value.replace("\\", "")


def test_no_campaign_is_told(db: RatingsDB, open_page: Open) -> None:
    people.invite(db, "lea", role="lead")
    assert "no campaign" in texts(open_page("lead.show_items", "lea"))
