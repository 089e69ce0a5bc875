from __future__ import annotations

from pathlib import Path

from schemas.extras import Extra
from tests.support.curation.published_records import kinds, new_of, of, one


def test_ripple(tmp_path: Path) -> None:
    query = {"prompt": "The name of the mother of Ann Lee is", "subject_id": "Q5"}
    edit = {
        "prompt": "The gender of Ann Lee is male.", "subject_id": "Q5", "relation": "SEX_OR_GENDER", "target_id": "Q6",
        "original_fact": {"prompt": "The gender of Ann Lee is female.", "target_id": "Q7"},
    }  # fmt: skip
    data = {
        "example_type": "random",
        "edit": edit,
        "Relation_Specifity": [{"test_queries": [query]}],
        "Forgetfulness": [],
    }
    recent = {"example_type": "recent", "edit": {**edit, "original_fact": None}, "Subject_Aliasing": []}
    record = {**edit, "prompt": "The name of the sex or gender of Bo is X.", "original_fact": None}
    import_result = one(tmp_path, data, recent, {"example_type": "recent", "edit": {**record, "subject_id": "Q8"}})
    fact = import_result.facts[0]
    assert (fact.subject.text, fact.prompt, fact.old.text, new_of(fact)) == (
        "Ann Lee",
        "The gender of {} is",
        "female",
        "male",
    )
    assert [e.name for e in of(import_result, Extra)[:2]] == ["edit", "Relation_Specificity"]
    assert of(import_result, Extra)[1].value == data["Relation_Specifity"]
    assert kinds(import_result) == ["malformed", "left"] and "subject cannot be told" in import_result.problems[0].what
    assert (import_result.facts[1].subject.text, import_result.facts[1].old.text, import_result.facts[1].new) == (
        "Bo",
        "X",
        None,
    )
