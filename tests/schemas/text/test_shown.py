"""Numbers with nouns, and texts as terminals, pages, tables and status lines show them."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.text.counting import counted
from schemas.text.escaping import EscapingStream, escape, escape_line
from schemas.text.raw_text import RAW_LENGTH, raw_text
from schemas.text.spreadsheet_cells import safe_cell
from schemas.text.status_line import StatusLine, duration
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


@pytest.mark.parametrize(
    ("number", "nouns", "text"),
    [
        (0, ("case",), "0 cases"),
        (1, ("case",), "1 case"),
        (-1, ("case",), "-1 cases"),
        (1_234_567, ("case",), "1,234,567 cases"),
        (1, ("person", "people"), "1 person"),
        (2, ("person", "people"), "2 people"),
        (0, ("person", "people"), "0 people"),
    ],
)
def test_one_is_one_and_everything_else_is_several(number: int, nouns: tuple[str, ...], text: str) -> None:
    assert counted(number, *nouns) == text


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ("Step 1:\n\n  go\r\ngo", "Step 1:\n\n  go\ngo"),
        ("a\u202eb\x1b]0;t\x07", "a\\u202eb\\u001b]0;t\\u0007"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("x" * RAW_LENGTH, "x" * RAW_LENGTH),
        ("x" * (RAW_LENGTH + 1), "x" * RAW_LENGTH + "\n[the text goes on: 6,000 of 6,001 characters are shown]"),
        ("", ""),
    ],
    ids=["as written", "obeyed by a screen", "markup is the page's business", "just fits", "too long", "nothing"],
)
def test_nothing_is_left_out_and_nothing_obeyed(text: str, view: str) -> None:
    assert raw_text(text) == view


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        *((text, f"'{text}") for text in ("=cmd|'/c calc'!A0", "+1", "-1+2", "@SUM(A1)", "\t=1", "\r\n=1", "  =1")),
        ("a\x1b[2Jb", "a\\u001b[2Jb"),
        ("R\u202eome", "R\\u202eome"),
        ("\r=1", "'\\u000d=1"),
        ("=\x9b1", "'=\\u009b1"),
        ("\x00", "\\u0000"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\udb40\\udc41"),
    ],
)
def test_what_would_be_run_is_text_and_what_a_terminal_obeys_is_written_out(text: str, cell: str) -> None:
    assert safe_cell(text) == cell
    assert safe_cell(cell) == cell or cell.startswith("'"), "again changes nothing"


@pytest.mark.parametrize(
    "value", ["one\ntwo\tthree\r\n", "عربي", "क्\u200dष", "", " ", "rome", "a=b", "1-2", -0.5, None, 3, "'=1"]
)
def test_the_rest_stays(value: object) -> None:
    assert safe_cell(value) == value


def test_on_a_terminal_a_line_is_written_over_whole_and_ended_once() -> None:
    messages: list[str] = []
    line = StatusLine(messages.append, terminal=True)
    line.show("10 of 12, and more")
    line.show(lambda: "11 of 12")
    line.end()
    line.end()
    assert messages == ["\r10 of 12, and more", "\r11 of 12          ", "\n"]


def test_elsewhere_lines_come_now_and_then_and_the_last_one_always() -> None:
    now, lines = [0.0], list[str]()
    line = StatusLine(lines.append, terminal=False, every=10, clock=lambda: now[0])
    for second in (0, 4, 9, 11, 12):
        now[0] = float(second)
        line.show(f"at {second}")
    line.show("the end", last=True)
    assert lines == ["at 0\n", "at 11\n", "the end\n"]


def test_the_first_line_can_wait_and_a_line_that_is_not_shown_is_not_made() -> None:
    now = [0.0]
    messages: list[str] = []
    items: list[int] = []
    line = StatusLine(messages.append, terminal=False, every=30, at_once=False, clock=lambda: now[0])
    line.show(lambda: str(items.append(1)))
    assert not messages and not items
    now[0] = 31.0
    line.show("later")
    assert messages == ["later\n"]
    never = StatusLine(messages.append, terminal=False, every=None)
    never.show("2 of 2", last=True)
    never.end()
    assert messages == ["later\n"], "for terminals only"


def test_durations_as_people_say_them() -> None:
    assert [duration(s) for s in (0.4, 89, 90, 5399, 5400)] == ["0 s", "89 s", "2 min", "1 h 30 min", "1 h 30 min"]
