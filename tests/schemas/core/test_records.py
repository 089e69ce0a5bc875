from __future__ import annotations

import subprocess
import sys
from typing import ClassVar

import pytest
from pydantic import ValidationError

from schemas.core.records import Record, Text
from tests.support.facts import make_fact


def test_id_is_content_and_survives_processes() -> None:
    fact_id = make_fact().id
    code = f"from schemas.facts import Fact\nprint(Fact.model_validate_json({make_fact().model_dump_json()!r}).id)"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert fact_id == process
    assert len(fact_id) == 20


@pytest.mark.parametrize(
    "change",
    [{"old": {"text": "Lima", "aliases": ["City of Kings"]}}, {"key": "f/2"}, {"prompt": "{} has the capital"}],
    ids=["alias", "key", "prompt"],
)
def test_every_field_is_in_the_id(change: dict[str, object]) -> None:
    assert make_fact(**change).id != make_fact().id


def test_records_are_frozen_and_refuse_unknown_fields() -> None:
    fact = make_fact()
    with pytest.raises(ValidationError):
        fact.prompt = "x {}"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="Extra inputs"):
        make_fact(colour="red")


def test_a_copy_has_an_id_of_its_own() -> None:
    before = make_fact()
    assert before.id
    copy = before.model_copy(update={"key": "f/2"})
    assert copy.id == make_fact(key="f/2").id != before.id


class Measure(Record):
    kind: ClassVar[str] = "measure"
    name: Text
    value: float = 0.0


def test_the_kind_is_in_the_id() -> None:
    class Other(Measure):
        kind: ClassVar[str] = "other"

    assert Measure(key="m", name="x").id != Other(key="m", name="x").id


@pytest.mark.parametrize("key", ["", "a b", "a\n", "\u00a0", "x" * 401], ids=["empty", "space", "line", "wide", "long"])
def test_keys_that_are_refused(key: str) -> None:
    with pytest.raises(ValidationError):
        Measure(key=key, name="x")


@pytest.mark.parametrize(("text", "message"), [("", "empty"), (" x", "white space"), ("x\n", "white space")])
def test_texts_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Measure(key="m", name=text)


def test_numbers_without_end_come_back_from_json() -> None:
    endless = Measure(key="m", name="x", value=float("inf"))
    assert Measure.model_validate_json(endless.model_dump_json()) == endless
