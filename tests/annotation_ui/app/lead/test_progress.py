"""The lead's first page: counts of real items, and no column that is empty for everybody."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from annotation_ui.app.lead.progress import lead_table, quick_figures, slow_figures
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.ratings import raters as people
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.ratings import Rating
from tests.annotation_ui.agreement.test_judgements import HOSTILE
from tests.annotation_ui.app.conftest import Open, pilot, texts
from tests.annotation_ui.conftest import work
from tests.support.commands import command

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
    page = open_page("lead.progress.show", "lea")
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
    by_name = {r["rater"]: r["program"] for r in rows(open_page("lead.progress.show", "lea"))}
    assert by_name == {"bob": "", "synthetic-ann": "yes"}


def test_a_withdrawn_answer_is_not_done(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task=TASK)
    item = db.assignments("pilot")[0].item
    save(db, "ann", item, 3)
    db.save("pilot", "ann", item, None, form=f"{TASK}@3")
    assert rows(open_page("lead.progress.show", "lea"))[0]["done"] == "0 of 12"


def test_nothing_shared_out_and_no_campaign_say_what_to_do(db: RatingsDB, store: Store, open_page: Open) -> None:
    from annotation_ui.campaigns.campaign import CampaignOptions, create_campaign, make_task

    people.invite(db, "lea", role="lead")
    assert "scedit annotate new" in texts(open_page("lead.progress.show", "lea"))
    create_campaign(db, store, "pilot", make_task(TASK), CampaignOptions())
    page = open_page("lead.progress.show", "lea")
    assert "scedit annotate assign pilot" in texts(page) and "data-label" not in texts(page)


def test_every_campaign_has_its_own_table(db: RatingsDB, store: Store, open_page: Open) -> None:
    pilot(db, store, "ann", task=TASK)
    pilot(db, store, "ann", task="filter_question", name="second")
    page = open_page("lead.progress.show", "lea")
    assert [s.value for s in page.subheader] == [f"pilot ({TASK}@3)", "second (filter_question@3)"]
    assert [rows(page, n)[0]["done"] for n in (0, 1)] == ["0 of 12", "0 of 24"]


@pytest.mark.parametrize(
    "page", ["lead.progress.show", "lead.progress.show_agreement", "lead.adjudicate.show", "browse.show"]
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
    assert quick_figures(db, "pilot") == quick_figures(db, "pilot")
    work(db, "pilot", "bob", 3)
    assert sum(s.done for s in quick_figures(db, "pilot").progress) == 6


def test_files_of_one_name_are_told_apart(
    db: RatingsDB, store: Store, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pilot(db, store, "ann")
    work(db, "pilot", "ann", 2)
    assert len(quick_figures(db, "pilot").answers) == 2
    with RatingsDB(tmp_path_factory.mktemp("other") / db.path.name, create=True) as other:
        pilot(other, store, "ann")
        assert quick_figures(other, "pilot").answers == []


def test_the_slow_figures_are_computed_once_for_a_state_of_the_answers(
    db: RatingsDB, store: Store, figures: list[str]
) -> None:
    pilot(db, store, "ann", "bob")
    for person in ("ann", "bob"):
        work(db, "pilot", person)
    first = [slow_figures(db, "pilot", None) for _ in range(3)]
    assert figures == ["pilot"] and first[0] == first[2]
    (answer, *_) = db.current_answers("pilot")
    db.save("pilot", answer.person, answer.item, {**(answer.answers or {}), "coherence": 7}, form=answer.form)
    slow_figures(db, "pilot", None)
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
