from __future__ import annotations

from pathlib import Path

import pytest

from curation.loaders import load
from curation.loaders.importer import import_file
from curation.store.store import Store
from schemas.core.errors import DataError
from schemas.documents.specificity import SpecificitySet
from tests.support.curation.published_records import kinds, one

ASKED = {"query": "Where is Reno?", "answer": "Nevada", "id": "q_1", "metrics": {"nll": 0.7, "ppl": 2.1}}


def test_a_file_is_one_set_of_the_model_in_its_name(tmp_path: Path) -> None:
    import_result = one(tmp_path, ASKED, {**ASKED, "id": "q_2"}, name="EleutherAI_gpt-j-6B.json")
    (sets,) = import_result.sets
    assert import_result.format == "mulfe-specificity" and import_result.edits == {"specificity set": 1}
    assert sets.model == "EleutherAI/gpt-j-6B" and [q.item for q in sets.questions] == ["q_1", "q_2"]
    assert sets.questions[0].ppl == 2.1 and sets.key.startswith("specificity/EleutherAI/gpt-j-6B/")


def test_two_sets_of_one_model_have_keys_of_their_own(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    for folder, answer in (("a", "Nevada"), ("b", "the US")):
        (tmp_path / folder).mkdir()
        one(tmp_path / folder, {**ASKED, "answer": answer}, name="gpt2-xl.json")
        import_result = import_file(str(tmp_path / folder / "gpt2-xl.json"), store)
        assert (import_result.facts, import_result.noun) == (1, "specificity set")
    with Store.open(store) as db:
        assert {s.questions[0].answer for s in db.all(SpecificitySet)} == {"Nevada", "the US"}


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"id": "q_1"}, "duplicate", "'q_1' is there twice"),
        ({"answer": ""}, "malformed", "'answer' must be a text"),
        ({"metrics": {"ppl": 0.1}}, "invalid", "ppl"),
        ({"metrics": [1]}, "malformed", "get"),
    ],
)
def test_a_bad_question_is_named(tmp_path: Path, change: dict[str, object], kind: str, message: str) -> None:
    import_result = one(tmp_path, ASKED, {**ASKED, "id": "q_2", **change}, format="mulfe-specificity")
    assert kinds(import_result) == [kind] and len(import_result.sets[0].questions) == 1
    with pytest.raises(DataError, match=message):
        import_result.require()


def test_a_question_without_an_id_is_named(tmp_path: Path) -> None:
    import_result = one(tmp_path, {k: v for k, v in ASKED.items() if k != "id"}, format="mulfe-specificity")
    assert not import_result.sets and import_result.problems[0].what == "the field 'id' is missing"


@pytest.mark.parametrize("model", ["gpt2-xl", "EleutherAI_gpt-j-6B", "meta-llama_Llama-2-7b-hf"])
def test_our_copy_loads_whole(shared: Path, model: str) -> None:
    (sets,) = load(shared / f"data/mulfe/tq_specifity_random400/{model}.json").sets
    assert len(sets.questions) == 400 and sets.model.replace("/", "_") == model
