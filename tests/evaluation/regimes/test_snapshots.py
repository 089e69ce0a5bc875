"""Snapshots in whole runs: nothing is edited twice, bad files are left aside with a sentence, the disk is bounded."""

from __future__ import annotations

import hashlib
import io
import logging
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from curation.files.journal import Journal
from evaluation.editors.presets import make_editor
from evaluation.engines.simple import SimpleEngine
from evaluation.inference.answering import ModelScorer
from evaluation.regimes import snapshots as module
from evaluation.runs.runner import EditorOutcome
from schemas.core.errors import UserError
from tests.evaluation.regimes.test_sequential import SPLIT, by_unit, config
from tests.support.evaluation.runner_of import runner_of
from tests.support.tiny import make

SEQUENCE = {"name": "sequential", "size": [2, 5], "snapshot_every": 1}


class Counted:
    """A method whose edits are counted, and which is stopped before one of them."""

    def __init__(self, inner: Any, stop: int | None = None, fail: str = "") -> None:
        self.inner, self.made, self.stop, self.fail = inner, [], stop, fail

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def edit_after(self, requests: Any, earlier: Any) -> Any:
        self.made.append(requests[0].subject.text)
        if len(self.made) == self.stop:
            raise KeyboardInterrupt
        if requests[0].subject.text == self.fail:
            raise RuntimeError("cannot edit it")
        return self.inner.edit_after(requests, earlier)


def go(
    out: Path,
    *,
    stop: int | None = None,
    fail: str = "",
    name: str = "ft",
    regime: Any = SEQUENCE,
) -> tuple[EditorOutcome | None, list[str]]:
    """A run in a fresh model, and the subjects whose edits were made; no outcome where it was stopped."""
    lm, wanted = make("llama"), config(out, regime, name)
    made: dict[str, Counted] = {}

    def one(kind: str, params: Any) -> Any:
        made[kind] = Counted(make_editor(kind, lm, Cache(out / "cache"), params), stop, fail)
        return made[kind]

    runner = runner_of(wanted, SPLIT, scorer=ModelScorer(lm), make=one, engine=SimpleEngine(ModelScorer(lm)))
    try:
        return runner.run()[1], made[name].made
    except KeyboardInterrupt:
        return None, made[name].made


def folder_of(out: Path, name: str = "ft") -> Path:
    (path,) = [p for p in out.glob(f"{name}-*") if p.is_dir()]
    return path


def kept(out: Path) -> list[int]:
    return [int(p.name[6:12]) for p in sorted((folder_of(out) / "snapshots").iterdir())]


def same(outcome: EditorOutcome | None, want: EditorOutcome | None) -> None:
    assert outcome is not None and want is not None
    mine, theirs = by_unit(outcome), by_unit(want)
    assert mine.keys() == theirs.keys() and mine
    for unit, result in theirs.items():
        assert (mine[unit].answers, mine[unit].notes, mine[unit].error) == (result.answers, result.notes, result.error)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> EditorOutcome:
    outcome, made = go(tmp_path_factory.mktemp("whole"), regime={**SEQUENCE, "snapshot_every": 0})
    assert outcome is not None and len(made) == 5
    assert not (outcome.folder.path / "snapshots").exists(), "0: none is kept"
    return outcome


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_no_edit_is_made_twice_and_all_is_as_unbroken(stop: int, whole: EditorOutcome, tmp_path: Path) -> None:
    _, first = go(tmp_path, stop=stop)
    outcome, second = go(tmp_path)
    same(outcome, whole)
    assert len(first) == stop and len(second) == 5 - stop + 1, "only the one that was cut short is begun again"
    again, third = go(tmp_path)
    same(again, whole)
    assert third == [], "nothing is missing, nothing is edited"


def test_between_two_snapshots_edits_are_made_again(whole: EditorOutcome, tmp_path: Path) -> None:
    regime = {**SEQUENCE, "size": [5], "snapshot_every": 3}
    go(tmp_path, stop=5, regime=regime)
    assert kept(tmp_path) == [3]
    outcome, made = go(tmp_path, regime={**SEQUENCE, "snapshot_every": 3})
    same(outcome, whole)
    assert len(made) == 5, "units of the length 2 are missing: the snapshot after 3 edits is of no use to them"
    assert kept(tmp_path) == [2, 5]
    outcome, made = go(tmp_path, regime={**SEQUENCE, "size": [2, 4, 5]})
    assert len(made) == 2, "units of the length 4 are missing, and there is one after 2 edits"


def test_lengths_stay_and_of_the_others_the_newest(tmp_path: Path) -> None:
    go(tmp_path, stop=5)
    assert kept(tmp_path) == [2, 4]
    go(tmp_path)
    assert kept(tmp_path) == [2, 5]


def damaged(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def renamed(path: Path) -> None:
    path.rename(path.with_name("after-000004-" + "0" * 16 + ".pt"))


@pytest.mark.parametrize("spoil", [damaged, truncated, renamed])
def test_a_bad_file_is_left_aside_for_the_one_before(
    spoil: Any, whole: EditorOutcome, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    go(tmp_path, stop=5)
    two, four = sorted((folder_of(tmp_path) / "snapshots").iterdir())
    spoil(four)
    caplog.set_level(logging.WARNING)
    outcome, made = go(tmp_path)
    same(outcome, whole)
    assert len(made) == 3, "from the snapshot after 2 edits on"
    assert "is left aside" in caplog.text and "after-000004" in caplog.text
    assert kept(tmp_path) == [2, 5]
    assert two.exists()


def test_a_snapshot_of_another_run_or_other_edits_is_left_aside(
    whole: EditorOutcome, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    go(tmp_path / "a", stop=4)
    go(tmp_path / "b", stop=4, name="ft_l")
    foreign, own = (folder_of(tmp_path / x, n) / "snapshots" for x, n in (("b", "ft_l"), ("a", "ft")))
    for path in own.iterdir():
        path.unlink()
    for path in foreign.iterdir():
        path.rename(own / path.name)
    caplog.set_level(logging.WARNING)
    outcome, made = go(tmp_path / "a")
    same(outcome, whole)
    assert len(made) == 5 and "it is of another model, method, options or split" in caplog.text


def test_a_sequence_in_another_order_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    go(tmp_path, stop=4)
    folder = folder_of(tmp_path)
    with Journal(folder / "journal.jsonl") as journal:
        key = next(value["run"] for _, value in journal.items())
    found = module.Snapshots(folder, key, ["x"] * 6, lengths=(), every=1)
    caplog.set_level(logging.WARNING)
    assert found.resume(None, None, [], torch.device("cpu"), most=5) is None  # type: ignore[arg-type]
    assert "it is of other edits" in caplog.text


def test_failed_edits_stay_failed(tmp_path: Path) -> None:
    whole, _ = go(tmp_path / "whole", fail="France")
    assert whole is not None and whole.failed
    for stop in (3, 4, 5):
        go(tmp_path / str(stop), stop=stop, fail="France")
        outcome, made = go(tmp_path / str(stop), fail="France")
        same(outcome, whole)
        assert 5 - stop + 1 <= len(made) <= 5 - stop + 2, "one that failed last is tried again"


def test_statements_are_put_together_again(tmp_path: Path) -> None:
    whole, _ = go(tmp_path / "whole", name="prompt")
    go(tmp_path / "cut", stop=4, name="prompt")
    outcome, made = go(tmp_path / "cut", name="prompt")
    same(outcome, whole)
    assert len(made) == 5, "they cost no pass through the model"


def test_a_full_disk_costs_the_snapshot_and_not_the_run(
    whole: EditorOutcome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise UserError("the snapshot cannot be written: No space left on device")

    monkeypatch.setattr(module, "write_bytes", full)
    caplog.set_level(logging.WARNING)
    outcome, _ = go(tmp_path)
    same(outcome, whole)
    assert "no snapshot after 1 edits: the snapshot cannot be written" in caplog.text
    assert not (folder_of(tmp_path) / "snapshots").exists()


class _Harm:
    """A class that has something run when it is read."""

    def __reduce__(self) -> Any:
        return print, ("it ran",)


def test_a_file_has_nothing_run(tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: Any) -> None:
    content = io.BytesIO()
    torch.save({"run": "r", "digest": "x", "state": _Harm()}, content)
    (tmp_path / "snapshots").mkdir()
    name = f"after-000001-{hashlib.sha256(content.getvalue()).hexdigest()[:16]}.pt"
    (tmp_path / "snapshots" / name).write_bytes(content.getvalue())
    found = module.Snapshots(tmp_path, "r", ["x"] * 3, lengths=(), every=1)
    assert found.resume(None, None, [], torch.device("cpu"), most=2) is None  # type: ignore[arg-type]
    assert "is left aside" in caplog.text and capsys.readouterr().out == ""
