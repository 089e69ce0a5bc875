"""MEND: gradients taken apart, the network, its training (resumed after a kill), what a checkpoint refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from curation.splits.split_file import make_split, write_split
from evaluation.editors.hypernetwork.mend import Checkpoint, Mend
from evaluation.editors.hypernetwork.training import Trainer, TrainingSettings, TrainingStep
from evaluation.editors.hypernetwork.training_cases import training_cases
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from evaluation.runs.session import execute
from schemas.cases import Case
from schemas.core.errors import DataError, UserError
from schemas.facts import Entity, Object
from tests.support.arithmetic import make_case, make_config
from tests.support.editors import mend
from tests.support.editors.mend import QUICK
from tests.support.facts import peru_fact
from tests.support.tiny import make

cases = mend.cases


def trained(lm: LM, folder: Path, cases: list[Case], **options: Any) -> Mend:
    made = Mend(Mend.Params(**{**QUICK, **options}), lm, Cache(folder / "cache"))
    made.prepare(cases)
    return made


def test_training_lowers_the_held_out_loss(tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    digest, seen = tiny.weights_digest(), list[TrainingStep]()
    options = {**QUICK, "steps": 60, "lr": 3e-3, "step_size": 1e-3, "step_lr": 0.1, "edit_weight": 1.0}
    made = Mend(Mend.Params(**options), tiny, Cache(tmp_path))
    out = made.train(cases, name="t", out=tmp_path / "m.safetensors", tell=seen.append)
    first, best = seen[0].held_out, out.held_out
    assert first is not None and best.follow + best.stay < first.follow + first.stay - 0.3
    assert [s.done for s in seen] == list(range(2, 61, 2)) and seen[-1].left == 0.0
    assert tiny.weights_digest() == digest
    ready = Checkpoint.load(tmp_path / "m.safetensors")
    assert ready.layers == (1, 2) and ready.model == tiny.revision
    for a, b in zip(ready.network.state_dict().values(), out.network.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_a_killed_training_goes_on_as_if_it_had_not_been(cases: list[Case], tmp_path: Path) -> None:
    lm = make("llama")
    whole = Mend(Mend.Params(**QUICK), lm, Cache(tmp_path)).train(cases, name="t", out=tmp_path / "whole")

    def killed(step: TrainingStep) -> None:
        if step.done == 4:
            raise KeyboardInterrupt

    out, seen = tmp_path / "parts", list[TrainingStep]()
    with pytest.raises(KeyboardInterrupt):
        Mend(Mend.Params(**QUICK), lm, Cache(tmp_path)).train(cases, name="t", out=out, tell=killed)
    assert not out.exists() and (tmp_path / "parts.state").exists()
    with pytest.raises(UserError, match=r"parts.state: an unfinished training with other settings"):
        Mend(Mend.Params(**{**QUICK, "lr": 1e-2}), lm, Cache(tmp_path)).train(cases, name="t", out=out)
    parts = Mend(Mend.Params(**QUICK), make("llama"), Cache(tmp_path)).train(
        cases, name="t", out=out, tell=seen.append
    )  # fmt: skip
    assert [s.done for s in seen] == [6] and not (tmp_path / "parts.state").exists()
    assert parts.held_out == pytest.approx(whole.held_out, abs=1e-5) and parts.step == whole.step
    for a, b in zip(parts.network.parameters(), whole.network.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_minutes_end_the_training_with_the_best_so_far(cases: list[Case], tmp_path: Path) -> None:
    lm, out, seen = make("llama"), tmp_path / "m.safetensors", list[TrainingStep]()
    made = Mend(Mend.Params(**QUICK), lm, Cache(tmp_path))
    got = made.train(cases, name="t", out=out, tell=seen.append, minutes=1e-9)
    assert [s.done for s in seen] == [2] and got.step == 2 and not out.with_name("m.safetensors.state").exists()
    assert got.held_out == seen[0].held_out and Checkpoint.load(out).layers == (1, 2)


def test_training_on_the_support_is_kept(tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    first = trained(tiny, tmp_path, cases).edit([peru_fact()])
    kept = list((tmp_path / "cache").glob("mend-*.safetensors"))
    stamp = kept[0].stat().st_mtime_ns
    again = trained(tiny, tmp_path, cases).edit([peru_fact()])
    assert len(kept) == 1 and kept[0].stat().st_mtime_ns == stamp
    assert torch.equal(first.deltas[0].matrix(), again.deltas[0].matrix())  # type: ignore[index]
    with pytest.raises(UserError, match="mend: there is no trained network for this model; train one"):
        Mend(Mend.Params(), tiny, Cache(tmp_path)).edit([peru_fact()])


def test_edits_add_up_and_scale(tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    made, other = (
        trained(tiny, tmp_path, cases),
        peru_fact("f/n", subject=Entity(text="Norway"), new=Object(text="Quito")),
    )
    both, each = made.edit([peru_fact(), other]), made.edit_each([peru_fact(), other])
    assert [d.weight for d in both.deltas or ()] == [d.weight for e in each for d in e.deltas or ()]
    for a, b in zip(both.deltas or (), [d for e in each for d in e.deltas or ()], strict=True):
        assert torch.allclose(a.matrix(), b.matrix(), atol=1e-6)
    made.train(cases, name="t", out=tmp_path / "m.safetensors")
    named = {"checkpoint": str(tmp_path / "m.safetensors")}
    double = make_editor("mend", tiny, Cache(tmp_path), {**named, "scale": 2.0}).edit([peru_fact()])
    single = make_editor("mend", tiny, Cache(tmp_path), named).edit([peru_fact()])
    for a, b in zip(double.deltas or (), single.deltas or (), strict=True):
        assert torch.allclose(a.matrix(), 2 * b.matrix(), atol=1e-6)


def test_a_checkpoint_knows_its_model_and_its_cases(cases: list[Case], tmp_path: Path) -> None:
    lm, out = make("llama"), tmp_path / "m.safetensors"
    Mend(Mend.Params(**QUICK), lm, Cache(tmp_path)).train(cases, name="theirs", out=out)
    with pytest.raises(UserError, match="trained for another model"):
        make_editor("mend", make("gpt2"), Cache(tmp_path), {"checkpoint": str(out)}).edit([peru_fact()])
    (tmp_path / "noise").write_bytes(b"nothing")
    with pytest.raises(DataError, match="noise: not a file of this program"):
        make_editor("mend", lm, Cache(tmp_path), {"checkpoint": str(tmp_path / "noise")}).edit([peru_fact()])
    split = tmp_path / "split.jsonl"
    write_split(make_split("evaluated", [make_case("Norway"), make_case("Elsewhere")]), split)
    choice = {"mend": {"name": "mend", "params": {"checkpoint": str(out)}}}
    config = make_config(tmp_path / "run", split={"file": str(split)}, editors=choice)
    with pytest.raises(UserError, match=r"editors.mend: it learnt from theirs, which shares the subject 'Norway'"):
        execute(config)  # before a model is loaded
    assert not (tmp_path / "run").exists()
    learnt = Mend.training_data({"checkpoint": str(out)})
    assert learnt is not None and "norway" in learnt.subjects and "t/1" in learnt.keys
    assert Mend.wants_support({"checkpoint": None}) and not Mend.wants_support({"checkpoint": str(out)})


def test_the_shipped_network_learnt_nothing_of_mini(tmp_path: Path) -> None:
    from curation.shipped import mini_split
    from evaluation.editors.hypernetwork.mend import SHIPPED, _path
    from evaluation.editors.presets import preset
    from evaluation.runs.separation import refuse_overlap

    named = preset("mend", "embedded")["checkpoint"]
    assert named.startswith(SHIPPED) and _path(named).stat().st_size < 5_000_000
    learnt = Mend.training_data({"checkpoint": named})
    assert learnt is not None and len(learnt.subjects) > 500
    refuse_overlap(learnt, mini_split(), where="mend")  # no refusal
    known = sorted(learnt.subjects)[0]
    with pytest.raises(UserError, match="it learnt from shipped, which shares the subject"):
        refuse_overlap(learnt, make_split("other", [make_case(known)]), where="mend")
    with pytest.raises(UserError, match="trained for another model"):
        make_editor("mend", make("llama"), Cache(tmp_path), {"checkpoint": named}).edit([peru_fact()])


def test_the_trainer_needs_no_state_to_begin(tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    made = training_cases(tiny, cases)
    told = Mend.Params(**QUICK)
    settings = TrainingSettings(**{name: getattr(told, name) for name in TrainingSettings._fields})
    trainer = Trainer(tiny, made, settings, state=tmp_path / "s", identity={})
    assert len(trainer.held) == 2 and len(trainer.train) == len(cases) - 2
    assert not {x.edit for x in trainer.held} & {x.edit for x in trainer.train}
