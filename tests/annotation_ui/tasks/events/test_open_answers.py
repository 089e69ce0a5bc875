from __future__ import annotations

import pytest

from annotation_ui.tasks.open_answers import answered_questions
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.support.events import event_case
from tests.support.open_answer_records import open_answers


def test_answers_by_scope_without_refusals(events: Store) -> None:
    events.put([event_case(), *open_answers()])
    assert [a.key for a, _, _ in answered_questions(events, "in")] == ["ice/price", "none/price"]
    assert [a.key for a, _, _ in answered_questions(events, "out")] == ["bm25/rain", "ice/rain", "none/rain"]
    assert {q.scope for _, _, q in answered_questions(events, "out")} == {"out"}


def test_an_answer_whose_question_is_away_is_refused(events: Store) -> None:
    events.put(open_answers())
    with pytest.raises(UserError, match="is not in the store; put a run's open answers"):
        list(answered_questions(events, "in"))
