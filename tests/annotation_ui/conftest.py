"""A store with the split mini's records and some generated scripts; a ratings file beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from annotation_ui.ratings.database import RatingsDB
from curation.shipped import mini_split
from curation.store.store import Store
from schemas.core.records import Record
from schemas.generated_scripts import GeneratedScript


def scripts(count: int) -> list[GeneratedScript]:
    """Generated scripts of mini's first cases, two methods each, one of them unedited."""
    out = []
    for case in list(mini_split().cases)[:count]:
        for editor, edited in (("none", False), ("rome", True)):
            question = case.questions[0]
            assert case.fact.new is not None
            named = case.fact.new.text if edited else case.fact.old.text
            out.append(
                GeneratedScript(
                    key=f"generated/{editor}/{question.key}",
                    case=case.key,
                    fact=case.fact.key,
                    question=question.key,
                    model="tiny",
                    editor=editor,
                    edited=edited,
                    text=f"Step 1: Go to {named}",
                    steps=(f"Go to {named}",),
                )
            )
    return out


def fill(store: Store, cases: int = 6) -> None:
    """Facts, questions and prompts of mini's first cases, and generated scripts."""
    records: list[Record] = []
    for case in list(mini_split().cases)[:cases]:
        records += [case.fact, *case.questions, *case.prompts]
    store.put([*records, *scripts(cases)])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "s.duckdb", create=True) as opened:
        fill(opened)
        yield opened


@pytest.fixture
def db(tmp_path: Path) -> Iterator[RatingsDB]:
    with RatingsDB(tmp_path / "ratings.sqlite", create=True) as opened:
        yield opened
