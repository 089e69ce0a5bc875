from __future__ import annotations

import pytest

from construction.documents.checks.base import ProbeInputs
from construction.documents.checks.one_blank import OneBlank
from tests.support.documents.records import make_document, make_probe


@pytest.mark.parametrize(
    ("query", "level", "reason"),
    [
        ("The Orla Bridge opened in ___.", 1, None),
        ("When did it open?", 2, None),
        ("The Orla Bridge opened in 1931.", 1, "of level 1, without a blank"),
        ("From ___ to ___.", 2, "2 blanks for one answer"),
    ],
)
def test_one_answer_has_one_blank(query: str, level: int, reason: str | None) -> None:
    verdict = OneBlank().judge_one(ProbeInputs(document=make_document(), probe=make_probe(query, "x", level=level)))
    assert (verdict.label, verdict.reason) == (("drop", reason) if reason else ("keep", ""))
