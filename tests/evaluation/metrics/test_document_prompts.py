from __future__ import annotations

import pytest

from evaluation.metrics.generation import DocumentChoice, cloze_hint, prompt_of


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("The Orla Bridge opened in ___.", ("The Orla Bridge opened in", " ")),
        ("It is a ___-drama.", ("It is a", " ")),
        ("It is a comedy-___ series.", ("It is a comedy-", "")),
        ("Hulu calls it '____'.", ("Hulu calls it '", "")),
        ("___ designed it.", ("", " ")),
        ("Is ___ a city?", ("", " ")),
        ("Who designed it?", ("", " ")),
        ("From ___ to ___.", ("From", " ")),
    ],
)
def test_the_hint_is_what_stands_before_the_blank(query: str, hint: tuple[str, str]) -> None:
    assert tuple(cloze_hint(query)) == hint


def test_a_question_has_no_hint_and_a_cloze_only_where_hints_are_given() -> None:
    assert prompt_of("Who designed it?", DocumentChoice()).text == "Question: Who designed it?\nAnswer:"
    phrase, plain = (prompt_of("It opened in ___.", DocumentChoice(hint=hint)).text for hint in (True, False))
    assert phrase == f"{plain} It opened in"
