from __future__ import annotations

import pytest

from construction.documents.checks.answer_supported import AnswerSupported
from construction.documents.checks.base import ProbeInputs
from tests.support.documents.records import make_document, make_probe


@pytest.mark.parametrize(
    ("answer", "accepted", "label", "value"),
    [
        ("ada brun", (), "keep", 1.0),
        ("Brun, Ada", (), "keep", 1.0),  # its words stand apart
        ("an engineer", ("Ada Brun",), "keep", 1.0),
        ("Ada Stern", (), "unsure", 0.5),
        ("yes", (), "unsure", 0.0),
    ],
)
def test_an_answer_that_is_not_there_needs_a_person(
    answer: str, accepted: tuple[str, ...], label: str, value: float
) -> None:
    probe = make_probe("Who?", answer, level=3, accepted=accepted)
    verdict = AnswerSupported().judge_one(ProbeInputs(document=make_document(), probe=probe))
    assert (verdict.label, verdict.value) == (label, value)
