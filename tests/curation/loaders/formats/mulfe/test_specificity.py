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
    loaded = one(tmp_path, ASKED, {**ASKED, "id": "q_2"}, name="EleutherAI_gpt-j-6B.json")
    (made,) = loaded.sets
    assert loaded.format == "mulfe-specificity" and loaded.edits == {"specificity set": 1}
    assert made.model == "EleutherAI/gpt-j-6B" and [q.item for q in made.questions] == ["q_1", "q_2"]
    assert made.questions[0].ppl == 2.1 and made.key.startswith("specificity/EleutherAI/gpt-j-6B/")


def test_two_sets_of_one_model_have_keys_of_their_own(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    for folder, answer in (("a", "Nevada"), ("b", "the US")):
        (tmp_path / folder).mkdir()
        one(tmp_path / folder, {**ASKED, "answer": answer}, name="gpt2-xl.json")
        done = import_file(str(tmp_path / folder / "gpt2-xl.json"), store)
        assert (done.facts, done.noun) == (1, "specificity set")
    with Store.open(store) as opened:
        assert {s.questions[0].answer for s in opened.all(SpecificitySet)} == {"Nevada", "the US"}


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
    loaded = one(tmp_path, ASKED, {**ASKED, "id": "q_2", **change}, format="mulfe-specificity")
    assert kinds(loaded) == [kind] and len(loaded.sets[0].questions) == 1
    with pytest.raises(DataError, match=message):
        loaded.require()


def test_a_question_without_an_id_is_named(tmp_path: Path) -> None:
    loaded = one(tmp_path, {k: v for k, v in ASKED.items() if k != "id"}, format="mulfe-specificity")
    assert not loaded.sets and loaded.problems[0].what == "the field 'id' is missing"


@pytest.mark.parametrize("model", ["gpt2-xl", "EleutherAI_gpt-j-6B", "meta-llama_Llama-2-7b-hf"])
def test_our_copy_loads_whole(shared: Path, model: str) -> None:
    (made,) = load(shared / f"data/mulfe/tq_specifity_random400/{model}.json").sets
    assert len(made.questions) == 400 and made.model.replace("/", "_") == model
