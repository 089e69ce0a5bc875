"""Training of the network: it learns, it is the same after a kill, it ends when told, and its files are whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.checkpoints import read_tensors, write_tensors
from evaluation.editors.hypernetwork.mend import Checkpoint, Mend
from evaluation.editors.hypernetwork.training import (
    Losses,
    Trainer,
    TrainingStep,
    TrainingTask,
)
from evaluation.editors.hypernetwork.training_cases import training_cases
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.core.errors import DataError, UserError
from tests.support.editors import mend
from tests.support.editors.mend import QUICK
from tests.support.tiny import make

cases = mend.cases


def trainer(lm: LM, cases: list[Case], folder: Path, **more: Any) -> Trainer:
    trainer_options = {name: more.pop(name) for name in ("on_step", "minutes", "identity") if name in more}
    p = Mend.Params(**{**QUICK, **more})
    task = TrainingTask([lm.layout.projection(n) for n in p.layers or ()], training_cases(lm, cases))
    return Trainer(lm, task, p, state=folder / "state", **{"identity": {}, **trainer_options})


def test_training_lowers_the_held_out_loss(tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    digest, steps = tiny.weights_digest(), list[TrainingStep]()
    options = {**QUICK, "steps": 60, "lr": 3e-3, "step_size": 1e-3, "step_lr": 0.1, "edit_weight": 1.0}
    method = Mend(Mend.Params(**options), tiny, Cache(tmp_path))
    out = method.train(cases, name="t", out=tmp_path / "m.safetensors", on_step=steps.append)
    first, best = steps[0].held_out, out.held_out
    assert first is not None and best.follow + best.stay < first.follow + first.stay - 0.3
    assert [s.done for s in steps] == list(range(2, 61, 2)) and steps[-1].left == 0.0
    assert tiny.weights_digest() == digest
    ready = Checkpoint.load(tmp_path / "m.safetensors")
    assert ready.layers == (1, 2) and ready.model == tiny.revision
    for a, b in zip(ready.network.state_dict().values(), out.network.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_a_killed_training_goes_on_as_if_it_had_not_been(cases: list[Case], tmp_path: Path) -> None:
    lm = make("llama")
    full_model = Mend(Mend.Params(**QUICK), lm, Cache(tmp_path)).train(cases, name="t", out=tmp_path / "whole")

    def killed(step: TrainingStep) -> None:
        if step.done == 4:
            raise KeyboardInterrupt

    out, steps = tmp_path / "parts", list[TrainingStep]()
    with pytest.raises(KeyboardInterrupt):
        Mend(Mend.Params(**QUICK), lm, Cache(tmp_path)).train(cases, name="t", out=out, on_step=killed)
    assert not out.exists() and (tmp_path / "parts.state").exists()
    with pytest.raises(UserError, match=r"parts.state: an unfinished training with other settings"):
        Mend(Mend.Params(**{**QUICK, "lr": 1e-2}), lm, Cache(tmp_path)).train(cases, name="t", out=out)
    parts = Mend(Mend.Params(**QUICK), make("llama"), Cache(tmp_path)).train(
        cases, name="t", out=out, on_step=steps.append
    )  # fmt: skip
    assert [s.done for s in steps] == [6] and not (tmp_path / "parts.state").exists()
    assert parts.held_out == pytest.approx(full_model.held_out, abs=1e-5) and parts.step == full_model.step
    for a, b in zip(parts.network.parameters(), full_model.network.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_minutes_end_the_training_with_the_best_so_far(cases: list[Case], tmp_path: Path) -> None:
    lm, out, steps = make("llama"), tmp_path / "m.safetensors", list[TrainingStep]()
    method = Mend(Mend.Params(**QUICK), lm, Cache(tmp_path))
    training = method.train(cases, name="t", out=out, on_step=steps.append, minutes=1e-9)
    assert [s.done for s in steps] == [2] and training.step == 2 and not out.with_name("m.safetensors.state").exists()
    assert training.held_out == steps[0].held_out and Checkpoint.load(out).layers == (1, 2)


@pytest.mark.parametrize(("count", "expected", "holding"), [(2, 32, 1), (3, 1, 1), (7, 32, 1), (8, 32, 2), (9, 1, 1)])
def test_at_most_a_quarter_is_held_out_and_always_one(
    cases: list[Case], tmp_path: Path, count: int, expected: int, holding: int
) -> None:
    method = trainer(make("llama"), cases[:count], tmp_path, held_out=expected)
    assert (len(method.held), len(method.train)) == (holding, count - holding)


def test_the_network_with_the_least_held_out_loss_is_given(
    cases: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Losses are made up: the second report of four is the best (a follow counts a tenth), and a tie is not better."""
    losses = iter([Losses(9.0, 1.0), Losses(9.5, 0.5), Losses(0.1, 1.6), Losses(9.5, 0.5)])
    remainder: list[list[torch.Tensor]] = []
    method = trainer(
        make("llama"), cases, tmp_path, steps=4, report_every=1, edit_weight=0.1, on_step=lambda step: None
    )

    def measure(pairs: object) -> Losses:
        remainder.append([p.detach().clone() for p in method.network.parameters()])
        return next(losses)

    monkeypatch.setattr(method, "_measure", measure)
    result = method.run()
    assert (result.step, result.held_out) == (2, Losses(9.5, 0.5))
    assert all(torch.equal(a, b) for a, b in zip(result.network.parameters(), remainder[1], strict=True))
    assert any(not torch.equal(a, b) for a, b in zip(remainder[1], remainder[3], strict=True)), (
        "training went on after it"
    )


def test_a_state_of_another_identity_or_none_of_ours_is_refused(cases: list[Case], tmp_path: Path) -> None:
    lm = make("llama")
    trainer(lm, cases, tmp_path, identity={"data": "one"}).run()
    with pytest.raises(UserError, match=r"state: an unfinished training with other settings.*remove it"):
        trainer(lm, cases, tmp_path, identity={"data": "two"}).run()
    (tmp_path / "state").write_bytes((tmp_path / "state").read_bytes()[:100])
    with pytest.raises(DataError, match="the unfinished training cannot be read"):
        trainer(lm, cases, tmp_path, identity={"data": "one"}).run()


# --- files ------------------------------------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path) -> None:
    record = {"n": 1, "of": [1.5, None], "name": "São Tomé", "deep": {"a": True}}
    T = torch.arange(6.0).reshape(2, 3).T
    write_tensors(tmp_path / "new" / "t", {"a": T, "b": torch.tensor(3, dtype=torch.int64)}, record)
    tensors, message = read_tensors(tmp_path / "new" / "t")
    assert message == record and torch.equal(tensors["a"], T) and tensors["b"].dtype == torch.int64
    write_tensors(tmp_path / "none", {}, {})
    assert read_tensors(tmp_path / "none") == ({}, {})


@pytest.mark.parametrize("kind", ["absent", "noise", "cut", "no manifest", "a folder", "no JSON"])
def test_other_files_are_refused(tmp_path: Path, kind: str) -> None:
    from safetensors.torch import save_file

    path = tmp_path / "t"
    if kind == "noise":
        path.write_bytes(b"nothing of ours, but long enough to have a header")
    elif kind == "cut":
        write_tensors(path, {"a": torch.ones(100)}, {})
        path.write_bytes(path.read_bytes()[:-9])
    elif kind == "no manifest":
        save_file({"a": torch.ones(1)}, path)
    elif kind == "a folder":
        path.mkdir()
    elif kind == "no JSON":
        save_file({"a": torch.ones(1)}, path, {"manifest": "{"})
    with pytest.raises(DataError, match="not a file of this program that can be read") as error:
        read_tensors(path)
    assert error.value.where == str(path)
