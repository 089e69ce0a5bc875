"""A lead's figures are those of the plain commands, and their digest tells every change of the answers."""

from __future__ import annotations

import html
import sys
from pathlib import Path

import pytest

from annotation_ui.agreement.method_means import method_means, methods_of
from annotation_ui.agreement.overview import Overview, answers_digest, campaign_overview, compute_apart, rater_notes
from annotation_ui.agreement.report import Judgement, agreement_report, live_judgements
from annotation_ui.campaigns.campaign import make_task, task_of
from annotation_ui.ratings.database import RatingsDB
from curation.stats.bootstrap import Resampling
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.raters import Rater
from tests.annotation_ui.app.conftest import pilot
from tests.annotation_ui.conftest import work
from tests.support.stats.nearly import nearly

FEW = Resampling(50)
TASK = make_task("rate_executability")


@pytest.fixture
def rated(db: RatingsDB, store: Store) -> RatingsDB:
    pilot(db, store, "ann", "bob", "cat")
    for person, count in (("ann", 12), ("bob", 12), ("cat", 7)):
        work(db, "pilot", person, count)
    return db


def test_the_figures_are_those_of_the_plain_computation(rated: RatingsDB) -> None:
    overview = campaign_overview(rated, "pilot", resampling=FEW)
    task, judgements = task_of(rated, "pilot"), live_judgements(rated, "pilot")
    report = agreement_report(judgements, task, resampling=FEW)
    means = method_means(judgements, methods_of(rated, "pilot"), task)
    assert overview.alphas == {a.aspect: a.agreement.alpha for a in report.aspects}
    assert means.report is not None and overview.severity == means.report.severity
    text = html.unescape(overview.body)
    for e in [*means.report.means.values(), *(d.difference for d in means.report.differences)]:
        assert e.text(2) in text
    assert all(a.agreement.ac2.text() in text for a in report.aspects)
    assert Overview.model_validate_json(overview.model_dump_json()) == overview


def test_a_snapshot_that_cannot_be_read_is_said_and_the_rest_is_there(rated: RatingsDB, tmp_path: Path) -> None:
    (tmp_path / "torn.duckdb").write_bytes(b"no store")
    overview = campaign_overview(rated, "pilot", tmp_path / "torn.duckdb", resampling=FEW)
    assert "torn.duckdb" in overview.warning and len(overview.alphas) == 3


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE revisions SET answers = replace(answers, '7', '6') WHERE id = 1",
        "UPDATE revisions SET answers = NULL WHERE id = 1",
        "INSERT INTO revisions SELECT NULL, campaign, person, item, form, answers, seconds, saved_at, NULL, NULL"
        " FROM revisions WHERE id = 1",
        "INSERT INTO skips SELECT campaign, 'cat', item, 'other', NULL, 't' FROM revisions WHERE id = 1",
        "UPDATE campaigns SET settings = json_set(settings, '$.stop_width', 0.4)",
        "DELETE FROM people WHERE name = 'bob'",
        "INSERT INTO decisions SELECT NULL, campaign, item, 'lea', answers, 't' FROM revisions WHERE id = 1",
    ],
    ids=["by hand", "withdrawal", "another answer", "skip", "stop rule", "forget", "decision"],
)
def test_every_change_has_another_digest(rated: RatingsDB, change: str) -> None:
    before = answers_digest(rated, "pilot")
    assert answers_digest(rated, "pilot") == before, "nothing changed"
    rated.connection.execute(change)
    assert answers_digest(rated, "pilot") != before


def test_another_campaign_s_answers_change_nothing(rated: RatingsDB, store: Store) -> None:
    pilot(rated, store, "ann", "bob", "cat", name="second", task="rate_executability")
    before = answers_digest(rated, "pilot")
    item = rated.assignments("second", "ann")[0].item
    rated.save("second", "ann", item, {"executability": 3}, form="rate_executability@3")
    assert answers_digest(rated, "pilot") == before


def judgements(*lines: tuple[str, list[int], float]) -> list[Judgement]:
    """Answers of people to items in order: name, values, seconds an item."""
    return [
        Judgement(f"i{n}", f"c{n}", Rater.person(line), "executability", v, f"2026-11-01T{n:04d}", seconds)
        for line, values, seconds in lines
        for n, v in enumerate(values)
    ]


STEADY = [3, 5, 4, 6, 2, 5, 3, 6, 4, 5, 2, 6, 3, 5, 4, 6, 2, 5, 3, 6]


@pytest.mark.parametrize(
    ("values", "seconds", "expected"),
    [
        (STEADY, 20.0, ()),
        (STEADY, 11.0, ()),
        (STEADY, 9.0, ("fast: 9 s an item, the others 20 s",)),
        (STEADY[:9], 2.0, ()),
        ([7] * 20, 20.0, ("executability: 7 in 20 of 20 answers",)),
        ([*[7] * 17, 1, 2, 3], 20.0, None),
        ([max(1, v - 3) if n < 10 else min(7, v + 3) for n, v in enumerate(STEADY)], 20.0, ("more lenient over time",)),
        ([min(7, v + 3) if n < 10 else max(1, v - 3) for n, v in enumerate(STEADY)], 20.0, ("stricter over time",)),
    ],
    ids=["steady", "quick", "fast", "few", "always 7", "mostly 7", "kinder", "stricter"],
)
def test_what_a_lead_should_look_at(values: list[int], seconds: float, expected: tuple[str, ...] | None) -> None:
    votes = judgements(("ann", STEADY, 20.0), ("bob", STEADY, 20.0), ("cat", values, seconds))
    report = rater_notes(votes, agreement_report(votes, TASK, resampling=Resampling(200)))
    notes = report.get("cat", ())
    if expected is None:
        assert not any("answers" in note for note in notes)
    else:
        assert len(notes) == len(expected) and all(e in n for e, n in zip(expected, notes, strict=True))


@pytest.mark.slow
def test_the_process_of_its_own_finds_the_same_figures(db: RatingsDB, store: Store) -> None:
    pilot(db, store, "ann", "bob", task="rate_executability")
    for n, a in enumerate(db.assignments("pilot")):
        db.save("pilot", a.person, a.item, {"executability": n % 7 + 1}, form="rate_executability@3")
    overview = compute_apart(db.path, "pilot")
    plain = campaign_overview(db, "pilot")
    fields = {"made_at", "seconds"}
    assert overview.model_dump(exclude=fields) == nearly(plain.model_dump(exclude=fields), 1e-12)


def test_a_process_that_fails_says_with_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho first >&2\necho 'no campaign' >&2\nexit 1\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(UserError, match="could not be computed: no campaign"):
        compute_apart(tmp_path / "r.sqlite", "nowhere")
