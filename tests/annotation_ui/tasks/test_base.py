"""What every task keeps to, and how answers become verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.tasks import TASKS
from annotation_ui.tasks.base import TaskItem
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.verdicts import Verdict

ITEM = TaskItem(id="a" * 20, case="c/1", shown={})
YES = {"meaningful": "yes", "depends": "yes", "changes": "yes", "guides": "yes"}


def verdicts(answers: dict[str, Any], *, person: str = "ann") -> dict[str, Verdict]:
    records = FilterQuestion().records(ITEM, answers, person=person)
    return {v.check: v for v in records if isinstance(v, Verdict)}


ABOUT_EVENTS = (
    *("answer_tendency", "judge_tendency", "review_scope", "review_paraphrase"),
    *("rate_answer", "rate_answer_pair"),
)
"""They keep to the same in ``events/test_event_items.py``, on a store of events."""
ABOUT_DOCUMENTS = ("curate_probe", "review_level")
"""They keep to the same in ``documents``, on a store of documents."""


@pytest.mark.parametrize(
    "name", [n for n in TASKS.names() if n not in ("verify_leak", "screen_question", *ABOUT_EVENTS, *ABOUT_DOCUMENTS)]
)
def test_every_task_shows_what_its_form_shows_and_no_more(name: str, store: Store) -> None:
    task = make_task(name)
    items = list(task.items(store))
    assert items == list(task.items(store))
    assert len(items) == (12 if task.level == "ordinal" else 6 if name.startswith("compare") else 24)
    for item in items:
        needed = {s.name for s in task.form.shows if not s.optional}
        assert needed <= set(item.shown) <= {s.name for s in task.form.shows}
        good = {f.name: 4 if f.kind == "scale" else f.allowed[0] for f in task.form.asked_fields()}
        records = task.records(item, good, person="ann")
        assert {r.item_id for r in records} <= set(task.judged(item))  # type: ignore[attr-defined]
        assert len({r.key for r in records}) == len(records)


def test_three_times_yes_keeps_and_each_yes_is_a_measurement() -> None:
    records = verdicts(YES)
    assert list(records) == [
        "filter_question", "filter_question_meaningful", "filter_question_depends", "filter_question_changes",
        "filter_question_guides",
    ]  # fmt: skip
    assert (records["filter_question"].label, records["filter_question"].reason) == ("keep", "")
    assert [v.value for v in records.values()] == [None, 1.0, 1.0, 1.0, 1.0]
    assert all(v.item_id == ITEM.id and v.by == f"person:ann/{check}@3" for check, v in records.items())


def test_one_no_drops_and_the_reason_names_question_reasons_and_comment_in_that_order() -> None:
    answers = {**YES, "guides": "no", "changes": "no", "reasons": ["duplicate", "other"], "comment": "it; repeats"}
    records = verdicts(answers)
    assert records["filter_question"].label == "drop"
    assert records["filter_question"].reason == "changes, guides, duplicate, other; it; repeats"
    assert records["filter_question_guides"].value == 0.0
    assert records["filter_question_meaningful"].value == 1.0


def test_a_comment_on_a_kept_item_is_not_lost() -> None:
    assert verdicts({**YES, "comment": "fine"})["filter_question"].reason == "fine"


def test_answers_that_do_not_pass_name_item_form_and_how_many_faults() -> None:
    with pytest.raises(DataError) as error:
        FilterQuestion().records(ITEM, {"meaningful": "yes", "zeal": 1}, person="ann")
    assert error.value.what == "unknown field 'zeal' (and 3 more faults)"
    assert ITEM.id in str(error.value.where) and "filter_question@3" in str(error.value.where)
    with pytest.raises(DataError) as error:
        FilterQuestion().records(ITEM, {**YES, "guides": "perhaps"}, person="ann")
    assert "more faults" not in error.value.what


def test_what_is_kept_is_tidied_first() -> None:
    tidy = FilterQuestion().checked(ITEM, {"comment": " why \n", **YES, "reasons": []})
    assert tidy == {**YES, "comment": "why"} and list(tidy)[-1] == "comment"
