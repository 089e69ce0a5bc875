"""MEND: gradients taken apart, the network, its training (resumed after a kill), what a checkpoint refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from curation.files.artifact_cache import Cache
from curation.splits.split_file import make_split, write_split
from evaluation.editors.hypernetwork.gradients import Below, batch, changed, gradients, line, logprobs, nll
from evaluation.editors.hypernetwork.mend import Checkpoint, Mend
from evaluation.editors.hypernetwork.network import EditNetwork, GradientPairs, WeightChange
from evaluation.editors.hypernetwork.training import Trainer, TrainingSettings, TrainingStep
from evaluation.editors.hypernetwork.training_cases import training_cases
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import LowRankDelta, applied
from evaluation.models.language_model import LM
from evaluation.runs.session import execute
from evaluation.runs.support import cases_from_facts
from scedit import cli
from schemas.cases import Case
from schemas.core.errors import DataError, UserError
from schemas.facts import Entity, Object
from tests.support.arithmetic import make_case, make_config
from tests.support.facts import peru_fact
from tests.support.tiny import make

QUICK: dict[str, Any] = {"steps": 6, "layers": (1, 2), "rank": 4, "report_every": 2, "edits": 3, "held_out": 2}
NAMES = ["Peru", "Norway", "France", "Quito", "Oslo", "Lima", "Paris", "Madrid", "Guinea"]


@pytest.fixture
def cases() -> list[Case]:
    towns = ["Oslo", "São Tomé", "Quito"]
    return cases_from_facts(
        [
            peru_fact(f"t/{n}", subject=Entity(text=name), old=Object(text="Rome"), new=Object(text=towns[n % 3]),
                 paraphrases=(f"{name} is ruled from",))
            for n, name in enumerate(NAMES)
        ]
    )  # fmt: skip


def trained(lm: LM, folder: Path, cases: list[Case], **options: Any) -> Mend:
    made = Mend(Mend.Params(**{**QUICK, **options}), lm, Cache(folder / "cache"))
    made.prepare(cases)
    return made


# --- gradients and changes --------------------------------------------------------------------------------------------


def test_pairs_are_the_gradient_of_the_weight(tiny: LM) -> None:
    lines = [line(tiny, "The capital of Peru is", "Oslo"), line(tiny, "In Norway", "São Tomé"), line(tiny, "A", "x")]
    got = gradients(tiny, (0, 2), lines)  # type: ignore[arg-type]
    for i, one in enumerate(lines):
        assert one is not None
        weights: list[Any] = [tiny.projection(n).weight for n in (0, 2)]
        for w in weights:
            w.requires_grad_(True)
        found = tiny.model(torch.tensor([one.ids])).logits[0].log_softmax(-1)
        loss = -torch.stack([found[k - 1, one.ids[k]] for k in range(one.first, len(one.ids))]).mean()
        want = torch.autograd.grad(loss, weights)
        for w in weights:
            w.requires_grad_(False)
        for n, slope in zip((0, 2), want, strict=True):
            pairs = got[n]
            whole = pairs.delta[i].T @ (pairs.u[i] * pairs.real[i][:, None])
            assert torch.allclose(whole, slope.T if tiny.layout.transposed else slope, atol=1e-5)


def test_changes_in_rows_are_changes_of_weights(tiny: LM) -> None:
    torch.manual_seed(0)
    lines = [line(tiny, "The capital of Peru is", "Oslo"), line(tiny, "In Norway one sees", "São Tomé")]
    change = {n: WeightChange(torch.randn(2, 32, 3) * 0.1, torch.randn(2, tiny.layout.inner, 3) * 0.1) for n in (1, 2)}
    below = Below(tiny, 1)
    rows = batch(tiny, below, lines)  # type: ignore[arg-type]
    with changed(tiny, change, torch.tensor([1, 0])):
        got = nll(logprobs(tiny, rows), rows)
    for i, edit in enumerate((1, 0)):
        deltas = [LowRankDelta(tiny.layout.weight(n), c.left[edit], c.right[edit]) for n, c in change.items()]
        with applied(tiny.model, deltas), torch.no_grad():
            one = lines[i]
            assert one is not None
            found = tiny.model(torch.tensor([one.ids])).logits[0].log_softmax(-1)
        want = -torch.stack([found[k - 1, one.ids[k]] for k in range(one.first, len(one.ids))]).mean()
        assert float(got[i]) == pytest.approx(float(want), abs=1e-4)
    again = batch(tiny, below, lines[::-1])  # type: ignore[arg-type]
    assert torch.allclose(nll(logprobs(tiny, again), again).flip(0), nll(logprobs(tiny, rows), rows), atol=1e-5)


def test_the_network_begins_as_a_gradient_step() -> None:
    torch.manual_seed(0)
    network = EditNetwork(5, 4, layers=2, rank=3, step=0.1, seed=1)
    pairs = GradientPairs(torch.randn(2, 6, 5), torch.randn(2, 6, 4), torch.tensor([[1.0] * 6, [1.0, 1, 0, 0, 0, 0]]))
    made = network(1, pairs)
    whole = made.left @ made.right.transpose(1, 2)
    want = -0.1 * torch.einsum("rto,rti,rt->roi", pairs.delta, pairs.u, pairs.real)
    assert torch.allclose(whole, want, atol=1e-6)
    network.fit(1, [pairs])
    z = torch.cat([pairs.u, pairs.delta], -1)[pairs.real.bool()]
    assert torch.allclose(network.mean[1], z.mean(0), atol=1e-5)  # type: ignore[index]
    assert torch.allclose(network.spread[1], z.std(0, correction=0), atol=1e-5)  # type: ignore[index]
    network(1, pairs).left.sum().backward()
    assert network.u2.grad is not None and network.u2.grad.abs().sum() > 0  # not stuck at the rectifier's corner


# --- training ---------------------------------------------------------------------------------------------------------


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


def test_lessons_hold_what_follows_and_what_stays(tiny: LM) -> None:
    (lesson, _) = training_cases(tiny, [make_case("Land01"), make_case("Land02")])
    said = [tiny.tokenizer.decode(x.ids, skip_special_tokens=True) for x in lesson.equal]
    assert said[0] == "The capital of Land01 is Oslo" and said[-1].endswith("(2)?\nStep 1: Fly to Oslo")
    kept = [tiny.tokenizer.decode(x.ids[x.first :]) for x in lesson.kept]
    assert len(lesson.equal) == 5 and [k.strip() for k in kept] == ["Lima", "Lima"]
    with pytest.raises(UserError, match="1 cases with a new object are too few"):
        training_cases(tiny, [make_case("Land01")])


def test_training_on_the_support_is_kept(tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    first = trained(tiny, tmp_path, cases).edit([peru_fact()])
    kept = list((tmp_path / "cache").glob("mend-*.safetensors"))
    stamp = kept[0].stat().st_mtime_ns
    again = trained(tiny, tmp_path, cases).edit([peru_fact()])
    assert len(kept) == 1 and kept[0].stat().st_mtime_ns == stamp
    assert torch.equal(first.deltas[0].matrix(), again.deltas[0].matrix())  # type: ignore[index]
    with pytest.raises(UserError, match="mend: there is no trained network for this model; train one"):
        Mend(Mend.Params(), tiny, Cache(tmp_path)).edit([peru_fact()])


# --- edits ------------------------------------------------------------------------------------------------------------


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


# --- the command ------------------------------------------------------------------------------------------------------


def test_train_command_refuses(tmp_path: Path) -> None:
    split = tmp_path / "train.jsonl"
    write_split(make_split("train", [make_case("Land01")]), split)
    out = ["--out", str(tmp_path / "m.safetensors")]
    for args, message in (
        (["--editors", "rome", "--support", "shipped", *out], "'rome' is not trained beforehand; allowed: mend"),
        (["--editors", "mend", *out], "what to train on"),
        (["--editors", "mend", "--support", "mini", "--heldout", "mini", *out], "shares the case 'case/mini/cf-001'"),
        (
            ["--editors", "mend", "--split-file", str(split), "--heldout", str(split), *out],
            "shares the case 'case/land01'",
        ),
    ):
        told = CliRunner().invoke(cli, ["model", "train", *args])
        assert isinstance(told.exception, UserError) and message in str(told.exception), args


def test_train_command_writes_a_checkpoint(cases: list[Case], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LM, "load", lambda name, **_: make("llama"))
    write_split(make_split("train", cases), tmp_path / "train.jsonl")
    settings = [f"--set={k}={list(v) if isinstance(v, tuple) else v}" for k, v in QUICK.items()]
    out = tmp_path / "m.safetensors"
    args = [
        "model",
        "train",
        "--editors",
        "mend",
        "--split-file",
        str(tmp_path / "train.jsonl"),
        "--heldout",
        "mini",
        "--drop-overlap",
        *settings,
    ]
    told = CliRunner().invoke(cli, [*args, "--out", str(out)])
    assert told.exit_code == 0, told.output
    assert "step 6 of 6" in told.output and "left out" in told.output and f"Written {out}" in told.output
    learnt = Mend.training_data({"checkpoint": str(out)})
    assert learnt is not None and "france" not in learnt.subjects and "oslo" in learnt.subjects
    assert edits_with(make("llama"), out)


def edits_with(lm: LM, out: Path) -> bool:
    return bool(make_editor("mend", lm, Cache(out.parent), {"checkpoint": str(out)}).edit([peru_fact()]).deltas)


def test_the_trainer_needs_no_state_to_begin(tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    made = training_cases(tiny, cases)
    told = Mend.Params(**QUICK)
    settings = TrainingSettings(**{name: getattr(told, name) for name in TrainingSettings._fields})
    trainer = Trainer(tiny, made, settings, state=tmp_path / "s", identity={})
    assert len(trainer.held) == 2 and len(trainer.train) == len(cases) - 2
    assert not {x.edit for x in trainer.held} & {x.edit for x in trainer.train}
