"""The lead's agreement page shows the command's numbers, judges among them."""

from __future__ import annotations

import html
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.ratings import Rating
from tests.annotation_ui.app.conftest import Open, pilot, texts
from tests.support.commands import command

TASK = "rate_executability"


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
    page = body(open_page("lead.progress.show_agreement", "lea"))
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
    assert "judge:m" not in body(open_page("lead.progress.show_agreement", "lea"))
    page = body(open_page("lead.progress.show_agreement", "lea", store=snapshot))
    assert "judge:m against the mean of people" in page and "2 people (ann, bob)" in page


def test_before_the_first_answer_there_is_a_line_and_no_figure(db: RatingsDB, store: Store, open_page: Open) -> None:
    people.invite(db, "lea", role="lead")
    assert "no campaign" in texts(open_page("lead.progress.show_agreement", "lea"))
    pilot(db, store, "ann", "bob", task=TASK)
    page = open_page("lead.progress.show_agreement", "lea")
    assert "Nobody has answered" in texts(page) and not page.get("html")


def test_the_campaign_chosen_on_one_page_is_the_first_on_the_next(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", "bob", task=TASK)
    pilot(db, store, "ann", "bob", task="filter_question", name="second")
    page = open_page("lead.progress.show_agreement", "lea")
    assert page.selectbox[0].value == "pilot"
    page.selectbox[0].set_value("second").run()
    assert page.session_state["lead-campaign"] == "second"
