from __future__ import annotations

import pytest

from evaluation.judge.prompt_files import JudgePromptFile, load_prompt_file, profiles
from schemas.core.errors import UserError
from tests.support.evaluation.judged import step


def test_profiles_and_wordings():
    assert profiles() == ["embedded", "evidence", "paper"]
    with pytest.raises(UserError, match="did you mean 'paper'"):
        load_prompt_file("coherence", "papr")
    fields = load_prompt_file("executability", "paper").model_dump()
    with pytest.raises(ValueError, match="sees exactly"):
        JudgePromptFile.model_validate({**fields, "user": "Question: {question}\n{text}"})
    assert (step().label, step().rater) == ("judge_coherence_paper@2", "judge:gpt-x")
    assert step(profile="evidence").rater == "judge:gpt-x+evidence"
    assert load_prompt_file("coherence", "embedded").quality == "plumbing"
