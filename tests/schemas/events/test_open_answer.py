from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.events.open_answer import OpenAnswer

FIELDS = {
    "key": "a/1", "case": "case/e", "event": "e", "question": "e/t", "model": "m@1", "editor": "ice", "edited": True,
    "text": "Prices rise.",
}  # fmt: skip


def test_an_answer_keeps_what_was_written_word_for_word() -> None:
    answer = OpenAnswer.model_validate({**FIELDS, "text": "  \n(A)\x00"})
    assert OpenAnswer.model_validate_json(answer.model_dump_json()) == answer and answer.text == "  \n(A)\x00"
    assert OpenAnswer.model_validate({**FIELDS, "text": ""}).id != answer.id


@pytest.mark.parametrize("change", [{"sample": -1}, {"question": "two words"}, {"steps": ["Go"]}])
def test_answers_that_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        OpenAnswer.model_validate({**FIELDS, **change})
