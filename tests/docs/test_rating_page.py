"""The road from a run's scripts to calibrated judges, command by command; programs answer in place of people."""

from __future__ import annotations

from pathlib import Path

import pytest

from annotation_ui.campaigns.campaign import task_of
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item
from tests.docs.pages import DOCS, blocks, shell

PAGE = DOCS / "rating-a-run.md"


def commands() -> list[str]:
    return [block.text for block in blocks(PAGE, "bash")]


def answer_everything(ratings: Path) -> None:
    """Everybody answers all that is open, in both campaigns; nobody agrees on everything."""
    with RatingsDB(ratings) as db:
        for campaign in db.campaigns():
            form = task_of(db, campaign.name).form
            for person in ("ann", "bob"):
                while (at := next_item(db, campaign.name, person)) is not None:
                    number = sum(map(ord, at.item)) + 2 * (person == "bob")
                    answers = {f.name: (number + n) % 7 + 1 for n, f in enumerate(form.asked_fields())}
                    db.save(campaign.name, person, at.item, answers, form=form.label, seconds=9.0)


def test_every_block_but_the_server_is_one_that_runs() -> None:
    assert len(commands()) == 6
    others = [block.text for block in blocks(PAGE) if block.info != "bash"]
    assert others == ["scedit annotate serve --ratings ratings.sqlite\n"]


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(1800)
def test_from_a_run_to_calibrated_judges(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    for n, command in enumerate(commands()):
        process = shell(command, folder)
        if n == 1:
            answer_everything(folder / "ratings.sqlite")
        if n == 2:
            assert "12 of    12" in process
        if n == 3:
            assert "alpha (ordinal)" in process and "items with a disagreement" in process
            assert (folder / "agreement.html").stat().st_size > 5_000
        if n == 4:
            assert "24 answers, 24 records new" in process and "24 answers, 72 records new" in process
    assert "executability" in process
