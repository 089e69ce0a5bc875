from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from curation.store.store import Store
from evaluation.judge.judging import ControlResult, JudgeResult, RatedControl
from evaluation.judge.model_families import families_of, family_conflicts
from evaluation.judge.ratings import (
    check_against_rubric,
    length_correlation,
    named_objects,
    rated_scripts,
    rating_cell,
    retest_agreement,
)
from evaluation.judge.steps import JudgeInput
from evaluation.judge.summary import as_data, summarise_ratings
from evaluation.report.formatting import table_lines
from evaluation.report.judge_tables import summary_tables
from evaluation.report.judge_tables import summary_text as as_text
from schemas.core.errors import UserError
from schemas.facts import Entity, Fact, Object
from schemas.lineage import Lineage
from schemas.ratings import Rating
from tests.support.evaluation.judged import given
from tests.support.facts import make_fact
from tests.support.judge import ASK, fill_store, rating


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
        "a": ("Lima and Oslo", FACT),
        "b": ("Oslo", FACT),
        "c": ("Lima", FACT),
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
    scripts = {s["method"]: (s["script"], fact) for s in study["scripts"]}
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
    assert {m: named_objects(*s) for m, s in scripts.items()} == {
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


def test_retests_and_length_by_hand():
    looks = [given("a", 5, samples=[5], retest=5), given("b", 5, samples=[5], retest=3), given("c", 5, samples=[5])]
    looks.append(given("d", 5, samples=[5], retest=None))
    assert retest_agreement(looks) == (2, 1, 1, 1.0, 1)
    asks = {
        f"i{n}": ASK.__class__(**{**vars(ASK), "item": f"i{n}", "case": f"c{n}", "text": "go " * (n + 1)})
        for n in range(7)
    }
    table = length_correlation([given(f"i{n}", n + 1) for n in range(7)], asks)
    assert table.value == pytest.approx(1.0) and table.n == 7
    assert not length_correlation([given("i0", 3)], asks).defined


def test_a_cell_by_hand():
    """Two scripts of case a (6 and unscored), one of case b (2): means of case means, bounds over all scripts."""
    cell = rating_cell([("a", 6.0), ("a", None), ("b", 2.0)], (1, 7))
    assert (cell.scripts, cell.unscored, cell.by_case.n, cell.by_case.mean) == (2, 1, 2, 4.0)
    assert cell.bounds == ((3.5 + 2) / 2, (6.5 + 2) / 2)
    assert cell.by_case.half is None, "two cases are too few for an interval"


def test_adjudicated_ratings_are_left_out():
    fair = given("item-1", 5, "person:ann")
    lead = fair._replace(rating=fair.rating.model_copy(update={"form": "rate_script_adjudicated@1", "key": "other"}))
    assert [c.cell.scripts for c in summarise_ratings([fair, lead], [ASK]).cells] == [1]


def asks(count: int, **changes: Any) -> list[JudgeInput]:
    return [JudgeInput(**{**vars(ASK), "item": f"i{n}", "case": f"c{n}", **changes}) for n in range(count)]


def result(**changes: Any) -> JudgeResult:
    fields = {"rater": "judge:x", "ratings": 8, "new": 3, "unscored": 1, "waiting": 0, "calls": 5, "spent": "9 tokens"}
    return JudgeResult(**{**fields, "controls": None, **changes})


def test_unscored_ones_are_bounded_and_their_reasons_counted() -> None:
    ratings = [given("i0", 5), given("i1", 3), given("i2", None)]
    summaries = summarise_ratings(ratings, asks(3))
    text = as_text(summaries, None, [])
    (line,) = [one for one in text.splitlines() if "secret-method" in one and "coherence" in one]
    assert line.split()[2:] == ["4.00", "3", "2", "1", "3.00", "5.00"]
    assert "Unscored ratings:" in text and "judge:x  no usable reply: refused        1" in text
    report = as_data(summaries, None, [])
    assert report["unscored"] == {"judge:x": {"no usable reply: refused": 1}}
    assert [(c["scripts"], c["scored"], c["mean"], c["worst"], c["best"]) for c in report["cells"]] == [(3, 2, 4, 3, 5)]


def test_raters_and_writers_have_tables_of_their_own() -> None:
    mixed = [*asks(1), *(a.__class__(**{**vars(a), "item": "other", "writer": "pythia"}) for a in asks(1))]
    ratings = [given("i0", 4, r) for r in ("judge:x", "judge:y")] + [given("other", 2)]
    lines = as_text(summarise_ratings(ratings, mixed), None, []).splitlines()
    heads = [one for one in lines if " on scripts of " in one and one.endswith(":")]
    assert heads == [
        "judge:x on scripts of gpt2-xl:", "judge:x on scripts of pythia:", "judge:y on scripts of gpt2-xl:"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        pytest.param([{}], "– 0 – 1", id="no retest"),
        pytest.param([{"retest": 5}, {"retest": 4}], "1 2 – 2", id="some"),
        pytest.param([{"retest": 5}, {"retest": None}], "1 1 – 2", id="one lost"),
        pytest.param([{"retest": None}], "– 0 – 1", id="all lost"),
    ],
)
def test_how_reliable_a_judge_is(detail: list[dict[str, Any]], words: str) -> None:
    ratings = [given(f"i{n}", 5, samples=[5], **one) for n, one in enumerate(detail)]
    summaries = summarise_ratings(ratings, asks(len(detail)))
    (table,) = [one for one in summary_tables(summaries) if one.title == "Reliability of judge:x"]
    assert table_lines(table)[1].split() == ["coherence", *words.split()]


def test_text_shows_ten_disagreements_and_json_all() -> None:
    """The script names the new object only, so Consistency is 7 by the rule; this judge says 3 every time."""
    from evaluation.judge.ratings import RatedScript
    from tests.support.judge import rating

    ratings = [RatedScript(rating(f"i{n}", "consistency", 3), {}, None) for n in range(13)]
    summaries = summarise_ratings(ratings, asks(13))
    text = as_text(summaries, None, [])
    (counts,) = [one for one in text.splitlines() if one.startswith("  judge:x  consistency") and "13" in one]
    assert counts.split() == ["judge:x", "consistency", "13", "0", "13"]
    assert "Ratings that deviate (10 of 13):" in text and text.count("names the new object only") == 10
    report = as_data(summaries, None, [])["rubric"]
    assert len(report["disagreements"]) == 13
    assert report["by"] == [{"rater": "judge:x", "aspect": "consistency", "ruled": 13, "agreed": 0}]


def test_two_judges_agree_or_it_is_undefined() -> None:
    ratings = [given(f"i{n}", n % 7 + 1, judge) for n in range(14) for judge in ("judge:x", "judge:y")]
    summaries = summarise_ratings(ratings, asks(14))
    (line,) = [one for one in as_text(summaries, None, []).splitlines() if one.startswith("  Coherence")]
    assert line.split()[:5] == ["Coherence", "14", "2", "28", "1.00"]
    report = as_data(summaries, None, [])
    assert report["agreement"]["coherence"]["alpha"]["value"] == pytest.approx(1.0)
    constant = summarise_ratings([given(f"i{n}", 4, j) for n in range(3) for j in ("judge:x", "judge:y")], asks(3))
    agreement = as_data(constant, None, [])["agreement"]["coherence"]
    assert agreement["alpha"]["value"] is None and agreement["alpha"]["reason"]
    json.dumps(as_data(constant, None, []), allow_nan=False)


def test_what_came_of_the_judging_stands_first() -> None:
    controls = (RatedControl("both", "coherence", 6, (2, 2)), RatedControl("old", "consistency", None, (5, 7)))
    outcome = result(controls=ControlResult(9, 7, controls))
    summaries = summarise_ratings([], [])
    first, second, third, fourth, empty, *_ = as_text(summaries, outcome, []).splitlines()
    assert first == "judge:x: 8 ratings (3 new, 1 unscored), 5 calls; 9 tokens."
    assert "7 of 9" in second and third.endswith("coherence of 'both': 6, accepted 2") and empty == ""
    assert fourth.endswith("consistency of 'old': unscored, accepted 5 to 7")
    report = json.loads(json.dumps(as_data(summaries, outcome, [])))["outcome"]
    assert report["control_items"]["missed"][0] == {
        "name": "both", "aspect": "coherence", "given": 6, "accepted": [2, 2]
    }  # fmt: skip
    assert "controls" not in report and as_data(summaries, result(), [])["outcome"]["control_items"] is None
