"""Ratings with their lineage, and what a store knows of those who wrote the texts."""

from __future__ import annotations

from pathlib import Path

from curation.store.store import Store
from evaluation.judge.ratings import question_authors, rated_scripts
from schemas.lineage import Lineage
from schemas.scripts import ScriptQuestion
from tests.support.facts import make_fact
from tests.support.judge import fill_store, rating

PERU = make_fact("Peru", "Lima", "Oslo", key="fact/peru")
QUESTION = ScriptQuestion(key="fact/peru/q1", fact="fact/peru", text="How to visit Peru?")


def test_an_empty_store_has_no_ratings(tmp_path: Path) -> None:
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        assert rated_scripts(store) == rated_scripts(store, []) == []
        assert question_authors(store) == set()


def test_people_and_judges_are_read_with_their_lineage(tmp_path):
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
    with Store.open(tmp_path / "s.duckdb", create=True) as store:
        store.put([PERU, QUESTION])
        lines = [
            Lineage(item_id=QUESTION.id, stage="questions", made_at="t", model=model, request=str(n))
            for n, model in enumerate(["gpt-x", "gpt-x", "claude-y", None])
        ]
        store.put([], [*lines, Lineage(item_id=PERU.id, stage="scripts", made_at="t", model="other")])
        assert question_authors(store) == {"gpt-x", "claude-y"}
