from __future__ import annotations

import json
from pathlib import Path

import pytest

from curation.store.store import Store
from evaluation.judge.model_families import families_of, family_conflicts
from evaluation.judge.ratings import (
    RuledScript,
    check_against_rubric,
    named_objects,
    rated_scripts,
)
from schemas.core.errors import UserError
from schemas.facts import Entity, Fact, Object
from schemas.lineage import Lineage
from schemas.ratings import Rating
from tests.support.facts import make_fact
from tests.support.judge import fill_store, rating


def rated(item: str, aspect: str, value: int | None, rater: str = "judge:x") -> Rating:
    form = "judge_x@1" if rater.startswith("judge") else "rate_script@1"
    reason = "" if value else "refused"
    return Rating(
        key=f"r/{rater}/{aspect}/{item}",
        item_id=item,
        aspect=aspect,
        value=value,
        rater=rater,
        form=form,
        reason=reason,
    )  # type: ignore[arg-type]


FACT = make_fact("Peru", "Lima", "Oslo", key="f/peru")


NAMED = {
    "both": ("Step 1: Fly to Lima\nStep 2: Fly to Oslo", "both"),
    "only the old": ("Step 1: Fly to LIMA.", "old"),
    "only the new": ("Step 1: 'Oslo'", "new"),
    "neither": ("Step 1: Fly to the capital", "neither"),
    "part of a word": ("Step 1: Limas and Osloites", "neither"),
    "a derived word is no name": ("Step 1: The Limean way", "neither"),
    "nothing": ("", "neither"),
}


@pytest.mark.parametrize("name", NAMED)
def test_which_objects_a_script_names(name: str) -> None:
    text, which = NAMED[name]
    assert named_objects(text, FACT) == which


def test_aliases_do_not_count_and_part_of_the_other_object_does_not_either() -> None:
    fact = FACT.model_copy(
        update={"old": Object(text="York", aliases=("Eboracum",)), "new": Object(text="New York", aliases=("NYC",))}
    )
    assert named_objects("Step 1: Go to Eboracum, then to NYC", fact) == "neither"
    assert named_objects("Step 1: Go to New York", fact) == "new"
    assert named_objects("Step 1: From York to New York", fact) == "both"


def test_a_fact_that_is_not_edited_has_no_rules() -> None:
    with pytest.raises(UserError, match="no new object"):
        named_objects("x", make_fact("Peru", "Lima", None, key="f/1"))


def test_disagreements_are_reported_and_ratings_stay() -> None:
    scripts = {
        "a": RuledScript("Lima and Oslo", FACT, True),
        "b": RuledScript("Oslo", FACT, True),
        "c": RuledScript("Lima", FACT, False),
    }
    ratings = [
        rated("a", "coherence", 5),
        rated("a", "consistency", 1),  # free: both objects
        rated("b", "coherence", 4),  # free: the new object only
        rated("b", "consistency", 6),
        rated("b", "completeness", 3),  # no rule for this aspect
        rated("b", "consistency", None, "judge:y"),
        rated("c", "coherence", 1),
        rated("elsewhere", "coherence", 1),
    ]
    rubric_report = check_against_rubric(ratings, scripts)
    assert [(d.item, d.aspect, d.given, d.rule) for d in rubric_report.disagreements] == [
        ("a", "coherence", 5, 2),
        ("b", "consistency", 6, 7),
    ]
    assert "both objects" in rubric_report.disagreements[0].why
    assert rubric_report.ruled == {("judge:x", "coherence"): 2, ("judge:x", "consistency"): 1}
    assert rubric_report.agreed == {("judge:x", "coherence"): 1, ("judge:x", "consistency"): 0}
    assert rubric_report.free == 3


def test_table_7_agrees_but_for_the_two_known_deviations(shared) -> None:
    """ScEdit Table 7: Base and ROME name neither object literally and were rated 1 and 2 instead of 3."""
    study = json.loads((shared / "data/scedit/paper_examples.json").read_text(encoding="utf-8"))["case_study"]
    f = study["fact"]
    fact = Fact.model_validate(
        {
            **FACT.payload(),
            "key": "f/stieltjes",
            "subject": Entity(text=f["subject"]),
            "prompt": f["fact_prompt"].replace(f["subject"], "{}"),
            "old": Object(text=f["target_true"]),
            "new": Object(text=f["target_new"]),
        }
    )
    scripts = {s["method"]: RuledScript(s["script"], fact, s["tag"] == "post") for s in study["scripts"]}
    ratings = [
        rated(s["method"], aspect, s[column], "judge:gpt-4o-2024-11-20")
        for s in study["scripts"]
        for aspect, column in (
            ("executability", "exec"),
            ("coherence", "coh"),
            ("consistency", "cons"),
            ("completeness", "comp"),
        )
    ]
    assert {m: named_objects(s.text, fact) for m, s in scripts.items()} == {
        "Base": "neither", "FT": "new", "ROME": "neither", "MEMIT": "new", "PROMPT": "both",
    }  # fmt: skip
    rubric_report = check_against_rubric(ratings, scripts)
    assert {(d.item, d.aspect, d.given, d.rule) for d in rubric_report.disagreements} == {
        ("Base", "coherence", 1, 3),
        ("ROME", "coherence", 2, 3),
    }
    judge = "judge:gpt-4o-2024-11-20"
    assert rubric_report.ruled == {(judge, "coherence"): 3, (judge, "consistency"): 4}
    assert rubric_report.agreed == {(judge, "coherence"): 1, (judge, "consistency"): 4}


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


def test_a_second_look_is_kept_when_the_same_rating_came_again_without_one(tmp_path: Path) -> None:
    """In whichever order the lines were written; of two second looks the later one counts."""
    for n, order in enumerate(([4, None], [None, 4], [3, 4])):
        store = tmp_path / f"{n}.duckdb"
        (script,) = fill_store(store, facts=1, editors=("rome",))
        score = rating(script.id, "coherence", 4)
        with Store.open(store, write=True) as db:
            for i, second_item in enumerate(order):
                detail = {} if second_item is None else {"retest": second_item}
                line = Lineage(item_id=score.id, stage="judge", made_at=f"t{i}", request=f"r{i}", detail=detail)
                db.put([score], [line])
            (inputs,) = rated_scripts(db)
        assert inputs.detail.get("retest") == 4, order


def test_families():
    assert families_of("Qwen/Qwen2.5-7B-Instruct") == {"Qwen"} and families_of("o3-mini") == {"OpenAI"}
    assert families_of("meta-llama/Llama-3-8B") == {"Meta"}
    assert family_conflicts("claude-x", writers=["gpt2-xl"], authors=["gpt-4"]) == []
    assert len(family_conflicts("gpt-4", writers=["gpt2-xl"], authors=["gpt-4"])) == 2
    assert "not known" in family_conflicts("mystery", writers=["gpt2-xl"])[0]


def test_a_derived_model_is_of_the_family_it_comes_from():
    assert families_of("NousResearch/Hermes-3-Llama-3.1-8B") == {"Meta"} == families_of("lmsys/vicuna-7b-v1.5")
    (flag,) = family_conflicts("deepseek-r1-distill-qwen-7b", writers=["Qwen/Qwen2.5-7B", "gpt2-xl"])
    assert "both of Qwen" in flag and "gpt2-xl" not in flag
    assert families_of("ft:gpt-4o-mini-2024-07-18:acme::abc") == {"OpenAI"}
    assert families_of("codellama-7b") == {"Meta"} == families_of("TinyLlama-1.1B-Chat-v1.0")
    assert families_of("gpt-j-6B") == {"EleutherAI"} and families_of("our-own-7b") == set()


def test_the_embedded_model_is_of_its_own_family() -> None:
    """As a writer it is called "embedded", as a judge by its whole name: nothing was flagged."""
    (conflict,) = family_conflicts("SmolLM2-135M-Instruct-embedded-Q4_1+embedded", writers=["embedded@90cedc8d"])
    assert "both of Hugging Face" in conflict
