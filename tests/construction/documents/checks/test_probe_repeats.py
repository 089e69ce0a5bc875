from __future__ import annotations

import pytest

from construction.documents.checks.base import ProbeInputs
from construction.documents.checks.probe_repeats import ProbeRepeats
from tests.support.documents.records import make_document, make_probe

FIRST = make_probe("When did the old Orla Bridge near Rovo open at last?", "1931", level=2)


@pytest.mark.parametrize(
    ("query", "answer", "label", "value"),
    [
        ("When did the old Orla bridge near Rovo open, at last?", "1931.", "drop", 1.0),
        ("When did the old Orla Bridge near Rovo open at last?", "May", "keep", 0.0),  # another answer
        ("In which year was it inaugurated?", "1931", "keep", 0.0),
        ("When did the new Orla Bridge near Rovo close at last?", "1931", "keep", 18 / 22),
    ],
)
def test_one_answer_asked_for_in_the_same_words_is_one_probe(query: str, answer: str, label: str, value: float) -> None:
    inputs = ProbeInputs(document=make_document(), probe=make_probe(query, answer, level=2), earlier=(FIRST,))
    verdict = ProbeRepeats().judge_one(inputs)
    assert (verdict.label, verdict.value) == (label, pytest.approx(value, abs=1e-6))


def test_the_first_probe_repeats_nothing() -> None:
    assert ProbeRepeats().judge_one(ProbeInputs(document=make_document(), probe=FIRST)).label == "keep"
