"""A run on the disk: folders, manifests, journals; half-written and foreign ones."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from curation.files.journal import Journal
from curation.splits.split_file import make_split, write_split
from evaluation.analysis.comparison import compare, merge_runs
from evaluation.analysis.sequences import forgetting_points
from evaluation.metrics.generation import load_metrics
from evaluation.report.csv_tables import flat
from evaluation.report.narrative import _of_run, opening
from evaluation.report.sections import make_section
from evaluation.runs.frame import score_run
from evaluation.runs.plan import for_model, open_plan
from evaluation.runs.results import (
    EditorFolder,
    Run,
    asked_cases,
    cases_by_key,
    edits_made,
    load_run,
    read_with_digest,
    write_with_digest,
)
from schemas.core.errors import DataError, UserError
from tests.support.arithmetic import ArithmeticEditor, ArithmeticLM, go, make_case, make_cases, make_config, unfinish
from tests.support.evaluation.runner_of import runner_of
from tests.support.report.fading import run
from tests.support.report.fading import run as sequence


def test_run_folder_is_self_contained(tmp_path):
    outcomes, _ = go(tmp_path)
    folder = outcomes["push"].folder
    assert folder.manifest() == outcomes["push"].manifest
    assert json.loads((folder.path / "config.json").read_text())["editors"]["push"]["name"] == "push"
    session = json.loads(folder.sessions.read_text())["sessions"][0]
    assert session["packages"]["pydantic"] and session["python"]
    assert load_run(tmp_path).split.digest == make_cases().digest
    assert str(tmp_path) not in folder.sessions.read_text()


@pytest.mark.parametrize("damage", ["absent", "format", "empty"])
def test_not_a_run_folder(tmp_path, damage):
    if damage == "format":
        (tmp_path / "run.json").write_text('{"format": 99}')
    elif damage == "empty":
        runner_of(make_config(tmp_path), make_cases(), scorer=ArithmeticLM(), make=ArithmeticEditor)._write(
            {}, started="x", finished=None
        )
    with pytest.raises(UserError):
        load_run(tmp_path)


def test_a_case_that_the_split_lacks_is_named(tmp_path: Path) -> None:
    go(tmp_path)
    path = tmp_path / "run.json"
    about = read_with_digest(path)
    write_with_digest(path, about | {"cases": [*about["cases"][1:], "case/cas"]})
    with pytest.raises(DataError, match=r"run.json: the run names the case 'case/cas', and its split has none"):
        load_run(tmp_path)


def test_every_session_is_on_record(tmp_path: Path) -> None:
    for limit in (1, 2):
        outcomes, _ = go(tmp_path, limit=limit)
    sessions = json.loads(outcomes["push"].folder.sessions.read_text())["sessions"]
    assert len(sessions) == 2 and load_run(tmp_path).editors[1].environment == sessions[-1]


def test_cases_and_editors_in_their_order(tmp_path: Path) -> None:
    go(tmp_path, editors=[{"name": "push", "label": "b"}, {"name": "push", "label": "a", "params": {"strength": 1}}])
    run = load_run(tmp_path)
    assert [e.label for e in run.editors] == ["none", "b", "a"] and run.baseline.label == "none"
    assert tuple(cases_by_key(run)) == run.cases and all(c.key == k for k, c in cases_by_key(run).items())
    assert all(tuple(e.results) == run.cases for e in run.editors)


def test_a_smaller_limit_shows_its_own_cases_only(tmp_path: Path) -> None:
    go(tmp_path, limit=4)
    go(tmp_path, limit=2)
    run = load_run(tmp_path)
    assert [len(e.results) for e in run.editors] == [2, 2] and len(run.editors[1].folder.results()) == 4  # type: ignore[union-attr]


def test_labels_that_make_one_folder_name_are_told_apart(tmp_path: Path) -> None:
    one, two = (EditorFolder.of(tmp_path, label=name, run="0123456789abcdef") for name in ("a/b", "A B"))
    other = EditorFolder.of(tmp_path, label="a/b", run="fedcba9876543210")
    assert one.path.parent == two.path.parent == tmp_path and one != other
    assert one.path.name.endswith("-0123456789")


def journal(folder: Path) -> Path:
    (result,) = [p for p in folder.glob("push*/journal.jsonl")]
    return result


def test_of_a_sequence_the_answer_with_most_edits_counts(tmp_path: Path) -> None:
    """A case is asked right after its edit and again at each length: its result is the last of them."""
    (push,) = [e for e in load_run(sequence(tmp_path)).editors if e.label == "push"]
    assert push.folder is not None
    assert len(push.folder.units()) > 4 and {r.after for r in push.folder.results().values()} == {4}
    place = push.folder.journal
    place.write_text("".join(reversed(place.read_text().splitlines(keepends=True))))
    assert {r.after for r in push.folder.results().values()} == {4}, "whatever the order of the lines"


def printed(folder: Path) -> Any:
    """What is printed of a run: means and intervals, and what the run as a whole was."""
    run, metrics = load_run(folder), load_metrics(["es", "ns", "s_es"])
    rows = [(row.label, row.summaries) for row in compare(run, score_run(run, metrics, "mean"), metrics)[0].rows]
    about = [run.about[name] for name in ("config", "model", "split", "cases", "normalisation", "regime", "order")]
    return rows, about, [(one.manifest, one.environment) for one in run.editors]


def test_no_flipped_bit_changes_what_is_printed(tmp_path: Path) -> None:
    """In any file that ``load_run`` reads; the same command makes the run whole again."""
    go(tmp_path, limit=3)
    want, draw = printed(tmp_path), random.Random(3)
    read = ["run.json", "split-*.jsonl", "push-*/journal.jsonl", "push-*/manifest.json", "push-*/environment.json"]
    for path in [path for name in read for path in tmp_path.glob(name)]:
        data = path.read_bytes()
        for _ in range(40):
            flipped = bytearray(data)
            flipped[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            path.write_bytes(flipped)
            try:
                assert printed(tmp_path) == want, f"{path.name}: {flipped.decode(errors='replace')}"
            except UserError as error:
                assert path.name in str(error.where)
        if path.suffix == ".json" or path.name.startswith("split"):
            path.unlink()
        repeat, lm = go(tmp_path, limit=3)
        assert (repeat["push"].computed, len(lm.calls)) == ((1, 1) if path.name == "journal.jsonl" else (0, 0))
        assert printed(tmp_path)[0] == want[0]


def test_lines_that_a_finished_run_lost_are_noticed(tmp_path: Path) -> None:
    go(tmp_path, limit=3)
    place = journal(tmp_path)
    place.write_bytes(b"".join(place.read_bytes().splitlines(keepends=True)[:-1]))
    with pytest.raises(DataError, match="2 valid lines, and the run ended with 3 .*; run the same command again"):
        load_run(tmp_path)
    place.unlink()
    with pytest.raises(DataError, match="0 valid lines"):
        load_run(tmp_path)


def test_a_line_cut_by_a_kill_is_not_there(tmp_path: Path) -> None:
    go(tmp_path, limit=3)
    unfinish(tmp_path)
    place = journal(tmp_path)
    place.write_bytes(place.read_bytes()[:-20])
    assert [len(e.results) for e in load_run(tmp_path).editors] == [3, 2]
    repeat, lm = go(tmp_path, limit=3)
    assert (repeat["push"].computed, len(lm.calls)) == (1, 1)


def test_a_line_of_something_else_says_where(tmp_path: Path) -> None:
    go(tmp_path, limit=1)
    place = journal(tmp_path)
    unfinish(tmp_path)
    with Journal(place, write=True) as lines:
        for key, value in list(lines.items()):
            lines.append(key, {**value, "seconds_edit": "long"})
    with pytest.raises(DataError, match="case case/") as error:
        load_run(tmp_path)
    assert str(place) in str(error.value)


def test_a_method_that_has_not_begun_is_left_out(tmp_path: Path) -> None:
    go(tmp_path, editors=["push"], limit=2)
    (journal(tmp_path).parent / "manifest.json").unlink()
    assert [e.label for e in load_run(tmp_path).editors] == ["none"]
    journal(tmp_path).unlink()
    assert EditorFolder(tmp_path / "none").results() == {}


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("[1]", "format is not known"),
        ('{"format": 2}', "format is not known"),
        ("{", "run.json"),
        ("", "run.json"),
    ],
)
def test_a_run_file_that_is_none(tmp_path: Path, damage: str, message: str) -> None:
    go(tmp_path, limit=1)
    (tmp_path / "run.json").write_text(damage)
    with pytest.raises(DataError, match=message) as error:
        load_run(tmp_path)
    assert "run.json" in str(error.value.where)


def test_a_manifest_that_is_none_says_which(tmp_path: Path) -> None:
    go(tmp_path, limit=1)
    path = journal(tmp_path).parent / "manifest.json"
    write_with_digest(path, {**read_with_digest(path), "params": 3})
    with pytest.raises(DataError, match="params") as error:
        load_run(tmp_path)
    assert error.value.where == str(path)


def test_the_split_beside_the_run_is_the_one_it_was_on(tmp_path: Path) -> None:
    go(tmp_path, limit=1)
    (copy,) = tmp_path.glob("split-*.jsonl")
    lines = copy.read_text().splitlines(keepends=True)
    copy.write_text("".join([*lines[:-1], lines[-1].replace("Lima", "Bonn")]))
    with pytest.raises(DataError, match="digest"):
        load_run(tmp_path)
    copy.unlink()
    with pytest.raises(UserError, match="split-"):
        load_run(tmp_path)


SAMPLED = {"name": "sequential", "size": [1, 4], "sample": 2}
SHORT = {"name": "sequential", "size": [1, 2], "sample": 9}
UNSAMPLED = {"name": "sequential", "size": [1, 2]}


def _table(found: Run) -> Any:
    metrics = load_metrics(["es"])
    return compare(found, score_run(found, metrics, "mean"), metrics)[0]


@pytest.mark.parametrize(
    ("regime", "asked", "made"),
    [(SAMPLED, 3, 4), (SHORT, 2, 2), ({**SAMPLED, "size": 4}, 2, 4), ("single", 4, 4)],
)
def test_what_is_never_asked_is_not_waited_for(tmp_path: Path, regime: Any, asked: int, made: int) -> None:
    found = load_run(run(tmp_path, regime=regime))
    table = _table(found)
    assert len(asked_cases(found)) == table.cases == asked
    assert edits_made(found) == made
    assert [row.pending for row in table.rows] == [0, 0]
    text = " ".join(_of_run(found, table))
    assert "not yet run" not in text and (f"{made} edits were made; {table.cases}" in text) == (table.cases < made)
    edited = opening(make_section(found, None, None), ())["edited"]
    assert edited.startswith(f"{made} facts of the split")
    assert (f"{table.cases} of them were asked" in edited) == (table.cases < made)


@pytest.mark.parametrize(
    ("regime", "edited"),
    [
        (UNSAMPLED, 2),
        ({**UNSAMPLED, "score": "end"}, 2),
        ({**UNSAMPLED, "score": "immediate"}, 2),
        ({**UNSAMPLED, "size": [1, 2, 4]}, 4),
    ],
)
def test_cases_after_the_last_length_are_no_work_left(tmp_path: Path, regime: Any, edited: int) -> None:
    """Without a sample the unedited model is asked them, so they stay in the table; no method is waited for."""
    found = load_run(
        run(
            tmp_path,
            regime=regime,
            editors=["none", "push", {"name": "push", "label": "more", "params": {"strength": 6}}],
        )
    )
    table = _table(found)
    assert (len(asked_cases(found)), table.cases, edits_made(found)) == (4, 4, edited)
    assert [(r.finished, r.pending, r.unedited) for r in table.rows] == [(4, 0, 0)] + 2 * [(edited, 0, 4 - edited)]
    text = " ".join(_of_run(found, table))
    assert "not yet run" not in text and ("2 of the 4 cases come after" in text) == (edited < 4)
    assert opening(make_section(found, None, None), ())["edited"].startswith(f"{edited} facts of the split")
    assert [row["cases_pending"] for row in flat([table], load_metrics(["es"]))] == [0] + 2 * [4 - edited], (
        "the column stays what it was"
    )


@pytest.mark.parametrize("order", [0, 1], ids=["short first", "long first"])
def test_a_longer_run_beside_a_shorter_one_keeps_its_cases(tmp_path: Path, order: int) -> None:
    short = load_run(run(tmp_path / "short", regime=UNSAMPLED))
    longer = load_run(run(tmp_path / "long", regime={**UNSAMPLED, "size": [1, 2, 4]}))
    (found,) = merge_runs([longer, short] if order else [short, longer])
    assert edits_made(found) == 4 and [(r.pending, r.unedited) for r in _table(found).rows] == [(0, 0), (0, 0)]


def test_seconds_of_an_edit_come_from_where_it_was_made(tmp_path: Path) -> None:
    found = load_run(run(tmp_path))
    assert found.editors[1].folder is not None
    units = found.editors[1].folder.units().values()
    own = {u.case: u for u in units if u.position == u.after}
    again = {u.case: u for u in units if u.after == 4 and u.position != 4}
    assert len(again) == 3 and all(u.seconds_edit == 0 for u in again.values())
    assert all(own[case].seconds_edit > 0 for case in again)
    for case, result in found.editors[1].results.items():
        assert result.seconds_edit == own[case].seconds_edit and result.after == 4
        assert result.answers == (again.get(case) or own[case]).answers, "only what belongs to the edit is taken over"


def test_a_sequence_is_scored_against_the_last_valid_request(tmp_path: Path, caplog: Any) -> None:
    """Peru -> Oslo, then Peru -> Rome: the overwritten edit is in no table and on no curve after that."""
    cases = [make_case("Peru"), make_case("Kenya"), make_case("Peru", new="Rome")]
    cases[2] = cases[2].model_copy(
        update={"key": "case/peru2", "fact": cases[2].fact.model_copy(update={"key": "fact/peru2"})}
    )
    split = make_split("two", cases)
    regime = {"name": "sequential", "size": [1, 2, 3]}
    go(tmp_path / "run", split=split, regime=regime)
    found = load_run(tmp_path / "run")
    order = list(found.cases)
    first, second = sorted(("case/peru", "case/peru2"), key=order.index)
    assert set(asked_cases(found)) == {second, "case/kenya"}
    table = _table(found)
    assert table.cases == 2 and [row.pending for row in table.rows] == [0, 0]
    points = {p.edits: p for p in forgetting_points(found, load_metrics(["es"]), "mean")}
    assert points[3].all.n == 2, "three edits were made, one of them is overwritten"
    go(tmp_path / "batch", split=split, regime={"name": "batch", "size": [1, 3]})
    in_batch = load_run(tmp_path / "batch")
    assert set(asked_cases(in_batch)) == {second, "case/kenya"} and _table(in_batch).cases == 2
    path = tmp_path / "split.jsonl"
    write_split(split, path)
    for wanted in (regime, {"name": "batch", "size": 3}, "single"):
        caplog.clear()
        open_plan(make_config(tmp_path / "new", split={"file": str(path)}, editors=["none"], regime=wanted))
        named = [r.getMessage() for r in caplog.records if "contradict each other" in r.getMessage()]
        assert len(named) == (wanted != "single") and all(first in text and second in text for text in named)


@pytest.mark.parametrize("asked", [{"chat": "always"}, {"thought": {"tokens": 9, "everywhere": True}}])
def test_a_template_that_the_model_does_not_have_is_refused_before_the_first_case(tmp_path: Path, asked: Any) -> None:
    """Every case failed instead, and the advice was --retry-failed."""
    config = make_config(tmp_path, split="mini", editors=["none"], metrics=["s_es_gen_question"], generation=asked)
    plan = open_plan(config)
    with pytest.raises(UserError, match=r"no chat template.*generation\.chat"):
        for_model(plan, has_chat=False)
    assert for_model(plan, has_chat=True) == plan
