from __future__ import annotations

import json
from typing import Any

import pytest

from evaluation.judge.judging import ControlResult, JudgeResult, RatedControl
from evaluation.judge.ratings import length_correlation, rating_cell, retest_agreement
from evaluation.judge.steps import JudgeInput
from evaluation.judge.summary import as_data, summarise_ratings
from evaluation.report.formatting import table_lines
from evaluation.report.judge_tables import summary_tables
from evaluation.report.judge_tables import summary_text as as_text
from tests.support.evaluation.judged import given
from tests.support.judge import ASK


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
        pytest.param([{}], "0 0 – 1", id="no retest"),
        pytest.param([{"retest": 5}, {"retest": 4}], "1 2 – 2", id="some"),
        pytest.param([{"retest": 5}, {"retest": None}], "1 1 – 2", id="one lost"),
        pytest.param([{"retest": None}], "0 0 – 1", id="all lost"),
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


def test_notes_are_the_last_lines() -> None:
    summaries = summarise_ratings([given("i0", 5, quality="plumbing")], asks(1))
    text, report = as_text(summaries, None, ["gpt-x judges itself"]), as_data(summaries, None, ["gpt-x judges itself"])
    assert text.splitlines()[-1] == "Note: gpt-x judges itself."
    assert text.splitlines()[-2].startswith("Note: the ratings of judge:x are of smoke-test quality")
    assert report["flags"] == ["gpt-x judges itself"] and report["plumbing"] == ["judge:x"]
