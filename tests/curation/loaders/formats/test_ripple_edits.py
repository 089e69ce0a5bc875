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
    named = {**edit, "prompt": "The name of the sex or gender of Bo is X.", "original_fact": None}
    loaded = one(tmp_path, data, recent, {"example_type": "recent", "edit": {**named, "subject_id": "Q8"}})
    fact = loaded.facts[0]
    assert (fact.subject.text, fact.prompt, fact.old.text, new_of(fact)) == (
        "Ann Lee",
        "The gender of {} is",
        "female",
        "male",
    )
    assert [e.name for e in of(loaded, Extra)[:2]] == ["edit", "Relation_Specificity"]
    assert of(loaded, Extra)[1].value == data["Relation_Specifity"]
    assert kinds(loaded) == ["malformed", "left"] and "subject cannot be told" in loaded.problems[0].what
    assert (loaded.facts[1].subject.text, loaded.facts[1].old.text, loaded.facts[1].new) == ("Bo", "X", None)
