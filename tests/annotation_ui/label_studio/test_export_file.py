"""Exports of Label Studio: what is none is refused in one sentence, and one odd annotation keeps no other back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from annotation_ui.campaigns.campaign import make_task
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.label_studio.client import read_export
from annotation_ui.label_studio.validation import task_data
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.core.errors import UserError
from tests.annotation_ui.cli.conftest import call
from tests.annotation_ui.conftest import begin
from tests.support.app.label_studio_results import build_result


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        ("[" * 100_000 + "]" * 100_000, "not readable as JSON"),
        ('[{"annotations": [', "not readable as JSON"),
        ('[{"choice": "yes"}]', "no list of tasks with annotations"),
    ],
    ids=["none", "deep", "cut", "min"],
)
def test_exports_that_are_none_are_refused(tmp_path: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "e.json").write_text(content)
    with pytest.raises(UserError, match=message):
        read_export(tmp_path / "e.json")


def test_odd_comparisons_and_marks_in_an_export_are_refused_one_by_one(
    db: RatingsDB, store: Store, tmp_path: Path
) -> None:
    """Pairs with marked words, among them the same script twice; each answer is odd in its own way but two."""
    task, twice = make_task("compare_executability", spans=True), {"first": "Step 1: Go", "second": "Step 1: Go"}
    known = RaterControlItem(purpose="attention", id="k", shown=twice, expected={"executability": "tie"})
    begin(db, store, "pairs", "compare_executability", "ann", spans=True, known=[known])
    items = [p.item for p in db.items("pairs").values()]
    items.sort(key=lambda item: item.case != "known/k")
    tie, first = ({"executability": a} for a in ("tie", "first"))
    text = items[2].shown["second"]
    value = {"start": 0, "end": 4, "labels": ["fail"], "text": text[:4]}
    region = {"from_name": "marked_in_second", "to_name": "shown_second", "type": "labels", "value": value}
    odd = [
        ({"choices": ["first", "second"]}, [], "'executability' is ['first', 'second']"),
        ({"choices": ["both"]}, [], "allowed: first, second, tie, cannot_judge"),
        ({"choices": [{"first": 1}]}, [], "allowed: first, second, tie, cannot_judge"),
        ({"choices": ["first"]}, [region | {"to_name": "shown_first"}], "was set in another text"),
        ({"choices": ["first"]}, [region | {"from_name": "marked_in_third"}], "unknown control 'marked_in_third'"),
    ]
    results = [build_result(tie, task.form), [*build_result(first, task.form), region]]
    results += [
        [{"from_name": "executability", "to_name": "shown_second", "value": choice}, *more] for choice, more, _ in odd
    ]
    value["text"] = items[1].shown["second"][:4]
    export = [
        {"id": n, "data": task_data(item, task.form), "annotations": [{
            "id": n, "completed_by": 7, "result": result, "updated_at": "2026-01-01T00:00:00Z", "lead_time": 4,
        }]} for n, (item, result) in enumerate(zip(items, results, strict=False))
    ]  # fmt: skip
    export += [
        {"id": 90 + n, "data": data, "annotations": [{"id": 90 + n, "completed_by": 7, "result": results[0]}]}
        for n, data in enumerate([{"first": "a"}, {"scedit_item": items[0].id}, None, ["first", "second"]])
    ]
    path, report = tmp_path / "export.json", tmp_path / "refused.jsonl"
    path.write_text(json.dumps(export), encoding="utf-8")
    words = ("label-studio", "pull", "pairs", "-r", db.path, "--export", path, "--account", "7=ann", "--report", report)
    assert call(*words).exit_code == 1
    rows = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == len(odd) + 4 and len(db.current_answers("pairs")) == 2
    for _, _, message in odd:
        assert any(message in row["why"] for row in rows), message
    store.close()
    strengths = json.loads(call("strengths", "pairs", "-r", db.path, "-s", store.path, "--json").stdout)
    assert "executability" in strengths, "an item with a known answer compares no methods"
