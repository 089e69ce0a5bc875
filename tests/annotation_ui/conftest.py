"""A store with the split mini's records and some generated scripts; a ratings file beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item
from annotation_ui.ratings.raters import invite
from curation.store.store import Store
from schemas.core.records import Record
from schemas.generated_scripts import GeneratedScript
from tests.support.events import event_records
from tests.support.small import small_split

TASK = "rate_script"


def answer(n: int) -> dict[str, Any]:
    """Answers to the form of ``TASK``."""
    return {"coherence": n % 7 + 1, "consistency": 7, "completeness": (n * 3) % 7 + 1}


def begin(
    db: RatingsDB, store: Store, name: str, task: str, *people: str, known: Sequence[RaterControlItem] = (), **more: Any
) -> None:
    """A campaign for these people, who are invited; unless told otherwise everybody rates every item."""
    for person in people:
        invite(db, person)
    options = CampaignOptions.model_validate({"overlap": len(people), **more})
    create_campaign(db, store, name, make_task(task), options, known=known)
    assign_items(db, name)


def work(db: RatingsDB, name: str, person: str, count: int = 10**6) -> int:
    """Answer what is open in a person's order; returns how many items were answered."""
    result = 0
    while result < count and (a := next_item(db, name, person)) is not None:
        form = db.campaign(name).form
        db.save(name, person, a.item, answer(sum(map(ord, a.item)) + len(person)), form=form, seconds=4.0)
        result += 1
    return result


def scripts(count: int) -> list[GeneratedScript]:
    """Generated scripts of mini's first cases, two methods each, one of them unedited."""
    out = []
    for case in list(small_split().cases)[:count]:
        for editor, edit_flag in (("none", False), ("rome", True)):
            question = case.questions[0]
            assert case.fact.new is not None
            object_text = case.fact.new.text if edit_flag else case.fact.old.text
            out.append(
                GeneratedScript(
                    key=f"generated/{editor}/{question.key}",
                    case=case.key,
                    fact=case.fact.key,
                    question=question.key,
                    model="tiny",
                    editor=editor,
                    edited=edit_flag,
                    text=f"Step 1: Go to {object_text}",
                    steps=(f"Go to {object_text}",),
                )
            )
    return out


def fill(store: Store, cases: int = 6) -> None:
    """Facts, questions and prompts of mini's first cases, and generated scripts."""
    records: list[Record] = []
    for case in list(small_split().cases)[:cases]:
        records += [case.fact, *case.questions, *case.prompts]
    store.put([*records, *scripts(cases)])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.duckdb", create=True) as db:
        fill(db)
        yield db


@pytest.fixture
def db(tmp_path: Path) -> Iterator[RatingsDB]:
    with RatingsDB(tmp_path / "ratings.sqlite", create=True) as ratings:
        yield ratings


@pytest.fixture
def events(tmp_path: Path) -> Iterator[Store]:
    """A store with two events and their questions."""
    with Store.open(tmp_path / "events.duckdb", create=True) as store:
        store.put(event_records())
        yield store
