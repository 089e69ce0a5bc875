from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.cases import DocumentCase
from schemas.core.records import stored_text
from schemas.documents.document import contains_words, holds_answer, is_literal, plain_words
from tests.support.documents.records import make_document, make_probe


@pytest.mark.parametrize(
    ("query", "answer", "level", "literal"),
    [
        ("The Orla Bridge opened in ___.", "1931", 1, True),
        ("the orla-bridge opened in ____", "1931", 1, True),
        ("Bridge opened in ___", "1931", 1, True),
        ("The Orla Bridge closed in ___.", "1931", 1, False),
        ("The Orla Bridge opened in ___.", "193", 1, False),
        ("In ___ the ___ opened", "1931", 1, False),
        ("When did it open?", "1931", 2, False),
    ],
)
def test_literal_is_word_for_word_case_and_punctuation_aside(
    query: str, answer: str, level: int, literal: bool
) -> None:
    assert is_literal(make_probe(query, answer, level=level), make_document()) is literal


def test_blanks_are_counted_and_one_is_filled() -> None:
    assert [make_probe(q).blanks for q in ("Who?", "In ___", "In ____!", "___ to ___", "a__b")] == [0, 1, 1, 2, 0]
    assert make_probe(r"In ___ it opened", r"\1").filled == r"In \1 it opened"
    assert make_probe("___ to ___").filled is None and make_probe("Who?").filled is None


@pytest.mark.parametrize(
    ("query", "answer", "holding"),
    [
        ("Is Oman hot?", "OMAN", True),
        ("Is Romania hot?", "Oman", True),
        ("Is it hot?", "Oman", False),
        ("Is it hot?", "+", False),
    ],
)
def test_a_query_that_holds_its_answer(query: str, answer: str, holding: bool) -> None:
    assert holds_answer(make_probe(query, answer, level=2)) is holding


def test_words_are_folded_and_whole() -> None:
    assert plain_words("  Çırağan's_Palace! ") == plain_words("cırağan s palace")
    assert contains_words("a b c", "B c") and not contains_words("ab c", "b c")


@pytest.mark.parametrize("level", [0, 4, "1.5"])
def test_another_level_is_refused(level: object) -> None:
    with pytest.raises(ValidationError):
        make_probe(level=level)  # type: ignore[arg-type]


@pytest.mark.parametrize("fields", [{"answer": " "}, {"query": ""}, {"tags": ("weather",)}, {"tags": ("time", "time")}])
def test_a_probe_without_an_answer_or_with_an_odd_tag_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        make_probe(**{"query": "Who?", "answer": "Ada", **fields})  # type: ignore[arg-type]


def test_an_empty_document_is_refused() -> None:
    with pytest.raises(ValidationError, match="must not be empty"):
        make_document(text="")


def test_all_answers_and_names() -> None:
    assert make_probe(accepted=("'31",)).answers == ("1931", "'31")
    assert make_document().names == ("Orla Bridge",) and make_document(entity=None).names == ()
    assert make_document().statement == make_document().text


def test_further_names_are_names_and_leave_no_trace_where_there_are_none() -> None:
    """Documents without them keep the id that they had before the field was there."""
    plain, named = make_document(), make_document(further_names=("Ada Brun", "A. Brun"))
    assert named.names == ("Orla Bridge", "Ada Brun", "A. Brun")
    assert make_document(entity=None, further_names=("Ada Brun",)).names == ("Ada Brun",)
    assert plain.id == "07d4818897a1c2344a97" != named.id and "further_names" not in plain.payload()
    case = DocumentCase(key="case/1", document=named, probes=(make_probe(),))
    assert DocumentCase.model_validate_json(stored_text(case)) == case
    assert DocumentCase.model_validate(case.payload()).document.id == named.id
    with pytest.raises(ValidationError, match="must not be empty"):
        make_document(further_names=("",))
