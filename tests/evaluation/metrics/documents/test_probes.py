from __future__ import annotations

import pytest

from evaluation.editors.in_context.retrieval import said_before
from evaluation.metrics.document_choice import DocumentChoice
from evaluation.metrics.documents.probes import (
    answer_probe,
    cloze_hint,
    prompt_of,
    text_probe,
    written_probe,
)
from schemas.probes import instructed
from tests.support.documents.records import make_document, make_probe

PROBE = make_probe("The Orla Bridge opened in ___, before the war.")


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


def test_a_probe_is_asked_by_the_published_template() -> None:
    asked = answer_probe(PROBE, DocumentChoice())
    assert instructed(asked, None) + asked.separator + asked.targets[0] == (
        "Directly answer the question.\n\nQuestion: The Orla Bridge opened in ___, before the war.\n"
        "Answer: The Orla Bridge opened in 1931"
    )
    assert asked.greedy and asked.targets == ("1931",)


def test_in_context_the_document_stands_between_instruction_and_question() -> None:
    before = said_before(make_document())
    told = instructed(answer_probe(PROBE, DocumentChoice()), lambda prompt: before + prompt)
    assert told.startswith(
        "Directly answer the question.\n\nThe Orla Bridge opened in 1931. Ada Brun designed it.\n\nQuestion: The"
    )


def test_without_hint_and_instruction() -> None:
    choice = DocumentChoice(hint=False, instruction="")
    assert instructed(answer_probe(PROBE, choice), None) == prompt_of(PROBE.query, choice).text
    assert prompt_of(PROBE.query, choice).text.endswith("before the war.\nAnswer:")


def test_a_written_answer_has_the_same_prompt_and_ends_with_its_line() -> None:
    asked, scored = written_probe(PROBE, DocumentChoice(answer_tokens=7)), answer_probe(PROBE, DocumentChoice())
    assert instructed(asked, None) == instructed(scored, None) and asked.stop == ("\n",) and asked.most == 7


def test_a_document_is_asked_after_its_first_word() -> None:
    asked = text_probe(make_document(text="Orla  opened\nin 1931."))
    assert asked is not None and (asked.prompt, asked.separator, asked.targets) == ("Orla", "  ", ("opened\nin 1931.",))
    assert text_probe(make_document(text="Orla")) is None and not asked.greedy and not asked.instruction
