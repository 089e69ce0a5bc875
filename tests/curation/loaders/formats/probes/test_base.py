"""Edits whose subject cannot be told from the prompt, odd answers, and what stands where a query belongs."""

from __future__ import annotations

import pytest

from curation.loaders.formats.probes.base import GivenEdit, flat_strings, query_of


@pytest.mark.parametrize(
    ("subject", "prompt", "gapped"),
    [
        ("Chad", "The capital of Chad is", "The capital of {} is"),
        ("davey crocket", "What did Davey Crocket call his rifle", "What did {} call his rifle"),
        ("A+", "Is A+ better than A+?", "Is {} better than A+?"),
        ("US", "The industry of the US is", "The industry of the {} is"),
        ("Al", "Alps near Al are", "Alps near {} are"),
        ("us", "The US gave us", "The US gave {}"),
        ("it", "Its author It is", "Its author {} is"),
        ("O'Neil", "What is O'Neil's team?", "What is {}'s team?"),
        ("東京", "東京の市長は", "{}の市長は"),
    ],
)
def test_the_first_mention_of_the_subject_is_the_gap(subject: str, prompt: str, gapped: str) -> None:
    statement = GivenEdit(subject, prompt, "x").statement
    assert statement is not None and statement.prompt == gapped
    assert statement.text == f"{prompt} x."


@pytest.mark.parametrize(
    ("subject", "prompt"),
    [("Peru", "The capital of Chad is"), ("Chad", "In {Chad} lies"), ("US", "The industry of Chad is")],
)
def test_no_statement_where_methods_for_facts_could_not_edit_it(subject: str, prompt: str) -> None:
    assert GivenEdit(subject, prompt, "x").statement is None


def test_answers_however_they_are_nested() -> None:
    told = [["Berlin", "Berlin, Germany"], {"value": "no", "aliases": ["not", ""]}, None, 1994, True, []]
    assert list(flat_strings(told)) == ["Berlin", "Berlin, Germany", "no", "not", "1994"]


def test_a_query_is_a_question_or_a_cloze() -> None:
    assert query_of("Who?") == "Who?" and query_of("name 5 aircraft", question=True) == "name 5 aircraft"
    assert query_of("The sky is") == "The sky is ___" and query_of("The ___ is blue") == "The ___ is blue"
