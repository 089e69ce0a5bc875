from __future__ import annotations

import pytest

from construction.documents.checks.answer_short import AnswerShort
from construction.documents.checks.base import ProbeInputs
from tests.support.documents.records import make_document, make_probe


@pytest.mark.parametrize(
    ("answer", "label", "words"),
    [("1931", "keep", 1), ("a " * 11 + "b", "keep", 12), ("a " * 12 + "b", "drop", 13), ("...", "drop", 0)],
)
def test_an_answer_has_a_word_and_not_too_many(answer: str, label: str, words: int) -> None:
    verdict = AnswerShort().judge_one(ProbeInputs(document=make_document(), probe=make_probe(answer=answer, level=2)))
    assert (verdict.label, verdict.value, verdict.unit) == (label, words, "words")
