"""The lead's look at items: found by their texts, with every answer, verdict and line of lineage."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.lineage import Lineage
from schemas.verdicts import Verdict, verdict_key
from tests.annotation_ui.app.conftest import Open, pilot, texts

TASK = "rate_script"


def tables(page: Any) -> list[list[dict[str, str]]]:
    """The rows of each table of a page; an empty cell, and a column of empty ones, is not there."""
    bodies = [e.value for e in page.get("html") if 'class="se-lead"' in e.value and "<table>" in e.value]
    rows = [re.findall(r"<tr>(<td.*?)</tr>", body) for body in bodies]
    cells = [[dict(re.findall(r'<td data-label="([^"]*)">([^<]+)</td>', row)) for row in table] for table in rows]
    return [[{k: html.unescape(v) for k, v in row.items()} for row in table] for table in cells]


def test_items_are_found_by_any_of_their_texts_or_their_id(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task=TASK)
    items = db.items("pilot")
    page = open_page("browse.show", "lea")
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
    (rows,) = tables(open_page("browse.show", "lea"))
    assert [(r["rater"], r["answers"]) for r in rows] == [
        ("ann", f"{asks} 3"), ("bob", f"{asks} 5"), ("ann", "withdrawn"),
    ]  # fmt: skip


def test_a_lead_sees_stratum_purpose_and_probability(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task="filter_question", percent=50, least=0)
    text = texts(open_page("browse.show", "lea"))
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
    page = open_page("browse.show", "lea")
    assert not tables(page) and "--store" in texts(page)
    store.copy_to(tmp_path / "snap.duckdb")
    verdicts, lineage = tables(open_page("browse.show", "lea", store=tmp_path / "snap.duckdb"))
    assert [(v["by"], v["label"], v["reason"]) for v in verdicts] == [(by, "drop", "in step 1")]
    assert [(x["stage"], x["model"]) for x in lineage] == [("questions", "m")]


def test_a_snapshot_that_cannot_be_read_is_told_and_the_page_stands(
    db: RatingsDB, store: Store, open_page: Open, tmp_path: Path
) -> None:
    pilot(db, store, "ann", task=TASK)
    page = open_page("browse.show", "lea", store=tmp_path / "gone.duckdb")
    assert "gone.duckdb" in page.warning[0].value.replace("\\", "")


def test_no_campaign_is_told(db: RatingsDB, open_page: Open) -> None:
    people.invite(db, "lea", role="lead")
    assert "no campaign" in texts(open_page("browse.show", "lea"))
