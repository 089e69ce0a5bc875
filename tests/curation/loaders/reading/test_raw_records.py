"""JSON text to values, stricter than Python reads it."""

from __future__ import annotations

import json

import pytest

from curation.loaders.reading.raw_records import (
    Parser,
    Problem,
    Row,
    cut_off,
    incomplete,
    reason_of,
    row_of,
    size_of,
    unclean,
)


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ('{"a": 1, "b": {"a": 2}}', None),
        ('{"a": 1, "b": 2, "a": 3}', "the field 'a' stands twice in one object"),
        ('{"x": {"b": 1, "b": 1}}', "the field 'b' stands twice in one object"),
        ('{"a": NaN}', "NaN is not a JSON value"),
        ('{"a": -Infinity}', "-Infinity is not a JSON value"),
        (r'{"a": "x\ud83d\ude00 and \\ud800"}', None),
        (r'{"a": "x\ud800"}', r"half of a surrogate pair (\ud800, column 9), which no text can hold"),
        (r'{"a": "\\\uDC00\ud800"}', r"half of a surrogate pair (\uDC00, column 10), which no text can hold"),
        ('{"a": 1,\n "\\udbffb": 1}', r"half of a surrogate pair (\udbff, column 3), which no text can hold"),
    ],
)
def test_what_python_would_let_pass_is_noted(text: str, odd: str | None) -> None:
    parser = Parser()
    row = row_of(parser.whole(text), parser, "f.json, line 3", 7)
    assert row == (Problem("f.json, line 3", "malformed", odd) if odd else Row("f.json, line 3", json.loads(text), 7))
    assert parser.whole("{}") == {} and parser.odd is None, "the next value is judged by itself"


@pytest.mark.parametrize(
    "text", ['{"a": 1}', '{"a": 1}\n', '{"a": 1}\r\n', ' {"a": 1}', '\t{"a": 1} \n\n', "[1]", "3", '"x"\n', "-0.5 "]
)
def test_white_space_around_a_value_is_nothing(text: str) -> None:
    parser = Parser()
    assert parser.whole(text) == json.loads(text) and parser.odd is None


@pytest.mark.parametrize(
    "text", ["", " ", "\n", '{"a": 1} x', '{"a": 1}\n{"a": 2}', '{"a": 1', "nul", '{"a": "b\n"} x']
)
def test_faults_are_told_as_pythons_reader_tells_them(text: str) -> None:
    with pytest.raises(json.JSONDecodeError) as expected:
        json.JSONDecoder(strict=False).decode(text)
    with pytest.raises(json.JSONDecodeError) as error:
        Parser().whole(text)
    if "\n" not in text.strip() or "\n{" in text:
        assert (error.value.msg, error.value.pos) == (expected.value.msg, expected.value.pos)


def test_a_field_that_stands_twice_is_noted_before_what_is_behind_the_value() -> None:
    parser = Parser()
    assert parser.whole('{"a": 1, "a": 2}\n') == {"a": 2} and parser.odd
    assert parser.whole(' {"a": 1, "a": 2} ') == {"a": 2} and parser.odd
    assert parser.whole('{"a": 1}') == {"a": 1} and parser.odd is None


@pytest.mark.parametrize(("value", "kind"), [([], "list"), ("x", "str"), (None, "NoneType"), (3, "int")])
def test_a_record_is_an_object(value: object, kind: str) -> None:
    row = row_of(value, Parser(), "f", 1)
    assert isinstance(row, Problem) and row.what == f"an object is expected, not {kind}" and row.lost


@pytest.mark.parametrize(
    ("kind", "losses"),
    [("malformed", True), ("invalid", True), ("truncated", True), ("duplicate", True), ("contradictory", False),
     ("suspect", False), ("count", False), ("left", False)],
)  # fmt: skip
def test_which_problems_lose_a_record(kind: str, losses: bool) -> None:
    assert Row("f", {}).problem(kind, "x").lost is losses


def fault(text: str) -> json.JSONDecodeError:
    with pytest.raises(json.JSONDecodeError) as error:
        json.loads(text)
    return error.value


@pytest.mark.parametrize(
    ("text", "more", "cut"),
    [
        ('{"a": "x', True, True),
        ('{"a": fal', True, True),
        ('{"a": 1,', True, True),
        ('{"a" 1}', True, False),
        ('{"a": x, "b": "and much more behind the fault"}', False, False),
    ],
)
def test_an_end_is_told_from_a_fault(text: str, more: bool, cut: bool) -> None:
    assert incomplete(fault(text), text) is more
    assert cut_off(fault(text), text) is cut


@pytest.mark.parametrize(("text", "readable"), [("", False), ("a", False), ("é東", False), ("\udcff", True)])
def test_bytes_that_are_no_text(text: str, readable: bool) -> None:
    assert unclean(text) is readable


def test_reasons_and_sizes_in_words() -> None:
    assert reason_of(RecursionError()) == "nested too deep"
    assert reason_of(ValueError("exceeds the limit; use another")) == "exceeds the limit"
    assert (size_of(64 * 2**20), size_of(2**19)) == ("64 MiB", "0.5 MiB")


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ('{"a": "x\ny"}', "a line end or another control character inside a text (column 9)"),
        ('{"a": ' + "9" * 5000 + "}", "a number of 5,000 digits"),
        ('{"a": "x\ny", "b": ' + "9" * 5000 + "}", "a line end or another control character inside a text (column 9)"),
    ],
)
def test_what_is_no_json_and_ends_somewhere_is_passed_over(text: str, odd: str) -> None:
    parser = Parser()
    assert parser.value(text + ",", 0)[1] == len(text) and parser.odd == odd
    assert parser.value('{"a": 1}', 0) == ({"a": 1}, 8) and parser.odd is None


@pytest.mark.parametrize("text", ['{"a": "x\ny', '{"a": "x\ny" 1}', '{"a" 1}'])
def test_what_does_not_end_is_no_value(text: str) -> None:
    with pytest.raises(json.JSONDecodeError):
        Parser().value(text, 0)
