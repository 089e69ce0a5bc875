from __future__ import annotations

import pytest

from evaluation.editors.hypernetwork.training_cases import training_cases
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case


def test_lessons_hold_what_follows_and_what_stays(tiny: LM) -> None:
    (lesson, _) = training_cases(tiny, [make_case("Land01"), make_case("Land02")])
    text = [tiny.tokenizer.decode(x.ids, skip_special_tokens=True) for x in lesson.paraphrases]
    assert text[0] == "The capital of Land01 is Oslo" and text[-1].endswith("(2)?\nStep 1: Fly to Oslo")
    texts = [tiny.tokenizer.decode(x.ids[x.first :]) for x in lesson.locality]
    assert len(lesson.paraphrases) == 5 and [k.strip() for k in texts] == ["Lima", "Lima"]
    with pytest.raises(UserError, match="1 case with a new object: too few"):
        training_cases(tiny, [make_case("Land01")])
