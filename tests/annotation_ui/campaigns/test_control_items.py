"""Control items stand among the others and cannot be told from them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.campaigns.control_items import RaterControlItem, read_control_items
from annotation_ui.label_studio.validation import task_data
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.core.errors import DataError
from tests.annotation_ui.conftest import begin


@pytest.mark.parametrize("task", ["rate_executability", "rate_script", "quality", "filter_question"])
def test_nothing_in_a_task_s_data_tells_a_control_item(db: RatingsDB, store: Store, task: str) -> None:
    form = make_task(task)
    values = {s.name: "a text" for s in form.form.shows if not s.optional} | {"hint": "attention"}
    items = [RaterControlItem(purpose=p, id=f"{p}-1", shown=values, expected={}) for p in ("training", "attention")]
    begin(db, store, "c", task, "ann", known=items)
    data = {i: task_data(p.item, form.form) for i, p in db.items("c").items()}
    assert len({tuple(d) for d in data.values()}) == 1, "the same columns in the same order"
    assert all(re.fullmatch(r"[0-9a-f]{20}", d["scedit_item"]) for d in data.values())
    assert not any("attention" in str(d) or "training" in str(d) for d in data.values())
    purposes = [db.items("c")[a.item].purpose for a in db.assignments("c", "ann")]
    assert purposes.count("attention") == 1 and purposes[0] == "training"


@pytest.mark.parametrize(
    ("task", "change", "message"),
    [
        ("compare_executability", {"shown": {"first": "Step 1: Go", "second": " \n"}}, "nothing is shown as 'second'"),
        ("compare_executability", {"shown": {"first": "Step 1: Go"}}, "nothing is shown as 'second'"),
        ("compare_executability", {"expected": {"executability": "both"}}, "allowed: first, second, tie, cannot_judge"),
        ("compare_executability", {"expected": {"executability": ["tie"]}}, "allowed: first, second, tie"),
        ("compare_executability", {"expected": {"coherence": "tie"}}, "the form does not ask 'coherence'"),
        ("rate_executability", {"shown": {"script": ""}}, "nothing is shown as 'script'"),
        ("rate_executability", {"expected": {"executability": 8}}, "allowed: 1 to 7"),
        ("rate_executability", {"tolerance": -1}, "tolerance: .*greater than or equal to 0"),
        ("rate_executability", {"purpose": "real"}, "purpose: .*'training' or 'attention'"),
        ("rate_executability", {"extra": 1}, "unknown field"),
    ],
)
def test_a_line_that_is_no_control_item_is_refused_by_its_number(
    tmp_path: Path, task: str, change: dict[str, Any], message: str
) -> None:
    shown = {"script": "Step 1: Go", "first": "Step 1: Go", "second": "Step 1: Go"}  # the same script twice is a tie
    right = "tie" if task == "compare_executability" else 4
    good = {"purpose": "attention", "id": "a", "shown": shown, "expected": {"executability": right}}
    path = tmp_path / "known.jsonl"
    path.write_text(json.dumps(good) + "\n" + json.dumps(good | change) + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=message) as caught:
        read_control_items(path, make_task(task))
    assert "line 2" in str(caught.value)
