from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from schemas.extras import Extra


@pytest.mark.parametrize("value", [None, [], {}, "é\u2028", 0.1, {"b": [1, {"a": None}], "a": "x"}])
def test_what_a_source_says_comes_back(value: object) -> None:
    assert Extra.holding("f/1/x", value, subject_key="f/1", name="x").value == value


def test_content_is_one_text_however_it_was_written() -> None:
    fields = {"key": "f/1/x", "of": "f/1", "name": "x"}
    loose = Extra.model_validate({**fields, "content": '{ "b": 1,\n"a": "\\u00e9" }'})
    assert loose.content == '{"a":"é","b":1}'
    assert loose.id == Extra.holding("f/1/x", {"a": "é", "b": 1}, subject_key="f/1", name="x").id


def test_what_it_belongs_to_counts() -> None:
    one = Extra.holding("f/1/x", 1, subject_key="f/1", name="x")
    assert Extra.holding("f/1/x", 1, subject_key="f/1", name="x", depends_on=("f/2",)).id != one.id


def test_stores_and_files_keep_the_short_names() -> None:
    """Ids depend on them: this one is of an extra that version 0.1.0 wrote."""
    extra = Extra.holding("f/1/x", {"a": "é", "b": 1}, subject_key="f/1", name="x", depends_on=("f/2",))
    assert extra.id == "6ee12cde34ae3eb84b19"
    record = {"key": "f/1/x", "of": "f/1", "also": ["f/2"], "name": "x", "content": '{"a":"é","b":1}'}
    assert list(extra.payload().items()) == list(record.items())
    assert json.loads(extra.model_dump_json()) == record and Extra.model_validate(record) == extra
    with pytest.raises(ValidationError, match="Extra inputs"):
        Extra.model_validate({**record, "subject": "f/1"})


@pytest.mark.parametrize("content", ["", "{", "NaN", "{'a': 1}"])
def test_content_that_is_no_json_is_refused(content: str) -> None:
    with pytest.raises(ValidationError):
        Extra(key="f/1/x", subject_key="f/1", name="x", content=content)
