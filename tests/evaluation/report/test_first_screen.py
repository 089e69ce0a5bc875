"""The first screen says what was edited and three findings with their intervals."""

from __future__ import annotations

from pathlib import Path

from evaluation.analysis.text_ratings import RatedTexts
from evaluation.analysis.written.all_answers import all_answers
from evaluation.report.first_screen import first_screen
from evaluation.report.narrative import caveats
from evaluation.report.sections import make_sections
from evaluation.runs.generated_scripts import scripts_of_run
from evaluation.runs.results import load_run
from schemas.answers import Answer
from tests.evaluation.analysis.written.test_all_answers import _Odd
from tests.support.arithmetic import ArithmeticLM
from tests.support.ratings import rate
from tests.support.report.read_report import finished
from tests.support.report.texts_run import TEXTS
from tests.support.report.texts_run import finished as with_texts


def test_what_was_edited_and_three_findings(tmp_path: Path) -> None:
    run = with_texts(tmp_path, ["s_es", "s_ns", *TEXTS], lm=_Odd())
    ((part,), _) = make_sections([run], None, None)
    answers = all_answers(run, None)
    screen = first_screen(part, answers)
    assert "facts" in screen.edited and "with push" in screen.edited and "none" in screen.edited
    assert "→" in screen.example
    assert [f.title for f in screen.findings] == [
        "Did the edit take?", "What else moved?", "What does the edited model write?",
    ]  # fmt: skip
    assert all("[" in f.text and "(push)" in f.text for f in screen.findings), "each with an interval"
    count = sum(len(q.answers) for q in answers)
    assert f"{count} of {count} scripts (100 %) were cut off at 256 tokens" in screen.findings[2].text


def test_a_run_without_an_edit_has_no_finding(tmp_path: Path) -> None:
    ((part,), _) = make_sections([load_run(finished(tmp_path, editors=["none"]))], None, None)
    screen = first_screen(part, [])
    assert screen.findings == () and "no method" in screen.edited


class _Loop(ArithmeticLM):
    """Writes the same step until the limit cuts it off."""

    def _text(self, probe, prompt: str) -> Answer:
        own_text = super()._text(probe, prompt)
        text = "\n".join(f"Step {n}: Fly to Lima and on" for n in range(1, 9))
        return own_text.model_copy(
            update={"written": own_text.written.model_copy(update={"text": text, "ended": "length"})}
        )


def test_loops_and_a_program_in_a_judges_place_are_said_on_the_first_screen(tmp_path: Path) -> None:
    run = with_texts(tmp_path, ["s_es", "s_ns", *TEXTS], lm=_Loop())
    scripts = [one.script for one in scripts_of_run(run)]
    for judge, rater in (("judge:scripted", True), ("judge:gpt-x", False)):
        texts = RatedTexts(tuple(scripts), tuple(rate(scripts, (judge,))))
        ((part,), _) = make_sections([run], None, texts)
        last = first_screen(part, all_answers(run, texts)).findings[-1].text
        assert ("a program that answers by rules and no language model" in last) == rater
        assert any("put in a judge's place" in line for line in caveats(part)) == rater
        count = len(scripts)
        assert f"{count} of {count} scripts (100 %) were cut off at 256 tokens, {count} of which in a loop" in last


class _Counting(ArithmeticLM):
    """Counts on until a stop text ends it."""

    def _text(self, probe, prompt: str) -> Answer:
        text = super()._text(probe, prompt)
        return text.model_copy(update={"written": text.written.model_copy(update={"ended": "stop"})})


def test_scripts_that_were_stopped_are_counted_apart_from_those_cut_off(tmp_path: Path) -> None:
    run = with_texts(tmp_path, ["s_es", *TEXTS], lm=_Counting(), generation={"stop": ["Step 10", "\n10."]})
    ((part,), _) = make_sections([run], None, None)
    last = first_screen(part, answers := all_answers(run, None)).findings[-1].text
    count = sum(len(q.answers) for q in answers)
    assert (
        f"0 of {count} scripts (0 %) were cut off at 256 tokens; {count} wrote more steps than were asked for" in last
    )
    assert r"stopped there (at 'Step 10', '\n10.'): read their ratings with that in mind" in last


def test_scripts_of_null_methods_are_counted_apart(tmp_path: Path) -> None:
    """A method that writes the new object for ever says nothing about how the others end."""
    run = with_texts(tmp_path, ["s_es", *TEXTS], lm=_Loop())
    ((part,), _) = make_sections([run], None, None)
    (table, *others), answers = part.tables, all_answers(run, None)
    rows = tuple(row if row.baseline else row._replace(editor="boost") for row in table.rows)
    has_edit = sum(not row.baseline for row in rows)
    count = sum(len(q.answers) for q in answers) // len(rows)
    last = first_screen(part._replace(tables=[table._replace(rows=rows), *others]), answers).findings[-1].text
    assert f"{count} of {count} scripts (100 %) were cut off at 256 tokens, {count} of which in a loop" in last
    assert f"; of the scripts of push (null), {has_edit * count} of {has_edit * count} were cut off: read" in last
