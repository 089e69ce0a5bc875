"""What a terminal would obey is written out; everything else stays."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.text.escaping import EscapingStream, escape, escape_line
from tests.support.hostile_text import NAMES, OBEYED


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("", ""),
        ("Brasília 東京 \U0001f600", "Brasília 東京 \U0001f600"),
        ("a\tb\r\nc", "a\tb\r\nc"),
        ("paid\rfree", "paid\\u000dfree"),
        ("a\r\r\nb\r", "a\\u000d\r\nb\\u000d"),
        ("\x1b[2J", "\\u001b[2J"),
        ("\x7f\x9b", "\\u007f\\u009b"),
        ("\u2066Rome\u2069", "\\u2066Rome\\u2069"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("\\u001b", "\\u001b"),
    ],
    ids=[
        "empty",
        "plain",
        "line ends",
        "what writes a line over",
        "of several the line end's own stays",
        "escape",
        "delete",
        "marks",
        "half a pair",
        "beyond 16 bits",
        "already written",
    ],
)
def test_what_a_terminal_obeys_is_written_as_json_writes_it(text: str, output: str) -> None:
    assert escape(text) == output


@pytest.mark.parametrize("text", list(NAMES.values()), ids=list(NAMES))
def test_nothing_hostile_is_left(text: str) -> None:
    assert not OBEYED.search(escape(text).replace("\n", ""))
    assert "\n" not in escape_line(text) and not OBEYED.search(escape_line(text))


@given(st.text(st.characters(exclude_characters='"\\')))
def test_the_written_form_means_the_same_in_json(text: str) -> None:
    variant = escape(text).replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    assert json.loads(f'"{variant}"') == text


def test_a_long_text_keeps_its_two_ends() -> None:
    assert escape_line("a" * 400) == "a" * 400
    assert escape_line("a" * 300 + "b" * 300) == "a" * 200 + " ... " + "b" * 200
    assert escape_line("abcdef", longest=4) == "ab ... ef"


def test_one_line_has_spaces_for_line_ends_of_every_kind() -> None:
    assert escape_line("\ra\r\n\nb\rc\t") == "a b c"


def test_a_stream_is_written_over_only_from_the_beginning_of_a_write() -> None:
    """Progress bars begin with a carriage return; one inside a text would put other words in the line's place."""
    under = io.StringIO()
    stream = EscapingStream(under)
    for text in ("\r9 of 10", "\rdone   ", "\n", "paid\rfree", "\r\rx", "\r\n", "a\r\n"):
        stream.write(text)
    assert under.getvalue() == "\r9 of 10\rdone   \npaid\\u000dfree\r\\u000dx\r\na\r\n"


def test_a_stream_lets_our_colours_through_and_nothing_else() -> None:
    under = io.StringIO()
    stream = EscapingStream(under)
    assert stream.write("\x1b[31mred\x1b[0m \x1b]0;title\x07") == 23
    stream.writelines(["a\n", "b\u202e"])
    assert under.getvalue() == "\x1b[31mred\x1b[0m \\u001b]0;title\\u0007a\nb\\u202e"
    stream.close()
    assert under.closed, "everything but writing is the stream's own"
