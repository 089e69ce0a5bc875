from __future__ import annotations

from pathlib import Path
from typing import Any

from schemas.extras import Extra
from tests.support.curation.published_records import kinds, of, one

KNOWN: dict[str, Any] = {
    "known_id": 7,
    "subject": "Vinson Massif",
    "attribute": "Antarctica",
    "template": "{} is located in the continent",
    "prediction": " of Antarctica.",
    "prompt": "Vinson Massif is located in the continent of",
    "relation_id": "P30",
}


def test_the_prompt_before_the_object_is_the_fact_prompt(tmp_path: Path) -> None:
    import_result = one(tmp_path, KNOWN, format="known-1000")
    (fact,) = import_result.facts
    assert (fact.key, fact.prompt) == ("known-1000/7", "{} is located in the continent of")
    assert (fact.old.text, fact.new, fact.change) == ("Antarctica", None, "none")
    (extra,) = of(import_result, Extra)
    assert extra.value == {"template": KNOWN["template"], "prediction": KNOWN["prediction"]}
    assert kinds(import_result) == ["suspect"] and "lacks words" in import_result.problems[0].what


def test_a_template_that_is_the_prompt_is_no_problem(tmp_path: Path) -> None:
    full_record = {**KNOWN, "template": "{} is located in the continent of"}
    assert kinds(one(tmp_path, full_record, format="known-1000")) == []


def test_records_that_lack_something_are_left_out(tmp_path: Path) -> None:
    strange = {**KNOWN, "known_id": 8, "subject": "Mont Blanc"}
    empty = {**KNOWN, "known_id": 9, "attribute": ""}
    import_result = one(tmp_path, KNOWN, strange, empty, format="known-1000")
    assert [f.key for f in import_result.facts] == ["known-1000/7"]
    assert sum(p.lost for p in import_result.problems) == 2
