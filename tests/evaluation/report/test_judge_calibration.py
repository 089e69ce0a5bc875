"""Judges of the stores that a report names: each with its calibration, or with the reason why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from curation.store.store import Store
from evaluation.judge.calibration import CalibrationRequest, as_data, calibrate_judge
from evaluation.judge.inputs import script_inputs
from evaluation.judge.ratings import rated_scripts
from evaluation.report.judge_tables import JudgeCalibration, calibrations
from evaluation.report.write import write_report
from evaluation.runs.results import load_run
from schemas.core.errors import UserError
from schemas.lineage import Lineage
from tests.support.evaluation.calibrated import study
from tests.support.facts import make_fact
from tests.support.judge import fill_store, make_script, rating
from tests.support.ratings import rated_store
from tests.support.report.read_report import finished

pytestmark = pytest.mark.usefixtures("no_pictures")


def test_every_judge_is_calibrated_by_itself(tmp_path: Path) -> None:
    """A judge among others gives what it gives alone: no other judge's ratings are in its estimate."""
    store = tmp_path / "s.duckdb"
    real = study(store, facts=16)
    with Store.open(store) as db:
        asks = script_inputs(db)
        calibration = calibrate_judge(rated_scripts(db), asks, CalibrationRequest(judge="judge:x"))
    with Store.open(store, write=True) as db:
        db.put([rating(item, "completeness", int(v), "judge:a") for item, v in real.items()])
    first, second = calibrations([store])
    assert (first.judge, second.judge, first.why, second.why) == ("judge:a", "judge:x", "", "")
    assert first.calibration is not None and second.calibration is not None
    assert as_data(second.calibration) == as_data(calibration)
    assert all(row.calibrated.bias.value == pytest.approx(0.0) for row in first.calibration.rows)


def test_a_judge_that_cannot_be_calibrated_says_why(tmp_path: Path) -> None:
    """No person rated what it rated: the other judges and the report go on."""
    store = tmp_path / "s.duckdb"
    (script,) = fill_store(store, facts=1, editors=("rome",))
    with Store.open(store, write=True) as db:
        db.put([rating(script.id, "completeness", 4)])
    (calibration,) = calibrations([store])
    assert (
        calibration.judge == "judge:x"
        and calibration.calibration is None
        and calibration.why
        and "\n" not in calibration.why
    )


def test_a_judge_of_the_writers_family_is_flagged(tmp_path: Path) -> None:
    store = tmp_path / "s.duckdb"
    (script,) = fill_store(store, facts=1, editors=("rome",))
    with Store.open(store, write=True) as db:
        db.put([rating(script.id, "completeness", 4, judge) for judge in ("judge:gpt-x", "judge:claude-x")])
        question = next(a for a in script_inputs(db))
        assert question.writer == "gpt2-xl"
    claude, gpt = calibrations([store])
    assert claude.flags == () and len(gpt.flags) == 1 and "gpt2-xl" in gpt.flags[0]
    with Store.open(store, write=True) as db:
        db.put([], [Lineage(item_id="q", stage="questions", made_at="t", model="claude-z")])
    claude, _ = calibrations([store])
    assert len(claude.flags) == 1 and "claude-z" in claude.flags[0]


def test_a_script_without_its_fact_is_a_line_of_the_report(tmp_path: Path) -> None:
    path, good = tmp_path / "lost.duckdb", tmp_path / "good.duckdb"
    with Store.open(path, create=True) as store:
        store.put([make_script(make_fact("Gone", "Lima", "Oslo", key="fact/gone"), "rome", ("Go",))])
    study(good, facts=16)
    first, second = calibrations([path, good])
    assert first.judge == "judges in lost.duckdb" and first.calibration is None and "fact/gone" in first.why
    assert second.judge == "judge:x" and second.calibration is not None


def test_stores_without_a_judge_have_none(tmp_path: Path) -> None:
    empty, people = tmp_path / "empty.duckdb", tmp_path / "people.duckdb"
    with Store.open(empty, create=True):
        pass
    (script,) = fill_store(people, facts=1, editors=("rome",))
    with Store.open(people, write=True) as store:
        store.put([rating(script.id, "completeness", 4, "person:ann")])
    assert calibrations([]) == calibrations([empty, people]) == []
    with pytest.raises(UserError, match="none.duckdb"):
        calibrations([tmp_path / "none.duckdb"])


def test_stored_control_items_are_with_their_judge_and_on_the_page(tmp_path: Path) -> None:
    out = finished(tmp_path / "run")
    store = out / "s.duckdb"
    rated_store(store, load_run(out), ("judge:x", "judge:y"))
    fields = {"rater": "judge:x", "form": "judge_coherence_paper@2", "reason": "", "accepted": [1, 2]}
    lines = [
        Lineage(item_id=f"{n}" * 20, stage="judge_control", made_at=f"2026-01-0{n}T00:00:00Z",
                detail={**fields, "control": name, "aspect": "coherence", "value": value, "came": n})
        for n, name, value in ((1, "old tower", 7), (2, "old tower", 2), (3, "<b>new", 6), (4, "cut", None))
    ]  # fmt: skip
    with Store.open(store, write=True) as db:
        db.put([], lines)
    x, y = calibrations([store])
    assert y.controls is None and x.controls is not None and x.controls[:2] == (3, 1)
    html = write_report([out], store=store).files[0].read_text()
    assert "Control items: 1 of 3 ratings are in the accepted range." in html
    assert "&lt;b&gt;new</th>" in html and "<td>1 to 2</td>" in html
    assert "No control item of this judge is stored" in html, "of the other judge"


def test_a_control_method_of_another_label_is_no_rival_among_calibrated_methods(tmp_path: Path) -> None:
    """A store knows labels only; the run says which of them is a control method."""
    null = {"name": "boost", "label": "lift", "params": {"strength": 9.0}}
    out = finished(tmp_path / "run", editors=["push", null])
    study(out / "s.duckdb", facts=10, editors=("none", "lift", "push"))
    (plain,), (informed,) = calibrations([out / "s.duckdb"]), calibrations([out / "s.duckdb"], {"none", "lift"})

    def rivals(judge: JudgeCalibration) -> list[tuple[str, str]]:
        assert judge.calibration is not None
        return [(g.first.editor, g.second.editor) for g in judge.calibration.gaps if g.family == "among"]

    assert rivals(plain) == [("lift", "push")] and rivals(informed) == []
    html = write_report([out], store=out / "s.duckdb").files[0].read_text()
    assert "Methods less no edit, calibrated" in html and "Differences between methods, calibrated" not in html


def test_figures_that_are_refused_are_a_sentence_and_no_table_of_dashes(tmp_path: Path) -> None:
    """Two rated cases a method: 16 rows of five dashes, and three boxes of differences without one."""
    run = load_run(finished(tmp_path / "run"))
    store = tmp_path / "s.duckdb"
    scripts = rated_store(store, run, ("judge:x",))
    with Store.open(store, write=True) as db:
        cases = sorted({s.case for s in scripts})[:2]
        ratings = [
            rating(s.id, "completeness", 4 + n % 2, "person:ann") for n, s in enumerate(scripts) if s.case in cases
        ]
        chance = {"probability": 0.25}
        db.put(ratings, [Lineage(item_id=r.id, stage="annotation", made_at="t", detail=chance) for r in ratings])
    (calibration,) = calibrations([store])
    html = write_report([tmp_path / "run"], out=tmp_path / "r.html", store=store).files[0].read_text()
    part = html.split('id="calibrated"')[1]
    if calibration.calibration is None:
        pytest.fail(calibration.why)
    assert "Without a calibrated figure" in part and "fewer than 5" in part
    assert "judge:x, calibrated" not in part and "Differences between methods, calibrated" not in part
