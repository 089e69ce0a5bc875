"""The natural scripts: cut where they say, labelled whole, and the table that the documentation shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.natural import Judged, cuts_table, judged_scripts, questions_table
from construction.scripts.script_step import Draft, script_of
from construction.scripts.truncation import first_cut
from schemas.scripts import MAX_WORDS, ScriptQuestion, words

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def judged() -> list[Judged]:
    return list(judged_scripts())


def test_there_are_as_many_as_the_issue_asks_for(judged: list[Judged]) -> None:
    kinds = [one.script.kind for one in judged]
    assert len({one.script.key for one in judged}) == len(judged) >= 300
    assert kinds.count("edit") >= 200 and kinds.count("neighbour") >= 100
    assert len({one.fact.relation.id for one in judged}) >= 20


def test_the_rule_cuts_where_the_author_names_the_object(judged: list[Judged]) -> None:
    for one in judged:
        if any(words(step) > MAX_WORDS for step in one.script.steps):
            continue
        question = ScriptQuestion(key="q", fact=one.fact.key, text=one.script.question)
        script = script_of(question, Draft(one.script.steps))
        cut = first_cut(question.text, script.steps, one.fact)
        assert cut is not None and cut.text == one.prompt.text, one.script.key


def test_the_results_show_the_tables(judged: list[Judged]) -> None:
    page = (Path(__file__).parents[2] / "benchmarks/results/tables/leaks.md").read_text(encoding="utf-8")
    assert questions_table(judged) in page and cuts_table(judged) in page, "python -m benchmarks.natural"
