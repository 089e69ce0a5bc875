"""A run folder that another process writes into, and results with odd numbers."""

from __future__ import annotations

import pytest

from curation.files.journal import Journal
from schemas.core.errors import UserError
from schemas.runs import CaseResult
from tests.support.arithmetic import go


def test_two_writers_are_refused(tmp_path):
    outcomes, _ = go(tmp_path, limit=2)
    with Journal(outcomes["push"].folder.journal, write=True), pytest.raises(UserError, match="another process"):
        go(tmp_path)


def test_results_survive_odd_numbers(tmp_path):
    result = CaseResult(run="r", case="c", notes={"loss": float("nan")})
    with Journal(tmp_path / "j", write=True) as journal:
        journal.append("c", result.model_dump(mode="json"))
        back = CaseResult.model_validate(journal["c"])
    assert str(back.notes["loss"]).lower() == "nan"
