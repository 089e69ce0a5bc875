"""What is judged: scripts with the facts they were made of, a sample of them, and ratings with their lineage."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from curation.store.store import Store
from evaluation.judge.inputs import judge_inputs, question_authors, rated_scripts, sample_inputs
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.lineage import Lineage
from schemas.scripts import ScriptQuestion
from tests.support.facts import make_fact
from tests.support.judge import ASK, fill_store, make_script, rating

PERU = make_fact("Peru", "Lima", "Oslo", key="fact/peru")
QUESTION = ScriptQuestion(key="fact/peru/q1", fact="fact/peru", text="How to visit Peru?")


def store_of(path: Path, *records: Any) -> Store:
    store = Store.open(path, create=True)
    store.put(records)
    return store


def test_a_script_comes_with_its_fact_and_question(tmp_path: Path) -> None:
    plain = make_script(PERU, "none", ("Go",))
    refusal_script = make_script(PERU, "rome", (), text="I cannot.", refused=True)
    with store_of(tmp_path / "s.duckdb", PERU, QUESTION, plain, refusal_script) as store:
        one, two = judge_inputs(store)
    assert (one.item, one.editor, one.edited, one.refused) == (plain.id, "none", False, False)
    assert (two.item, two.editor, two.edited, two.refused) == (refusal_script.id, "rome", True, True)
    assert one.fact == PERU and one.question == "How to visit Peru?" and one.writer == "gpt2-xl"
    assert "Go" in one.text and two.text != ""


def test_the_case_that_was_edited_goes_before_the_corrected_fact(tmp_path: Path) -> None:
    """Facts and questions get corrected; a script is judged by those that stood when it was made."""
    variant = QUESTION.model_copy(update={"text": "How did one visit Peru?"})
    case = Case(key="case/fact/peru", fact=PERU, questions=(variant,))
    fact = make_fact("Peru", "Lima", "Quito", key="fact/peru")
    with store_of(tmp_path / "s.duckdb", fact, QUESTION, case, make_script(PERU, "rome", ("Go",))) as store:
        (inputs,) = judge_inputs(store)
    assert inputs.fact == PERU and inputs.question == "How did one visit Peru?"


def test_a_case_of_another_fact_says_nothing(tmp_path: Path) -> None:
    case = Case(key="case/fact/peru", fact=make_fact("Chad", "Lima", "Rome", key="fact/chad"))
    with store_of(tmp_path / "s.duckdb", PERU, QUESTION, case, make_script(PERU, "rome", ("Go",))) as store:
        (inputs,) = judge_inputs(store)
    assert inputs.fact == PERU and inputs.question == QUESTION.text


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([QUESTION], "fact 'fact/peru'"),
        ([PERU], "question 'fact/peru/q1'"),
        ([make_fact("Peru", "Lima", None, key="fact/peru"), QUESTION], "not edited"),
    ],
    ids=["no fact", "no question", "a fact that is not edited"],
)
def test_what_is_lacking_is_named(tmp_path: Path, records: list[Any], message: str) -> None:
    with (
        store_of(tmp_path / "s.duckdb", make_script(PERU, "rome", ("Go",)), *records) as store,
        pytest.raises(UserError, match=message) as error,
    ):
        judge_inputs(store)
    assert "generated/rome/fact/peru/q1" in str(error.value)


def test_an_empty_store_has_nothing(tmp_path: Path) -> None:
    with store_of(tmp_path / "s.duckdb") as store:
        assert judge_inputs(store) == rated_scripts(store) == rated_scripts(store, []) == []
        assert question_authors(store) == set()


# --- samples ----------------------------------------------------------------------------------------------------------


def test_a_sample_is_the_same_whatever_else_is_there():
    asks = [replace(ASK, item=f"i{n}") for n in range(50)]
    few = [a.item for a in sample_inputs(asks, 10)]
    assert len(few) == 10 and few == [a.item for a in sample_inputs(asks[::-1], 10)][::-1]
    assert few != [a.item for a in sample_inputs(asks, 10, number=1)] and len(sample_inputs(asks, None)) == 50
    assert set(few) >= {a.item for a in sample_inputs(asks, 10) if a.item in {b.item for b in asks[:25]}}


def test_more_than_there_are_is_all_in_their_order() -> None:
    asks = [replace(ASK, item=f"i{n}") for n in range(5)]
    for limit in (5, 6, None):
        assert sample_inputs(asks, limit) == asks
    assert sample_inputs(asks, 0) == sample_inputs([], 3) == []
    assert {a.item for a in sample_inputs(asks, 2)} < {a.item for a in sample_inputs(asks, 3)}


# --- ratings ----------------------------------------------------------------------------------------------------------


def test_people_and_judges_are_read_with_their_lineage(tmp_path):
    from schemas.lineage import Lineage

    store = tmp_path / "s.duckdb"
    (script,) = fill_store(store, facts=1, editors=("rome",))
    ratings = [rating(script.id, "coherence", 5, "person:ann"), rating(script.id, "coherence", 4)]
    with Store.open(store, write=True) as db:
        lines = [
            Lineage(item_id=ratings[0].id, stage="annotation", made_at="t", detail={"probability": 0.5}),
            Lineage(item_id=ratings[1].id, stage="judge", made_at="t", request="a", detail={"score": 4.2, "retest": 4}),
            Lineage(item_id=ratings[1].id, stage="judge", made_at="u", request="b", detail={"score": 4.2}),
        ]
        db.put(ratings, lines)
        inputs = {g.rating.rater: g for g in rated_scripts(db)}
        finer = {g.rating.rater: g.score for g in rated_scripts(db, estimator="weighted")}
    assert inputs["person:ann"].score == 5.0 and inputs["person:ann"].detail["probability"] == 0.5
    assert inputs["judge:x"].score == 4.0 and "retest" in inputs["judge:x"].detail
    assert finer == {"person:ann": 5.0, "judge:x": 4.2}


def test_ratings_of_some_scripts_only(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    one, two = fill_store(store, facts=2, editors=("rome",))
    ratings = [rating(one.id, "coherence", 5), rating(two.id, "coherence", None), rating(two.id, "completeness", 3)]
    with Store.open(store, write=True) as db:
        db.put(ratings)
        assert {g.rating.item_id for g in rated_scripts(db, [two.id])} == {two.id}
        assert len(rated_scripts(db, [two.id])) == 2 and rated_scripts(db, ["nobody"]) == []
        inputs = {(g.rating.item_id, g.rating.aspect): g for g in rated_scripts(db)}
    bare, unscored_item = inputs[one.id, "coherence"], inputs[two.id, "coherence"]
    assert (bare.score, bare.detail, bare.line) == (5.0, {}, None), "without a lineage the rating is the score"
    assert unscored_item.score is None, "an unscored rating has no score"


def test_a_score_of_the_lineage_does_not_score_what_has_no_value(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    (script,) = fill_store(store, facts=1, editors=("rome",))
    score = rating(script.id, "coherence", None)
    with Store.open(store, write=True) as db:
        db.put([score], [Lineage(item_id=score.id, stage="judge", made_at="t", detail={"score": 4.0})])
        (inputs,) = rated_scripts(db)
    assert inputs.score is None and inputs.detail == {"score": 4.0}


def test_a_second_look_is_kept_when_the_same_rating_came_again_without_one(tmp_path: Path) -> None:
    """In whichever order the lines were written; of two second looks the later one counts."""
    for n, order in enumerate(([4, None], [None, 4], [3, 4])):
        store = tmp_path / f"{n}.duckdb"
        (script,) = fill_store(store, facts=1, editors=("rome",))
        score = rating(script.id, "coherence", 4)
        with Store.open(store, write=True) as db:
            for i, second_item in enumerate(order):
                detail = {"score": 4.0} if second_item is None else {"score": 4.0, "retest": second_item}
                line = Lineage(item_id=score.id, stage="judge", made_at=f"t{i}", request=f"r{i}", detail=detail)
                db.put([score], [line])
            (inputs,) = rated_scripts(db)
        assert inputs.detail.get("retest") == 4, order


def test_a_lead_decides_and_people_rate(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    (script,) = fill_store(store, facts=1, editors=("rome",))
    plain = rating(script.id, "coherence", 5, "person:ann")
    lead = plain.model_copy(update={"form": "rate_script_adjudicated@1", "key": "rating/lead"})
    with Store.open(store, write=True) as db:
        db.put([plain, lead])
        assert {g.rating.key: g.adjudicated for g in rated_scripts(db)} == {plain.key: False, lead.key: True}


def test_who_wrote_the_questions(tmp_path: Path) -> None:
    with store_of(tmp_path / "s.duckdb", PERU, QUESTION) as store:
        lines = [
            Lineage(item_id=QUESTION.id, stage="questions", made_at="t", model=model, request=str(n))
            for n, model in enumerate(["gpt-x", "gpt-x", "claude-y", None])
        ]
        store.put([], [*lines, Lineage(item_id=PERU.id, stage="scripts", made_at="t", model="other")])
        assert question_authors(store) == {"gpt-x", "claude-y"}
