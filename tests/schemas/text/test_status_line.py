"""The line of progress on a terminal and elsewhere."""

from __future__ import annotations

from schemas.text.status_line import StatusLine, duration


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


def test_a_line_for_terminals_only_says_nothing_elsewhere() -> None:
    messages: list[str] = []
    line = StatusLine(messages.append, terminal=False, every=None)
    line.show("1 of 2")
    line.show("2 of 2", last=True)
    line.end()
    assert messages == []


def test_durations_as_people_say_them() -> None:
    assert [duration(s) for s in (0.4, 89, 90, 5399, 5400)] == ["0 s", "89 s", "2 min", "1 h 30 min", "1 h 30 min"]
