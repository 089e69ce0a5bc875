from __future__ import annotations

import pytest

from construction.documents.checks.answer_in_query import AnswerInQuery
from construction.documents.checks.base import ProbeInputs
from tests.support.documents.records import make_document, make_probe


@pytest.mark.parametrize(
    ("query", "answer", "accepted", "label"),
    [
        ("Who designed Brun's bridge?", "Ada Brun", (), "keep"),
        ("Who designed Brun's bridge?", "Ada Brun", ("Brun",), "drop"),
        ("Is ROME in Italy or Greece?", "Rome", (), "drop"),
        ("Which country lies by the Romanian sea?", "Roma", (), "keep"),  # in a longer word
    ],
)
def test_an_answer_in_its_query_is_dropped(query: str, answer: str, accepted: tuple[str, ...], label: str) -> None:
    probe = make_probe(query, answer, level=2, accepted=accepted)
    assert AnswerInQuery().judge_one(ProbeInputs(document=make_document(), probe=probe)).label == label
