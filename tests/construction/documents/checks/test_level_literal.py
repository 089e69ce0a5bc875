from __future__ import annotations

import pytest

from construction.documents.checks.base import ProbeInputs
from construction.documents.checks.level_literal import LevelLiteral
from tests.support.documents.records import make_document, make_probe


@pytest.mark.parametrize(
    ("query", "answer", "level", "label"),
    [
        ("The Orla Bridge opened in ___.", "1931", 1, "keep"),
        ("the ORLA bridge, opened in ___", "1931", 1, "keep"),  # case and punctuation are folded
        ("The Orla Bridge was opened in ___.", "1931", 1, "unsure"),
        ("The Orla Bridge opened in 1931.", "1931", 1, "unsure"),  # no blank
        ("The Orla Bridge opened in ___.", "1931", 2, "unsure"),
        ("When did the Orla Bridge open?", "1931", 2, "keep"),
        ("What did Ada Brun design?", "the Orla Bridge", 3, "keep"),
    ],
)
def test_level_1_is_literal_and_no_other(query: str, answer: str, level: int, label: str) -> None:
    verdict = LevelLiteral().judge_one(
        ProbeInputs(document=make_document(), probe=make_probe(query, answer, level=level))
    )
    assert (verdict.label, verdict.by) == (label, "level_literal@1")


def test_a_probe_without_a_level_is_not_judged() -> None:
    assert not LevelLiteral().applies(ProbeInputs(document=make_document(), probe=make_probe(level=None)))
