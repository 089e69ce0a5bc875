"""People say whether two answers agree, and the rating names both."""

from __future__ import annotations

from annotation_ui.campaigns.campaign import make_task
from curation.store.store import Store
from schemas.ratings import Rating
from tests.support.events import event_case
from tests.support.open_answer_records import open_answers

TASK = make_task("rate_answer_pair")


def test_pairs_out_of_scope_that_differ(events: Store) -> None:
    answers = {a.key: a for a in open_answers()}
    events.put([event_case(), *answers.values()])
    (item,) = TASK.items(events)
    assert (item.id, item.related) == (answers["ice/rain"].id, (answers["none/rain"].id,))
    assert (item.shown["before"], item.shown["answer"]) == ("Rain stays.", "Rain grows.")
    (rating,) = TASK.records(item, {"consistency": 1}, person="ann")
    assert isinstance(rating, Rating) and (rating.rubric, rating.value) == ("consistency", 1)
    assert (rating.item_id, rating.before_id) == (item.id, *item.related)
