"""Where in a nested record a field stands that could not be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from curation.loaders import load
from curation.loaders.field_paths import explain_field, explain_invalid
from curation.loaders.reading import Row
from schemas.facts import Entity


def record(**change: Any) -> dict[str, Any]:
    edit = {"prompt": "The capital of {} is", "relation_id": "P36", "subject": "Peru"}
    edit |= {"target_true": {"str": "Lima"}, "target_new": {"str": "Oslo"}}
    full_record = {"case_id": 1, "requested_rewrite": edit, "paraphrase_prompts": [], "neighborhood_prompts": []}
    for path, value in change.items():
        place, (*outer, last) = full_record, path.split("__")
        for name in outer:
            place = place[name]  # type: ignore[assignment]
        place[last] = value
        if value is ...:
            del place[last]
    return full_record


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"requested_rewrite__target_new": {"id": "Q1"}}, "the field 'requested_rewrite.target_new.str' is missing"),
        ({"requested_rewrite__relation_id": ...}, "the field 'requested_rewrite.relation_id' is missing"),
        (
            {"requested_rewrite__target_true__str": 5},
            "the field 'requested_rewrite.target_true.str' must be a text with something in it, "
            'it is a number: write "5"',
        ),
        (
            {"requested_rewrite__target_new": None},
            "the field 'requested_rewrite.target_new' is null, which cannot be read here",
        ),
        (
            {"requested_rewrite__target_new": ["Oslo"]},
            "the field 'requested_rewrite.target_new' is a list, which cannot be read here",
        ),
        (
            {"neighborhood_prompts": ["The capital of Chad is", {"prompt": "x"}]},
            "the field 'neighborhood_prompts[1]' must be a text, it is an object",
        ),
    ],
)
def test_the_whole_path_is_named(tmp_path: Path, change: dict[str, Any], text: str) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps([record(), record(case_id=2, **change)], indent=0))
    import_result = load(path, "counterfact")
    assert [(p.kind, p.what) for p in import_result.problems] == [("malformed", text)]
    assert [f.key for f in import_result.facts] == ["counterfact/1"]


@pytest.mark.parametrize("error", [TypeError("a date is needed"), ValueError("so"), KeyError("b"), IndexError("x")])
def test_what_reading_again_does_not_show_is_told_as_it_was(error: Exception) -> None:
    text = "the field 'b' is missing" if isinstance(error, KeyError) else str(error)
    assert explain_field(error, Row("f", {"a": 1}), lambda row: [row.data["a"]]) == text, "the second reading is fine"

    def other(row: Row) -> list[object]:
        raise RuntimeError(row.data["a"])

    assert explain_field(error, Row("f", {"a": 1}), other) == text, "the second reading fails otherwise"


def test_a_text_for_people_stays() -> None:
    def make(row: Row) -> list[object]:
        raise TypeError(f"the year of {row.data['a']} is none")

    assert explain_field(TypeError("the year of 1 is none"), Row("f", {"a": 1}), make) == "the year of 1 is none"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"old": 1969}, "the field 'old' must be a text with something in it, it is a number: write \"1969\""),
        ({"new": ["Oslo"]}, "the field 'new' must be a text with something in it, it is a list"),
        ({"relation": ""}, "the field 'relation' must be a text with something in it, it is empty"),
        ({"subject": {"text": ["Peru"]}}, "subject.text: Input should be a valid string"),
        ({"subject": {"text": "Peru", "aliases": "x"}}, "subject.aliases: Input should be a list"),
        ({"relation": {"id": ["P36"]}}, "relation.id: Input should be a valid string"),
        ({"source": {"name": {"a": 1}, "licence": "CC0"}}, "source.name: Input should be a valid string"),
        ({"paraphrases": {"a": 1}}, "paraphrases: Input should be a list"),
        ({"subject": "  "}, "the field 'subject' must be a text with something in it, it is empty"),
        ({"new": {"text": "Oslo", "alias": "x"}}, "new.alias: unknown field"),
    ],
)
def test_a_part_of_the_wrong_type_is_named_by_its_path(tmp_path: Path, change: dict[str, Any], text: str) -> None:
    good = {"subject": "Chile", "relation": "P36", "prompt": "The capital of {} is", "old": "Santiago", "new": "Oslo"}
    (path := tmp_path / "f.jsonl").write_text(
        f"{json.dumps(good)}\n{json.dumps({**good, 'subject': 'Peru'} | change)}\n"
    )
    import_result = load(path)
    assert [(p.kind, p.what) for p in import_result.problems] == [
        ("malformed" if text.startswith("the field") else "invalid", text)
    ] and len(import_result.facts) == 1


def test_a_part_with_a_fault_of_its_own_is_not_taken_for_the_last_one() -> None:
    """The id is taken after the text: it is the text that is wrong, so the id is not named."""

    def make(row: Row) -> list[object]:
        return [Entity(text=row.data["text"], wikidata=row.data["id"])]

    with pytest.raises(ValidationError) as error:
        make(row := Row("f", {"text": " Oslo", "id": "Q1"}))
    assert explain_invalid(error.value, row, make) == "text: must not begin or end with white space"
