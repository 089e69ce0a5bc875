from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.extras import Extra


@pytest.mark.parametrize("value", [None, [], {}, "é\u2028", 0.1, {"b": [1, {"a": None}], "a": "x"}])
def test_what_a_source_says_comes_back(value: object) -> None:
    assert Extra.holding("f/1/x", value, of="f/1", name="x").value == value


def test_content_is_one_text_however_it_was_written() -> None:
    fields = {"key": "f/1/x", "of": "f/1", "name": "x"}
    loose = Extra.model_validate({**fields, "content": '{ "b": 1,\n"a": "\\u00e9" }'})
    assert loose.content == '{"a":"é","b":1}'
    assert loose.id == Extra.holding("f/1/x", {"a": "é", "b": 1}, of="f/1", name="x").id


def test_what_it_belongs_to_counts() -> None:
    one = Extra.holding("f/1/x", 1, of="f/1", name="x")
    assert Extra.holding("f/1/x", 1, of="f/1", name="x", also=("f/2",)).id != one.id


@pytest.mark.parametrize("content", ["", "{", "NaN", "{'a': 1}"])
def test_content_that_is_no_json_is_refused(content: str) -> None:
    with pytest.raises(ValidationError):
        Extra(key="f/1/x", of="f/1", name="x", content=content)
