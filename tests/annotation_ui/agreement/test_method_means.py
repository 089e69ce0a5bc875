"""Means of methods out of a campaign: only people, only scales, refused in words, and what the stop rule says."""

from __future__ import annotations

import pytest

from annotation_ui.agreement.blocks import blocks_as_text, means_blocks
from annotation_ui.agreement.judgements import Judgement, live_judgements
from annotation_ui.agreement.method_means import (
    MethodMeans,
    method_means,
    methods_of,
    scale_ratings,
    stop_lines,
)
from annotation_ui.campaigns.campaign import make_task, task_of
from annotation_ui.ratings.database import RatingsDB
from curation.store.store import Store
from schemas.raters import Rater
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.conftest import work


@pytest.fixture
def means(db: RatingsDB, store: Store) -> MethodMeans:
    pilot(db, store, "ann", "bobby")
    for person in ("ann", "bobby"):
        work(db, "pilot", person)
    return method_means(live_judgements(db, "pilot"), methods_of(db, "pilot"), task_of(db, "pilot"))


def test_methods_are_the_strata_of_real_items(db: RatingsDB, means: MethodMeans) -> None:
    assert set(methods_of(db, "pilot").values()) == {"tiny none", "tiny rome"}
    assert means.report is not None
    assert set(means.report.means) == {
        (a, m) for a in ("coherence", "completeness") for m in ("tiny none", "tiny rome")
    }
    assert means.left_out == ("consistency is left out: every rating is 7.",)


def test_judges_and_items_without_a_method_are_left_out() -> None:
    task = make_task("rate_executability")
    judgements = [
        Judgement("i", "c", Rater.person("ann"), "executability", 3),
        Judgement("i", "c", Rater.judge("m"), "executability", 7),
        Judgement("lost", "c", Rater.person("ann"), "executability", 3),
    ]
    (one,) = scale_ratings(judgements, {"i": "rome"}, task)
    assert (one.person, one.method, one.value) == ("ann", "rome", 3)


def test_a_task_without_a_scale_and_one_person_are_refused_in_a_sentence() -> None:
    none = method_means([], {}, make_task("filter_question"))
    assert none.report is None and "ratings on a scale" in none.refused
    single_run = method_means(
        [Judgement("i", "c", Rater.person("ann"), "executability", 3)], {"i": "rome"}, make_task("rate_executability")
    )
    assert "ann alone rated" in single_run.refused
    assert blocks_as_text(means_blocks(single_run))[-1] == f"None, because {single_run.refused}."
    assert stop_lines(single_run._replace(width=0.5)) == [] and single_run.more is None and not single_run.reached


def test_the_stop_rule_says_how_far_it_is(means: MethodMeans) -> None:
    assert means.report is not None and stop_lines(means) == []
    wide = means.report.widest
    half = means._replace(width=wide / 2)
    assert half.more == pytest.approx(3 * means.report.ratings, abs=1)
    assert not half.reached and f"about {half.more} ratings more" in stop_lines(half)[0]
    over = means._replace(width=wide + 0.01)
    assert over.reached and over.more == 0 and stop_lines(over)[0].startswith("Stop rule: met")


def test_the_lines_hold_every_figure(means: MethodMeans) -> None:
    assert means.report is not None
    text = "\n".join(blocks_as_text(means_blocks(means._replace(width=0.5))))
    for e in [*means.report.means.values(), *means.report.severity.values()]:
        assert e.text(2) in text
    assert all(f"{d.first} - {d.second}" in text and d.difference.text(2) in text for d in means.report.differences)
    assert "Stop rule" in text
