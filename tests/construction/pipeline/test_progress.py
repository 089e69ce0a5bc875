"""The display of progress on terminals of all widths, and the line elsewhere."""

from __future__ import annotations

import io
import logging
import re

import pytest
from rich.console import Console

from construction.llm.calls.activity import ModelProgress
from construction.llm.cost.budget import Amount, Budget
from construction.llm.reply_cache import ReplyCache
from construction.pipeline.progress import AnsweredFacts, ConstructionProgress, ProgressDisplay
from curation.files.journal import Journal
from schemas.text.status_line import duration

WIDTHS = [20, 40, 80, 110, 200]
CONTROL = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Screen:
    """What stands on a terminal after some output: line ends, returns, cursor up, cleared lines, wrapping."""

    def __init__(self, width):
        self.width, self.lines, self.row, self.column = width, [""], 0, 0

    def feed(self, text):
        place = 0
        while place < len(text):
            control = CONTROL.match(text, place)
            if control:
                number = int(control[1]) if control[1].isdigit() else 1
                if control[2] == "A":
                    self.row = max(0, self.row - number)
                elif control[2] == "K":
                    self.lines[self.row] = ""
                else:
                    assert control[2] in "mhl", f"what is {control[0]!r}?"
                place = control.end()
                continue
            self.put(text[place])
            place += 1
        return self

    def put(self, char):
        if char == "\n" or (char != "\r" and self.column == self.width):
            self.row, self.column = self.row + 1, 0
            self.lines += [""] * (self.row + 1 - len(self.lines))
        if char == "\r":
            self.column = 0
        elif char != "\n":
            self.lines[self.row] = self.lines[self.row].ljust(self.column)[: self.column] + char
            self.column += 1


def console_of(width, *, terminal=True, height=40):
    return Console(
        file=io.StringIO(), force_terminal=terminal, width=width, height=height, color_system=None, legacy_windows=False
    )


@pytest.fixture
def budget(tmp_path):
    with Journal(tmp_path / "j", write=True) as journal:
        yield Budget(ReplyCache(journal), max_cost=5.0)


def told(budget, *, rows, width=80, terminal=True, ticks=1, expected=None):
    """The display after some ticks and its end; what was written, and what stands on the screen."""
    now = [0.0]
    console = console_of(width, terminal=terminal)
    live = ProgressDisplay(console, expected=expected or {"m": 100}, clock=lambda: now[0])
    live.watch(lambda: rows)
    for n in range(ticks):
        now[0] += 1.0
        live.facts(ConstructionProgress(done=n + 1, total=1000, kept=3 * n, calls=n))
        budget.answered(from_endpoint=False)
        live.tick(budget)
    live.end(budget)
    text = console.file.getvalue()
    return text, [line.rstrip() for line in Screen(width).feed(text).lines if line.strip()]


THREE = [
    ModelProgress("gpt-4o-2024-11-20", 20, failed=2, rate=80.0, waiting=3, repeated=9),
    ModelProgress("a model with a very long name of its own, and more of it than anybody needs", 0, pause=42.0),
    ModelProgress("embedded", 7, rate=2.0, status="batch: 3/9"),
]
EXPECTED = {"gpt-4o-2024-11-20": 100, "embedded": 11}


@pytest.mark.parametrize("width", WIDTHS)
def test_it_is_redrawn_in_place_at_any_width(budget, width):
    """Fifty redraws leave one display: no line is longer than the terminal, none of an earlier second stays."""
    once, screen = told(budget, rows=THREE, width=width, ticks=1, expected=EXPECTED)
    _, after = told(budget, rows=THREE, width=width, ticks=50, expected=EXPECTED)
    assert max(map(len, after)) <= width and len(after) <= len(screen) + 2
    words = " ".join(" ".join(after).split())
    assert "50/1,000 facts" in words and words.count("1,000 facts") == 1, words
    assert once.endswith("\n") or "\x1b[?25h" in once, "the cursor is shown again and stands on a line of its own"


@pytest.mark.parametrize("width", WIDTHS)
def test_failures_pauses_rate_spend_and_time_left_are_told_of_every_model(budget, width):
    budget.settle("k", Amount(1000, 200, 0.42))
    _, screen = told(budget, rows=THREE, width=width, expected=EXPECTED)
    words = " ".join(" ".join(screen).split())
    squeezed = words.replace(" ", "")
    for piece in ("20 of 100", "7 of 11", "80", "60 s", "2 min", "$0.4200 of $5", "1,200 tokens", "batch: 3/9"):
        assert piece.replace(" ", "") in squeezed, (piece, words)
    assert "pauses42s" in squeezed and "3waitingtobeaskedagain" in squeezed
    assert "9askedagainafterapassingfault" in squeezed
    assert "gpt-4o-2024-11-20:20of100answers,2failed,80aminute,60sleft" in squeezed


@pytest.mark.parametrize("calls", [0, 500, 1000])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_bar_stands_on_a_line_of_its_own(budget, width, calls):
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=40, color_system="truecolor")
    live = ProgressDisplay(console, expected={})
    live.facts(ConstructionProgress(done=calls, total=1000, kept=0, calls=0))
    live.tick(budget)
    first, *rest = Screen(width).feed(console.file.getvalue()).lines
    assert set(first.strip()) <= set("━╸╺") and len(first) == width
    assert f"{calls:,}/1,000 facts" in " ".join(line.strip() for line in rest)


def test_one_model_alone_has_its_line_the_embedded_one_too(budget):
    _, screen = told(budget, rows=[ModelProgress("embedded", 7, rate=2.0)], expected={"embedded": 11})
    assert any(line.startswith("embedded") and "7 of 11" in line and "2 min" in line for line in screen)


def test_more_answers_than_expected_are_no_negative_time(budget):
    _, screen = told(budget, rows=[ModelProgress("m", 140, rate=10.0)], expected={"m": 100})
    words = " ".join(screen)
    assert "140 of 140" in words and "-" not in words.replace("model", "")


@pytest.mark.parametrize(
    ("done", "answered", "expected"),
    [
        (0, 0, 400),  # as planned: ten a fact
        (1, 20, 603),  # the plan weighs as much as one fact, less as more are done: (20 + 9.75) / 19.75 * 400
        (10, 200, 772),  # twice as many calls a fact, seeds and second attempts among them
        (10, 50, 214),
        (40, 790, 790),  # in the end what it was
    ],
)
def test_how_many_answers_are_left_follows_what_finished_facts_took(budget, done, answered, expected):
    """First attempts are only the beginning: a small model needs several seeds, another one fewer scripts."""
    live = ProgressDisplay(console_of(110), expected={"m": 400})
    rows = [ModelProgress("m", answered, rate=60.0)]
    live.watch(lambda: rows)
    live.follow(lambda: AnsweredFacts(done, {"m": answered}))
    live.facts(ConstructionProgress(done=0, total=40, kept=0, calls=answered))
    line = live.line(budget)
    assert f"of about {expected} answers" in line, line
    left = expected - answered
    assert (f", {duration(left)} left" in line) if left else "left" not in line


def test_the_time_left_waits_for_pauses_and_for_the_model_that_nobody_knows_yet(budget):
    """Seen in a recording: "0 s left" while one model paused and another had not answered yet."""
    live = ProgressDisplay(console_of(110), expected={"m": 100, "embedded": 8})
    rows = [ModelProgress("m", 90, rate=60.0, pause=42.0), ModelProgress("embedded", 0)]
    live.watch(lambda: rows)
    assert "m: 90 of 100 answers, 60 a minute, 52 s left, pauses 42 s" in live.line(budget)
    assert " left" not in live.line(budget).split("m: 90")[0]
    rows[1] = ModelProgress("embedded", 8)
    assert "52 s left" in live.line(budget).split("m: 90")[0], "nothing is left of it"


@pytest.mark.parametrize("width", WIDTHS)
def test_of_several_models_each_says_what_it_has_spent(budget, width):
    """The whole stands in the first line; who took it is told where there is more than one."""
    rows = [ModelProgress("m", 9, tokens=1200, cost=0.42), ModelProgress("embedded", 7, tokens=340)]
    _, screen = told(budget, rows=rows, width=width)
    squeezed = "".join("".join(screen).split())
    assert "$0.4200,1,200tokens" in squeezed and "340tokens" in squeezed and "$0.0000,340" not in squeezed
    line, _ = told(budget, rows=rows, terminal=False)
    assert "m: 9 of 100 answers, $0.4200, 1,200 tokens, embedded: 7 of 7 answers, 340 tokens" in line
    _, alone = told(budget, rows=rows[:1], width=width)
    assert "1,200" not in "".join(alone)


def test_a_model_s_name_is_shown_and_not_obeyed(budget):
    text, screen = told(budget, rows=[ModelProgress("[red]m\x1b[2J\u202e[/red]", 1)])
    assert "\x1b[2J" not in text and "\u202e" not in text
    assert any(line.startswith("[red]m\\u001b[2J") for line in screen)


def test_a_low_terminal_is_not_scrolled_away(budget):
    many = [ModelProgress(f"model {n}", n) for n in range(30)]
    console = console_of(60, height=8)
    live = ProgressDisplay(console, expected={})
    live.watch(lambda: many)
    for _ in range(20):
        budget.answered(from_endpoint=False)
        live.tick(budget)
    assert len([x for x in Screen(60).feed(console.file.getvalue()).lines if x.strip()]) <= 8


def test_elsewhere_a_line_comes_now_and_then_and_one_in_the_end(budget):
    text, _ = told(budget, rows=[ModelProgress("m", 20, failed=2, rate=60.0)], terminal=False, ticks=70)
    lines = text.splitlines()
    assert len(lines) == 3 and "\x1b" not in text and "\r" not in text
    assert lines[-1].startswith("70/1,000 facts, 207 questions kept, 70 of about 100 answers, ")
    assert "2 failed" in lines[-1] and lines[-1].index(" spent") < lines[-1].index("80 s left")


def test_the_line_of_several_models_tells_them_apart(budget):
    text, _ = told(budget, rows=THREE, terminal=False, expected=EXPECTED)
    assert "embedded: 7 of 11 answers, 2 a minute, 2 min left, batch: 3/9" in text
    assert "gpt-4o-2024-11-20: 20 of 100 answers, 2 failed, 80 a minute, 60 s left" in text
    assert (
        "2 failed, 3 waiting to be asked again, 9 asked again after a passing fault" in text and "pauses 42 s" in text
    )


@pytest.mark.parametrize("terminal", [True, False])
def test_nothing_is_said_of_nothing(budget, terminal):
    console = console_of(80, terminal=terminal)
    ProgressDisplay(console, expected={}).end(budget)
    assert console.file.getvalue() == ""


def test_calls_from_the_journal_do_not_make_the_rate(budget):
    for _ in range(10):
        budget.answered(from_endpoint=False)
    assert budget.rate() is None and budget.answers == 10


def test_a_model_on_this_machine_shows_its_tokens_a_second(budget):
    rows = [ModelProgress("local", 7, rate=2.0, speed=11.26)]
    for width in (80, 110):
        _, screen = told(budget, rows=rows, width=width)
        assert any("11.3 tokens/s" in line for line in screen)
    text, _ = told(budget, rows=rows, terminal=False)
    assert "11.3 tokens/s" in text
    assert "tokens/s" not in told(budget, rows=[ModelProgress("gpt-4o", 7, rate=2.0)], terminal=False)[0]


@pytest.mark.parametrize("width", [80, 110])
def test_what_is_logged_stands_above_the_display_and_nothing_is_left_behind(budget, width):
    console = console_of(width)
    handler, elsewhere = logging.StreamHandler(console.file), logging.StreamHandler(io.StringIO())
    root = logging.getLogger()
    root.handlers, before = [handler, elsewhere], root.handlers
    try:
        live = ProgressDisplay(console, expected={"m": 100})
        live.facts(ConstructionProgress(done=1, total=10, kept=3, calls=1))
        live.tick(budget)
        for n in range(3):
            logging.getLogger("construction").warning("fact %d is not [bold]finished[/bold]\x1b[2K", n)
            live.tick(budget)
        live.end(budget)
        logging.getLogger("construction").warning("after the end")
    finally:
        root.handlers = before
    lines = [line.rstrip() for line in Screen(width).feed(console.file.getvalue()).lines if line.strip()]
    assert [line for line in lines if "is not" in line] == lines[:3], "all above, in order, each once"
    assert all(line.startswith(f"fact {n} is not [bold]finished[/bold]") for n, line in enumerate(lines[:3]))
    assert sum("1/10 facts" in line for line in lines) == 1, "no display of an earlier second is left"
    assert lines[-1] == "after the end" and handler.stream is console.file
    assert "fact 2" in elsewhere.stream.getvalue()
