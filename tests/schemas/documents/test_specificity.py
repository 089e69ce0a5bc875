from __future__ import annotations

import pytest
from pydantic import ValidationError

from schemas.documents.specificity import SpecificitySet
from tests.support.facts import SOURCE

ASKED = {"item": "q1", "query": "Who?", "answer": "Ada", "nll": 0.5, "ppl": 1.6}


def made(*questions: dict[str, object]) -> SpecificitySet:
    return SpecificitySet.model_validate({"key": "s", "model": "m", "questions": questions, "source": SOURCE})


def test_a_set_is_of_one_model_and_its_content_is_its_identity() -> None:
    assert made(ASKED).id != made({**ASKED, "answer": "Bo"}).id and made(ASKED).revision is None


@pytest.mark.parametrize(
    ("questions", "message"),
    [((), "at least 1"), ((ASKED, ASKED), "'q1' is there twice"), (({**ASKED, "ppl": 0.5},), "greater than or equal")],
)
def test_what_is_no_set_is_refused(questions: tuple[dict[str, object], ...], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        made(*questions)
