"""Single answers out of the ratings file and the store: the same ones, of the same people, under the same case."""

from __future__ import annotations

from typing import Any

import pytest

from annotation_ui.agreement.report import (
    Judgement,
    judgement_table,
    judgements_by_judges,
    live_judgements,
    unreadable_answers,
)
from annotation_ui.campaigns.answer_import import import_campaign
from annotation_ui.campaigns.campaign import make_task
from annotation_ui.campaigns.control_items import RaterControlItem
from annotation_ui.ratings.database import RatingsDB
from annotation_ui.tasks.generated_scripts import RateScript
from annotation_ui.tasks.script_questions import FilterQuestion
from curation.store.store import Store
from schemas.raters import Rater
from schemas.ratings import Rating
from tests.annotation_ui.conftest import TASK, begin, work


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
