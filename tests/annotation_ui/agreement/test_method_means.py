"""Means of methods out of a campaign: only people, only scales, refused in words, and what the stop rule says."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from annotation_ui.agreement.blocks import blocks_as_text, means_blocks
from annotation_ui.agreement.method_means import (
    MethodMeans,
    assign_campaign,
    method_means,
    method_strengths,
    methods_of,
    scale_ratings,
    stop_lines,
)
from annotation_ui.agreement.report import Judgement, agreement_report, disagreements, live_judgements
from annotation_ui.campaigns.campaign import CampaignOptions, assign_items, create_campaign, make_task, task_of
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.ratings import raters
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.ratings.open_items import next_item
from annotation_ui.tasks.generated_scripts import method_of
from curation.stats.bootstrap import Resampling
from curation.stats.bradley_terry import Strengths
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.generated_scripts import GeneratedScript
from schemas.raters import Rater
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.cli.conftest import call
from tests.annotation_ui.conftest import begin, work
from tests.support.commands import json_value


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


NAME, TASK = "pilot", "rate_executability"
PEOPLE = ("ann", "bob", "cat")
KNOWN = [
    RaterControlItem(purpose=p, id=p, shown={"script": "s"}, expected={"executability": 7})
    for p in ("training", "attention")
]


def campaign(db: RatingsDB, store: Store, *, overlap: int = 2, batch: int = 3, **options: object) -> None:
    for person in PEOPLE:
        raters.invite(db, person)
    sharing = CampaignOptions(overlap=overlap, batch=batch, **options)  # type: ignore[arg-type]
    create_campaign(db, store, NAME, make_task(TASK), sharing, known=KNOWN)


def answer(db: RatingsDB, person: str, count: int) -> None:
    """Answers that differ between methods, items and people."""
    for _ in range(count):
        at = next_item(db, NAME, person)
        assert at is not None
        item = db.item(NAME, at.item).item
        value = 2 + 3 * item.stratum.endswith("rome") + sum(map(ord, item.case)) % 3 - (person == "cat")
        db.save(NAME, person, at.item, {"executability": value}, form=f"{TASK}@3")


def people_an_item(db: RatingsDB) -> set[int]:
    real = {i for i, p in db.items(NAME).items() if p.purpose == "real"}
    return set(Counter(a.item for a in db.assignments(NAME) if a.item in real).values())


def test_without_options_it_is_the_even_sharing(db: RatingsDB, store: Store) -> None:
    campaign(db, store)
    result = assign_campaign(db, NAME)
    assert result.lines == ("Every two raters have 4 items in common.",)
    assert result.added == len(db.assignments(NAME)) == 12 * 2 + 2 * 3
    assert assign_items(db, NAME) == (0, 0)


def test_who_joins_after_all_batches_have_begun_is_named(db: RatingsDB, store: Store) -> None:
    pilot(db, store, "ann", "bob")
    for person in ("ann", "bob"):
        work(db, "pilot", person, 1)
    raters.invite(db, "zed")
    assert assign_campaign(db, "pilot").lines[-1] == "No items are left for zed."


def test_before_there_is_enough_to_go_by_it_is_the_even_sharing_and_says_so(db: RatingsDB, store: Store) -> None:
    campaign(db, store, stop_width=0.1)
    result = assign_campaign(db, NAME)
    assert result.added == 30 and people_an_item(db) == {2}
    assert result.lines[1:] == ("No stop yet: severity cannot be told: nobody has rated yet; have another person rate some items.",)  # fmt: skip  # noqa: E501


def test_once_the_rule_is_met_open_items_are_taken_back_and_none_are_given(db: RatingsDB, store: Store) -> None:
    campaign(db, store, stop_width=50.0)
    assign_campaign(db, NAME)
    for person in PEOPLE:
        answer(db, person, 6)
    answered_pairs = {(r.person, r.item) for r in db.current_answers(NAME)}
    result = assign_campaign(db, NAME)
    assert result.lines[0].startswith("Stop rule: met") and result.added == 0 and result.taken > 0
    assignments = db.assignments(NAME)
    assert answered_pairs <= {(a.person, a.item) for a in assignments}
    started_batches = {(a.person, a.batch) for a in assignments if (a.person, a.item) in answered_pairs}
    real = {i for i, p in db.items(NAME).items() if p.purpose == "real"}
    assert all((a.person, a.batch) in started_batches for a in assignments if a.item in real), (
        "batches that have begun are finished"
    )
    assert assign_campaign(db, NAME).taken == 0


def rated(db: RatingsDB, store: Store, *names: str) -> None:
    """ROME is preferred in four of six pairs, wherever it stands; the other aspects are ties and not judged."""
    begin(db, store, "pairs", "compare_scripts", *names)
    methods = {s.id: method_of(s) for s in store.all(GeneratedScript)}
    for n, campaign_items in enumerate(db.items("pairs").values()):
        rome = "first" if methods[campaign_items.item.related[0]] == "tiny rome" else "second"
        other = {"first": "second", "second": "first"}[rome]
        for name in names:
            record = {"coherence": rome if n < 4 else other, "consistency": "tie", "completeness": "cannot_judge"}
            db.save("pairs", name, campaign_items.item.id, record, form="compare_scripts@2", seconds=3)


def test_the_preferred_method_is_the_stronger_wherever_it_stood(db: RatingsDB, store: Store) -> None:
    rated(db, store, "ann", "bob")
    strengths = method_strengths(db, store, "pairs")
    one = strengths["coherence"]
    assert isinstance(one, Strengths) and list(one.methods) == ["tiny rome", "tiny none"]
    assert one.methods["tiny rome"].value == pytest.approx(0.3466, abs=1e-4)  # half of log(8 / 4)
    assert (one.comparisons, one.cases) == (12, 6)
    assert "all of 12 comparisons are ties" in str(strengths["consistency"])
    assert "there are no comparisons" in str(strengths["completeness"])
    half = method_strengths(db, store, "pairs", raters=["bob"])["coherence"]
    assert isinstance(half, Strengths) and half.comparisons == 6


def test_agreement_reads_comparisons(db: RatingsDB, store: Store) -> None:
    rated(db, store, "ann", "bob")
    task, marks = make_task("compare_scripts"), live_judgements(db, "pairs")
    report = agreement_report(marks, task, resampling=Resampling(0))
    assert report.aspects[0].agreement.exact.value == 1.0
    assert set(report.aspects[0].agreement.prevalence) == {"first", "second", "tie", "cannot_judge"}
    assert disagreements(marks, task) == []


def test_the_command_prints_strengths_and_refusals(db: RatingsDB, store: Store) -> None:
    rated(db, store, "ann")
    store.close()
    db_path, store_path = Path(db.path), Path(store.path)
    output = call("strengths", "pairs", "-r", db_path, "-s", store_path).output
    assert "coherence (6 comparisons in 6 cases, 0 ties)" in output and "tiny rome" in output
    assert "consistency: all of 6 comparisons are ties" in output
    data = json_value(call("strengths", "pairs", "-r", db_path, "-s", store_path, "--json").stdout)
    assert data["coherence"]["methods"]["tiny rome"]["value"] == pytest.approx(0.3466, abs=1e-4)


def test_a_campaign_that_compares_nothing_and_a_store_without_the_scripts_are_refused(
    db: RatingsDB, store: Store, tmp_path: Path
) -> None:
    rated(db, store, "ann")
    create_campaign(db, store, "plain", make_task("rate_script"), CampaignOptions())
    with pytest.raises(UserError, match="compare nothing"):
        method_strengths(db, store, "plain")
    with Store.open(tmp_path / "other.duckdb", create=True) as other, pytest.raises(UserError, match="has no script"):
        method_strengths(db, other, "pairs")
