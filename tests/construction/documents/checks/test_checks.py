from __future__ import annotations

import pytest

from construction.documents.checks import PROBE_CHECKS, ProbeInputs, judge_probe
from tests.support.documents.records import make_document, make_probe

INPUTS = ProbeInputs(document=make_document(), probe=make_probe())


def test_the_checks_that_apply_in_their_order() -> None:
    assert [v.check for v in judge_probe(INPUTS)] == [n for n in PROBE_CHECKS.names() if n != "tag_known"]
    assert {v.label for v in judge_probe(INPUTS)} == {"keep"}


@pytest.mark.parametrize("name", PROBE_CHECKS.names())
def test_a_check_is_pure_and_its_verdict_survives_json(name: str) -> None:
    check = PROBE_CHECKS.get(name)()
    verdict = check.judge_one(INPUTS)
    assert verdict == check.judge_one(INPUTS) == type(verdict).model_validate_json(verdict.model_dump_json())
