"""Exports of Label Studio: what is none is refused in one sentence, and one odd task keeps no other back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation_ui.label_studio.client import annotations_of_task
from annotation_ui.label_studio.export_file import read_export
from schemas.core.errors import DataError, UserError

TASK: dict[str, Any] = {"id": 1, "data": {"text": 'a "[quoted]", {text} \\ '}, "annotations": []}
DEEP = "[" * 100_000 + "]" * 100_000
LONG = "9" * 5000


def test_exports_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        read_export(tmp_path / "none.json")
    (tmp_path / "cut.json").write_text('[{"annotations": [')
    with pytest.raises(DataError, match="not readable as JSON"):
        read_export(tmp_path / "cut.json")
    (tmp_path / "min.json").write_text('[{"choice": "yes"}]')
    with pytest.raises(DataError, match="no list of tasks with annotations"):
        read_export(tmp_path / "min.json")


@pytest.mark.parametrize("value", [DEEP, LONG, f'{{"a": {LONG}}}', f"-{LONG}"], ids=["deep", "long", "in", "minus"])
def test_a_task_that_python_does_not_read_keeps_no_other_back(tmp_path: Path, value: str) -> None:
    odd = '{"id": 2, "data": {"text": "] , ["}, "annotations": [{"id": 1, "result": VALUE}]}'.replace("VALUE", value)
    path = tmp_path / "odd.json"
    path.write_text(f"[{json.dumps(TASK)},\n {odd} , {json.dumps(TASK)}]\n")
    assert read_export(path) == [TASK, None, TASK]
    (fault,) = annotations_of_task(None, {}, None)
    assert fault.broken == "it is no task that can be read: an object with annotations is expected"


@pytest.mark.parametrize(
    "text", [f"[{LONG}]", f"[{{}}, {LONG}", f"[{DEEP}, {{]", f"{DEEP} x", LONG, DEEP], ids=lambda text: text[:5]
)
def test_a_file_without_a_task_that_can_be_read_is_refused_in_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(DataError, match="not readable as JSON") as error:
        read_export(tmp_path / "x.json")
    assert len(str(error.value)) < 400
