"""What a report says in words, and in which parts: who leads, the order of the cases, runs that are not compared."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from curation.splits.split_file import make_split
from evaluation.analysis.tables import rates
from evaluation.analysis.text_ratings import RatedTexts
from evaluation.analysis.written_facts import NAMED_FIRST, text_values
from evaluation.analysis.written_texts import all_answers
from evaluation.report.formatting import cell_text
from evaluation.report.narrative import caveats, opening
from evaluation.report.sections import make_section, make_sections
from evaluation.report.write import write_report
from evaluation.runs.generated_scripts import scripts_of_run
from evaluation.runs.results import load_run
from schemas.answers import Answer
from schemas.scripts import ScriptQuestion
from tests.evaluation.analysis.test_written_texts import _Odd
from tests.evaluation.report.test_html_page import finished, read
from tests.support.arithmetic import ArithmeticLM, make_cases
from tests.support.ratings import rate
from tests.support.report import two_runs
from tests.support.report.texts_run import TEXTS
from tests.support.report.texts_run import finished as with_texts
from tests.support.report.two_runs import METRICS, TWO

pytestmark = pytest.mark.usefixtures("no_pictures")


def test_the_result_is_one_sentence_of_what_the_paired_tests_decide(tmp_path: Path) -> None:
    decided = make_section(load_run(finished(tmp_path / "a", editors=TWO, split=make_cases(40, 0))), None, None)
    assert (
        opening(decided, [])["result"] == "push is best on ES, PS, S-ES; no method is better than no edit on NS, S-NS."
    )
    few = make_section(load_run(finished(tmp_path / "b", editors=TWO, split=make_cases(4, 0))), None, None)
    assert opening(few, [])["result"] == "Which method is best is not decided (ES, PS, NS, S-ES and 1 more; 4 cases)."
    assert next(caveats(few)) == "4 cases are too few for intervals and tests: these figures decide nothing."
    assert all("[n = 4: too few]" in text for _, text in opening(few, [])["findings"])
    alone = make_section(load_run(finished(tmp_path / "c", editors=["none"])), None, None)
    assert opening(alone, [])["result"] == "" and "no method" in opening(alone, [])["edited"]


def test_what_was_edited_and_three_findings(tmp_path: Path) -> None:
    run = with_texts(tmp_path, ["s_es", "s_ns", *TEXTS], lm=_Odd())
    part, answers = make_section(run, None, None), all_answers(run, None)
    found = opening(part, answers)
    assert "facts" in found["edited"] and "with push" in found["edited"] and "→" in found["example"]
    titles = ["Did the edit take?", "What else moved?", "What does the edited model write?"]
    assert [title for title, _ in found["findings"]] == titles
    assert all("%" in text and "(push)" in text for _, text in found["findings"])
    count = sum(len(q["answers"]) for q in answers)
    assert f"{count} of {count} scripts (100 %) were cut off at 256 tokens" in found["findings"][2][1]


def test_written_scripts_stand_beside_what_the_probabilities_say(tmp_path: Path) -> None:
    """The gap between the two is one sentence, over the same cases; without written scripts there is none."""
    split = make_cases(12, 0)
    part = make_section(load_run(finished(tmp_path / "a", editors=TWO, split=split, metrics="free-text")), None, None)
    scored, written = (part.scores.means("push", name) for name in ("s_es", "s_es_gen_question"))
    gap = 100 * sum(written[case] - scored[case] for case in scored) / len(scored)
    text = opening(part, [])["findings"][-1][1]
    assert "S-ES-gen (question) (a script written for the question alone names the new object" in text
    assert f"{gap:+.1f} [".replace("-", "\N{MINUS SIGN}") in text and " points (push)" in text
    assert "Against S-ES over the same cases: " in text
    bare = make_section(load_run(finished(tmp_path / "b", editors=TWO, split=split)), None, None)
    assert "Against S-ES" not in "".join(text for _, text in opening(bare, [])["findings"])


class _Loop(ArithmeticLM):
    """Writes the same step until the limit cuts it off, or a stop text ends it."""

    ended = "length"

    def _text(self, probe: Any, prompt: str) -> Answer:
        answer = super()._text(probe, prompt)
        text = "\n".join(f"Step {n}: Fly to Lima and on" for n in range(1, 9))
        return answer.model_copy(
            update={"written": answer.written.model_copy(update={"text": text, "ended": self.ended})}
        )


def test_loops_and_a_program_in_a_judges_place_are_said_first(tmp_path: Path) -> None:
    run = with_texts(tmp_path, ["s_es", "s_ns", *TEXTS], lm=_Loop())
    scripts = [one.script for one in scripts_of_run(run)]
    for judge, program in (("judge:scripted", True), ("judge:gpt-x", False)):
        texts = RatedTexts(tuple(scripts), tuple(rate(scripts, (judge,))))
        ((part,), _) = make_sections([run], None, texts)
        last = opening(part, all_answers(run, texts))["findings"][-1][1]
        assert ("a program that answers by rules and no language model" in last) == program
        assert any("put in a judge's place" in line for line in caveats(part)) == program
        count = len(scripts)
        assert f"{count} of {count} scripts (100 %) were cut off at 256 tokens, {count} of them in a loop." in last


def test_texts_that_were_stopped_and_texts_of_control_methods_are_counted_apart(tmp_path: Path) -> None:
    lm = _Loop()
    lm.ended = "stop"
    run = with_texts(tmp_path, ["s_es", *TEXTS], lm=lm, generation={"stop": ["Step 10"]})
    part, answers = make_section(run, None, None), all_answers(run, None)
    count = sum(len(q["answers"]) for q in answers)
    sentence = "{0} scripts (0 %) were cut off at 256 tokens; {0} ended at a stop text."
    assert f"0 of {sentence.format(count)}" in opening(part, answers)["findings"][-1][1]
    (table, *others) = part.tables
    rows = tuple(row if row.baseline else row._replace(editor="boost") for row in table.rows)
    null = part._replace(tables=[table._replace(rows=rows), *others])
    assert f"0 of {sentence.format(count // 2)}" in opening(null, answers)["findings"][-1][1]


@pytest.mark.parametrize(
    ("order", "caveat", "set_up"),
    [
        ("drawn", "used, in an order drawn from the split's digest.", "Cases in an order drawn from"),
        ("scripts_first", "used, in this order: cases with scripts before", "Cases in this order: cases with scripts"),
    ],
)
def test_the_order_of_the_cases_is_the_run_s_own(tmp_path, order, caveat, set_up):
    regime = {"name": "sequential", "size": [1, 2], "order": order}
    out = finished(tmp_path, editors=TWO, split=make_cases(4, 0), regime=regime, limit=2)
    _, reader = read(write_report([out]).files[0])
    text = " ".join("".join(reader.text).split())
    assert f"2 of the split's 4 cases were {caveat}" in text and set_up in text


two = two_runs.two


@pytest.fixture(scope="module")
def sequence(tmp_path_factory):
    out = tmp_path_factory.mktemp("sequence")
    regime = {"name": "sequential", "size": [1, 2, 5], "score": "both"}
    lm = ArithmeticLM(name="other", revision="2")
    return finished(out, editors=TWO, split=make_cases(5, 0), regime=regime, lm=lm)


def test_runs_of_other_models_and_in_other_regimes_are_told_apart(two, sequence, tmp_path):
    files = write_report([two, sequence], out=tmp_path).files
    _, reader = read(files[0])
    assert {row["part"] for row in csv.DictReader(files[1].open())} == {"1", "2"}
    text = " ".join("".join(reader.text).split())
    assert "2 parts that cannot be compared" in text and "regime: part 1 single, part 2 sequential" in text
    assert "Part 1: arithmetic" in text and "Part 2: other" in text
    assert "edits stay in the model, one after the other" in text
    assert "they are not independent" in text
    assert reader.stack == [] and all(t[1:] in reader.ids for t in reader.targets)


def test_generated_texts_fill_the_ladder_and_the_text_level(tmp_path):
    metrics = [
        *METRICS,
        "s_es_gen",
        "s_es_gen_question",
        "script_format",
        "repetition_rate",
        "n_gram_entropy",
        "collapse",
    ]
    split = make_cases(5, 1)
    cases = [
        c.model_copy(update={"questions": (ScriptQuestion(key=f"{c.key}/q", fact=c.fact.key, text="How to go?"),)})
        for c in split.cases
    ]
    out = finished(tmp_path, editors=TWO, split=make_split("tiny", cases), metrics=metrics)
    files = write_report([out])
    html, reader = read(files.files[0])
    text = " ".join("".join(reader.text).split())
    labels = ("Which object is named first", "Objects named in the scripts")
    for phrase in ("S-ES-gen", "S-ES compared with the written text", "Generated texts", *labels):
        assert phrase in text, phrase
    assert reader.stack == [] and all(t[1:] in reader.ids for t in reader.targets)
    (row,) = rates(
        [v for v in text_values(load_run(out), "question") if v["method"] == "push"], ["method"], NAMED_FIRST
    )
    figure, interval = cell_text(row[2])
    assert figure in html and interval.replace(", ", ",\N{NO-BREAK SPACE}") in html
