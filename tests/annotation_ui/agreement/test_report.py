"""Single answers out of the ratings file and the store, and the agreement report on them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from annotation_ui.agreement.report import (
    Judgement,
    agreement_report,
    disagreements,
    jaccard,
    judgement_table,
    judgements_by_judges,
    live_judgements,
    set_of,
    unreadable_answers,
)
from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import make_task
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.generated_scripts import CompareScripts, RateScript
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.stats.agreement import alpha
from curation.stats.bootstrap import Resampling
from curation.stats.correlation import ceiling, mean_correlation, spearman_brown
from curation.stats.rating_table import rating_table
from curation.store.store import Store
from schemas.raters import Rater
from schemas.ratings import Rating
from tests.annotation_ui.conftest import TASK, begin, work

FEW = Resampling(100)
by = Rater.person


def made(people: int = 3, items: int = 60, noise: float = 1.0, seed: int = 0) -> list[Judgement]:
    rng = random.Random(seed)
    out = []
    for n in range(items):
        truth = rng.uniform(1.5, 6.5)
        for p in range(people):
            for aspect, shift in (("coherence", 0.0), ("completeness", 0.0)):
                value = min(7, max(1, round(truth + shift + rng.gauss(0, noise) + 0.7 * (p == 2))))
                out.append(
                    Judgement(
                        f"i{n}", f"c{n // 2}", by(f"p{p}"), aspect, value, f"2026-01-01T{n // 60:02}:{n % 60:02}", 9
                    )
                )
    return out


def test_the_report_holds_what_the_statistics_say() -> None:
    marks, task = made(), RateScript()
    report = agreement_report(marks, task, resampling=FEW)
    assert [a.aspect for a in report.aspects] == ["coherence", "completeness"]
    assert (report.items, report.cases, report.people) == (60, 30, ("p0", "p1", "p2"))
    first = report.aspects[0]
    assert first.agreement.alpha == alpha(
        judgement_table(sorted(marks), task, "coherence"), level="ordinal", resampling=FEW
    )
    assert len(first.pairs) == 3 and all(p.spearman.defined and p.kendall.defined for p in first.pairs)
    assert first.severity["p2"].value is not None and first.severity["p2"].value > 0.3
    assert first.published == 0.35
    assert report.seconds == {"p0": 9, "p1": 9, "p2": 9}
    assert report.pooled is not None and "pooled" in report.pooled.name


def test_one_rater_and_no_overlap_are_undefined_with_a_reason() -> None:
    one = [m for m in made() if m.name == "p0"]
    report = agreement_report(one, RateScript(), resampling=FEW)
    assert "undefined" in report.aspects[0].agreement.alpha.text()
    assert report.aspects[0].ceiling.reason == "there is one rater"
    judgements = [m for m in made(2) if (int(m.item[1:]) % 2) == int(m.name[1])]
    report = agreement_report(judgements, RateScript(), resampling=FEW)
    assert not report.aspects[0].agreement.alpha.defined
    assert not report.aspects[0].pairs[0].spearman.defined


def test_a_judge_with_an_offset_keeps_its_rank_correlation_and_shows_the_difference() -> None:
    marks = [m for m in made(noise=0.2) if m.aspect == "coherence" and m.name != "p2"]
    judge = [m._replace(rater=Rater.judge("x"), value=max(1, int(m.value) - 1)) for m in marks if m.name == "p0"]
    report = agreement_report([*marks, *judge], RateScript(), resampling=FEW)
    (pair,) = report.aspects[0].judges
    assert report.people == ("p0", "p1")
    assert (pair.spearman.value or 0) > 0.9
    assert pair.difference is not None and (pair.difference.value or 0) < -0.7


def test_drift_finds_who_grows_kinder() -> None:
    marks = []
    for n in range(60):
        marks += [Judgement(f"i{n}", f"c{n}", by("p0"), "coherence", 4, f"t{n:03}")]
        marks += [Judgement(f"i{n}", f"c{n}", by("p1"), "coherence", 2 + n // 15, f"t{n:03}")]
    report = agreement_report(marks, RateScript(), resampling=FEW).aspects[0].drift
    assert (report["p1"].value or 0) > 0.9
    assert (report["p0"].value or 0) < -0.9


def test_yes_and_no_are_nominal() -> None:
    marks = [
        Judgement(f"i{n}", f"c{n}", by(p), "guides", "yes" if n % 3 or p == "b" else "no")
        for n in range(30)
        for p in "ab"
    ]
    report = agreement_report(marks, FilterQuestion(), resampling=FEW)
    assert report.aspects[0].agreement.level == "nominal"
    assert report.aspects[0].agreement.exact.value == pytest.approx(20 / 30)
    assert report.aspects[0].severity == {}
    (pair,) = report.aspects[0].pairs
    assert pair.spearman.text() == "undefined, because b answered yes to all 30 items in common" == pair.kendall.text()


def test_answers_without_an_order_have_no_rank_correlation() -> None:
    choices = ("first", "second", "tie", "cannot_judge")
    marks = [
        Judgement(f"i{n}", f"c{n}", by(p), "coherence", choices[(n * k) % 4])
        for n in range(30)
        for k, p in enumerate("ab", 1)
    ]
    (pair,) = agreement_report(marks, CompareScripts(), resampling=FEW).aspects[0].pairs
    assert pair.spearman.reason == pair.kendall.reason == "the answers have no order"
    assert pair.exact.defined


def test_disagreements_come_widest_first_and_unanimous_ones_not_at_all() -> None:
    marks = [
        Judgement("same", "c", by(p), "coherence", 5) for p in "ab"
    ] + [Judgement("wide", "c", by("a"), "coherence", 1), Judgement("wide", "c", by("b"), "coherence", 7)]  # fmt: skip
    marks += [Judgement("near", "c", by("a"), "coherence", 3), Judgement("near", "c", by("b"), "coherence", 4)]
    disagreement = disagreements(marks, RateScript())
    assert [(d.item, round(d.spread, 3)) for d in disagreement] == [("wide", 1.0), ("near", 0.167)]
    assert disagreement[0].said == {"a": {"coherence": 1}, "b": {"coherence": 7}}


def test_ceiling_is_the_root_of_spearman_brown_and_met_by_simulation() -> None:
    assert spearman_brown(0.5, 3) == pytest.approx(0.75)
    rng = np.random.default_rng(0)
    truth = rng.normal(size=4000)
    ratings = truth[:, None] + rng.normal(size=(4000, 3))  # r = .5
    rows = [(str(u), str(r), float(v)) for u, row in enumerate(ratings) for r, v in enumerate(row)]
    table_ = rating_table(rows)
    estimate = ceiling(table_, resampling=Resampling(0))
    reached = float(np.corrcoef(truth, ratings.mean(axis=1))[0, 1])
    assert estimate.value == pytest.approx(reached, abs=0.01)
    assert mean_correlation(ratings) == pytest.approx(0.5, abs=0.03)


def test_equal_answers_are_said_of_the_items_that_they_are_of() -> None:
    """ann's one no is on an item of hers alone: the page shows it, so nobody is told that all her answers are equal."""
    rows = [("ann", n, "no" if n == 0 else "yes") for n in range(8)] + [("bob", n, "yes") for n in range(1, 8)]
    judgements = [Judgement(f"i{n}", f"c{n}", by(who), "guides", value) for who, n, value in rows]
    (aspect,) = agreement_report(judgements, FilterQuestion(), resampling=FEW).aspects
    assert "items with two raters" in aspect.agreement.alpha.text()
    assert "ann answered yes to all 7 items in common" in aspect.pairs[0].spearman.text()


def tagged(item: str, person: str, tags: str, case: str = "") -> Judgement:
    return Judgement(item, case or item, Rater.person(person), "tags", tags)


def test_the_mean_over_cases_of_the_mean_over_items_and_pairs() -> None:
    judgements = [
        tagged("a", "ann", "time, place"),
        tagged("a", "bo", "time"),
        tagged("a", "cem", ""),
        tagged("b", "ann", "cause", case="a"),
        tagged("b", "bo", "cause", case="a"),
        tagged("c", "ann", "cause"),
        tagged("c", "bo", "place"),
    ]
    estimate = jaccard(judgements)
    assert estimate.value == pytest.approx((((0.5 + 0 + 0) / 3 + 1) / 2 + 0) / 2)
    assert (estimate.n, estimate.cases) == (3, 2)


def test_items_where_nobody_chose_anything_say_nothing() -> None:
    empty = [tagged("a", "ann", ""), tagged("a", "bo", "")]
    assert jaccard(empty).value is None and jaccard([]).value is None
    assert jaccard([tagged("a", "ann", "time")]).value is None, "one person agrees with nobody"
    assert jaccard([*empty, tagged("b", "ann", "time"), tagged("b", "bo", "place")]).value == 0.0


def test_one_document_has_no_interval() -> None:
    same = [tagged(item, who, "time", case="d") for item in "ab" for who in ("ann", "bo")]
    estimate = jaccard(same)
    assert (estimate.value, estimate.low, estimate.cases) == (1.0, None, 1)
    assert set_of("time, place") == {"time", "place"}


def judged(item: str, value: int | None, *, judge: str = "m", aspect: str = "coherence") -> Rating:
    return Rating(
        key=f"rating/judge_{aspect}@1/judge:{judge}/{aspect}/{item}", item_id=item, aspect=aspect, value=value,  # type: ignore[arg-type]
        rater=f"judge:{judge}", form=f"judge_{aspect}@1", reason="" if value else "unreadable",
    )  # fmt: skip


@pytest.fixture
def rated(db: RatingsDB, store: Store) -> RatingsDB:
    """Two people, all of 12 items, and a training item."""
    record = {"fact": "f", "counts": "a", "new": "a", "old": "b", "question": "q", "script": "s"}
    items = [
        RaterControlItem(purpose=p, id=p, shown=record, expected={"coherence": 7}) for p in ("training", "attention")
    ]
    begin(db, store, "c", TASK, "ann", "bob", known=items)
    for name in ("ann", "bob"):
        work(db, "c", name)
    return db


def _controls(db: RatingsDB) -> set[str]:
    return {i for i, p in db.items("c").items() if p.purpose != "real"}


def test_training_and_attention_items_are_no_judgements(rated: RatingsDB) -> None:
    judgements = live_judgements(rated, "c")
    assert len(rated.current_answers("c")) == 2 * 14
    assert len(judgements) == 2 * 12 * 3
    assert {m.item for m in judgements}.isdisjoint(_controls(rated))


def test_only_the_latest_answer_and_no_withdrawn_one(rated: RatingsDB) -> None:
    first, second = [r for r in rated.current_answers("c", person="ann") if r.item not in _controls(rated)][:2]
    rated.save("c", "ann", first.item, {**(first.answers or {}), "coherence": 7, "comment": "x"}, form=first.form)
    rated.save("c", "ann", second.item, None, form=second.form)
    judgements = [m for m in live_judgements(rated, "c") if m.name == "ann"]
    assert {m.item for m in judgements}.isdisjoint({second.item})
    assert [m.value for m in judgements if m.item == first.item and m.aspect == "coherence"] == [7]
    assert {m.aspect for m in judgements} == {"coherence", "consistency", "completeness"}, "a comment is no judgement"


def test_judges_are_taken_on_people_s_items_only_with_their_case_and_unscored_ones_left_out(
    rated: RatingsDB, store: Store
) -> None:
    live = live_judgements(rated, "c")
    items = sorted({m.item for m in live})
    store.put(
        [judged(items[0], 3), judged(items[1], None), judged("f" * 20, 4), judged(items[2], 5, aspect="executability")]
    )
    import_campaign(rated, store, "c")
    (one,) = judgements_by_judges(store, make_task(TASK), live)
    assert (one.item, one.name, one.aspect, one.value) == (items[0], "judge:m", "coherence", 3)
    assert one.case == next(m.case for m in live if m.item == items[0])


def test_ratings_of_another_rubric_are_no_judgements_of_a_task(store: Store) -> None:
    """Coherence of a script, from 1 to 7, and of an open answer, from 1 to 5, share nothing but their name."""
    answer = judged("i2", 5).model_dump() | {"key": "k", "rubric": "tendency", "scale": "likert5"}
    store.put([judged("i1", 3), Rating.model_validate(answer)])
    people_s = [Judgement(i, "c", Rater.person("ann"), "coherence", 4) for i in ("i1", "i2")]
    assert [(m.item, m.value) for m in judgements_by_judges(store, make_task(TASK), people_s)] == [("i1", 3)]


def test_a_filter_has_no_judges(db: RatingsDB, store: Store) -> None:
    store.put([judged("i1", 3)])
    own_items = [Judgement("i1", "c", Rater.person("ann"), "guides", "yes")]
    assert judgements_by_judges(store, make_task("filter_question"), own_items) == []


@pytest.mark.parametrize(
    ("task", "aspect", "values", "expected"),
    [
        (RateScript(), "coherence", (2, 6), [2.0, 6.0]),
        (FilterQuestion(), "guides", ("no", "yes"), [0.0, 1.0]),
        (FilterQuestion(), "guides", ("yes", "yes"), [1.0, 1.0]),
    ],
)
def test_a_table_holds_one_aspect_on_the_whole_scale(
    task: Any, aspect: str, values: Any, expected: list[float]
) -> None:
    rows = [Judgement("i", "case", Rater.person(p), aspect, v) for p, v in zip("ab", values, strict=True)]
    rows.append(Judgement("j", "case", Rater.person("a"), task.form.asked_fields()[1].name, values[0]))
    table = judgement_table(rows, task, aspect)
    assert list(table.raters) == ["a", "b"] and list(table.units) == ["i"] and list(table.cases) == ["case"]
    assert [float(x) for x in table.values[0]] == expected


HOSTILE = [
    "[1, 2]", "5", "null", "{not json", '{"coherence": "abc", "consistency": 7, "completeness": 1}', b"\xff\x00",
    '{"coherence": 1e308, "consistency": [1], "completeness": {"a": 1}}', '{"coherence": true, "comment": ["x"]}',
    '{"coherence": 3, "consistency": 7, "completeness": "\\ud800"}', "[" * 5000,
]  # fmt: skip


def test_whatever_is_stored_stops_no_statistic_and_is_counted(rated: RatingsDB, store: Store) -> None:
    from annotation_ui.agreement.report import agreement_report, disagreements
    from annotation_ui.campaigns.answer_import import write_gold_set
    from annotation_ui.campaigns.campaign import rater_progress
    from curation.stats.bootstrap import Resampling
    from tests.annotation_ui.cli.conftest import call

    own_items = [r.id for r in rated.current_answers("c", person="ann")]
    for number, body in zip(own_items, HOSTILE, strict=False):
        rated.connection.execute("UPDATE revisions SET answers = ?, saved_at = 7 WHERE id = ?", [body, number])
    rated.connection.execute("UPDATE revisions SET seconds = -3 WHERE id = ?", [own_items[-1]])
    rated.connection.execute("UPDATE revisions SET seconds = 0 WHERE id = ?", [own_items[-2]])
    rated.connection.execute(
        "INSERT INTO revisions (campaign, person, item, form, answers, saved_at) "
        "VALUES ('c', 'eve', 'gone', 'f', '{}', '')"
    )
    rated.connection.execute(
        "INSERT INTO decisions (campaign, item, lead, answers, saved_at) VALUES ('c', ?, 'lea', '[]', 'x'), "
        "('c', 'gone', 'lea', '{}', 'x')",
        [live_judgements(rated, "c")[0].item],
    )
    assert unreadable_answers(rated, "c") == len(HOSTILE) + 1
    task, judgements = make_task(TASK), live_judgements(rated, "c")
    assert {type(m.value) for m in judgements} == {int} and {m.value for m in judgements} <= set(range(1, 8))
    assert agreement_report(judgements, task, resampling=Resampling(20)).items == 12
    disagreements(judgements, task)
    write_gold_set(rated, "c", rated.path.with_name("gold.jsonl"))
    (ann,) = [s for s in rater_progress(rated, "c") if s.person == "ann"]
    assert (ann.done, ann.odd_times, ann.seconds) == (12, 2, 4.0)
    output = call("status", "-r", rated.path).output
    assert "2 times not usable" in output and f"{len(HOSTILE) + 1} stored answers cannot be read" in output
    assert call("agreement", "c", "-r", rated.path, "--resamples", 20).exit_code == 0
    import_result = import_campaign(rated, store, "c")
    assert len([r for r in import_result.rejected if r.person == "lea"]) == 2
    assert ("eve", "gone", "the campaign has no such item") in import_result.rejected
