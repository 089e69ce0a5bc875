from __future__ import annotations

from pathlib import Path

from schemas.extras import Extra
from tests.support.curation.published_records import kinds, of, one

EDIT = {
    "prompt": "{} was performed by", "relation_id": "P175", "target_new": {"str": "Madonna", "id": "Q1744"},
    "target_true": {"str": "The Beatles", "id": "Q1299"}, "subject": "Hey Jude", "question": "Who performed Hey Jude?",
}  # fmt: skip


def test_mquake_keeps_an_edit_once_and_the_case_whole(tmp_path: Path) -> None:
    first = {"case_id": 1, "requested_rewrite": [EDIT, {**EDIT, "subject": "Yesterday"}], "answer": "x"}
    clash = {**EDIT, "target_new": {"str": "Sony", "id": "Q41187"}}
    import_result = one(tmp_path, first, {"case_id": 2, "requested_rewrite": [EDIT, clash]}, {**first, "answer": "y"})
    assert import_result.format == "mquake" and len(import_result.facts) == 3
    extras = of(import_result, Extra)
    assert extras[0].value == first
    assert [extras[0].subject_key, *extras[0].depends_on] == [f.key for f in import_result.facts[:2]]
    assert extras[1].subject_key == import_result.facts[0].key
    assert kinds(import_result) == ["contradictory", "duplicate"]
    assert "to 'Madonna', this one to 'Sony'" in import_result.problems[0].what


def test_the_remastered_form_writes_its_objects_flat(tmp_path: Path) -> None:
    """MQuAKE-Remastered as its own reader takes it: ``target_new_str`` beside ``target_new`` of the first release."""
    flat = {name: value for name, value in EDIT.items() if not name.startswith("target")}
    flat |= {"target_new_str": "Madonna", "target_true_str": "The Beatles"}
    import_result = one(tmp_path, {"case_id": 1, "requested_rewrite": [flat], "answer": "x"})
    (fact,) = import_result.facts
    assert (fact.old.text, fact.new.text, fact.new.wikidata) == ("The Beatles", "Madonna", None)
    assert fact.key == one(tmp_path, {"case_id": 1, "requested_rewrite": [EDIT], "answer": "x"}).facts[0].key


def test_an_object_that_is_none_is_told_by_its_field(tmp_path: Path) -> None:
    import_result = one(tmp_path, {"case_id": 1, "requested_rewrite": [{**EDIT, "target_new": "Madonna"}]})
    assert not import_result.facts
    assert "target_new' must be an object, it is a text" in import_result.problems[0].what
