"""MEND, MALMEN and RLEdit: by hand, trained (resumed after a kill), and what a checkpoint keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from curation.splits.split_file import make_split, write_split
from evaluation.editors.hypernetwork.gradients import gradients
from evaluation.editors.hypernetwork.malmen import Malmen, RLEdit
from evaluation.editors.hypernetwork.mend import Mend
from evaluation.editors.hypernetwork.network import EditNetwork, GradientPairs
from evaluation.editors.hypernetwork.training import TrainingStep
from evaluation.editors.presets import make_editor
from evaluation.editors.target_texts import TargetBatch, fact_texts
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.models.language_model import LM
from evaluation.runs.runner import execute
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
    method = Mend(Mend.Params(**{**QUICK, **options}), lm, Cache(folder / "cache"))
    method.prepare(cases)
    return method


def test_training_on_the_support_is_kept(tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    first = trained(tiny, tmp_path, cases).edit([peru_fact()])
    path = list((tmp_path / "cache").glob("mend-*.safetensors"))
    stamp = path[0].stat().st_mtime_ns
    edit = trained(tiny, tmp_path, cases).edit([peru_fact()])
    assert len(path) == 1 and path[0].stat().st_mtime_ns == stamp
    assert torch.equal(first.deltas[0].matrix(), edit.deltas[0].matrix())  # type: ignore[index]
    with pytest.raises(UserError, match="mend: there is no trained file for this model and these options; train one"):
        Mend(Mend.Params(), tiny, Cache(tmp_path)).edit([peru_fact()])


def test_edits_add_up_and_scale(tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    method, other = (
        trained(tiny, tmp_path, cases),
        peru_fact("f/n", subject=Entity(text="Norway"), new=Object(text="Quito")),
    )
    both, each = method.edit([peru_fact(), other]), method.edit_each([peru_fact(), other])
    for a, *some in zip(both.deltas or (), *(e.deltas or () for e in each), strict=True):
        assert torch.allclose(a.matrix(), sum(b.matrix() for b in some), atol=1e-6)
    method.train(cases, name="t", out=tmp_path / "m.safetensors")
    record = {"checkpoint": str(tmp_path / "m.safetensors")}
    double = make_editor("mend", tiny, Cache(tmp_path), {**record, "scale": 2.0}).edit([peru_fact()])
    single = make_editor("mend", tiny, Cache(tmp_path), record).edit([peru_fact()])
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
    training_data = Mend.training_data({"checkpoint": str(out)})
    assert training_data is not None and "norway" in training_data.subjects and "t/1" in training_data.keys
    assert Mend.wants_support({"checkpoint": None}) and not Mend.wants_support({"checkpoint": str(out)})


def test_the_shipped_network_learnt_nothing_of_the_open_split(tmp_path: Path) -> None:
    from curation.shipped import shipped_split
    from evaluation.editors.checkpoints import SHIPPED
    from evaluation.editors.presets import preset
    from evaluation.runs.refusals import refuse_overlap

    checkpoint = preset("mend", "embedded")["checkpoint"]
    assert checkpoint.startswith(SHIPPED) and Mend.checkpoint_path(checkpoint).stat().st_size < 5_000_000
    training_data = Mend.training_data({"checkpoint": checkpoint})
    assert training_data is not None and len(training_data.subjects) > 500
    refuse_overlap(training_data, shipped_split("open"), where="mend")  # no refusal
    subject = sorted(training_data.subjects)[0]
    with pytest.raises(UserError, match="it learnt from shipped, which shares the subject"):
        refuse_overlap(training_data, make_split("other", [make_case(subject)]), where="mend")
    with pytest.raises(UserError, match="trained for another model"):
        make_editor("mend", make("llama"), Cache(tmp_path), {"checkpoint": checkpoint}).edit([peru_fact()])


METHODS = {"malmen": Malmen, "rledit": RLEdit}


IN, OUT = 6, 4


def network(seed: int = 0) -> EditNetwork:
    """A network that is not the identity."""
    out = EditNetwork(IN, OUT, layers=2, rank=3, step=0.1, seed=seed, joint=True)
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for name, value in out.named_parameters():
            if name in ("u1", "u2", "bias", "log_damping"):
                value.copy_(torch.randn(value.shape, generator=generator) / 2)
    return out


def pairs(rows: int, tokens: int, seed: int = 0) -> GradientPairs:
    generator = torch.Generator().manual_seed(seed)
    u, delta = torch.randn(rows, tokens, IN, generator=generator), torch.randn(rows, tokens, OUT, generator=generator)
    real = torch.ones(rows, tokens)
    real[0, -1] = 0.0
    return GradientPairs(u, delta, real)


def published(net: EditNetwork, layer: int, p: GradientPairs) -> torch.Tensor:
    """The shift [in, out] as the paper has it: (UᵀU + λI)⁻¹ UᵀD, tokens as rows, with the wanted D token by token."""
    keys, wanted = [], []
    change = net(layer, p)  # MEND's change of a token is its factor pair: −α g_δ and g_u
    for row in range(len(p.u)):
        for token in range(p.u.shape[1]):
            if p.real[row, token]:
                u, g_u, g_d = p.u[row, token], change.right[row, :, token], change.left[row, :, token]
                keys.append(u)
                wanted.append((u @ g_u) * g_d)
    U, D = torch.stack(keys), torch.stack(wanted)
    return torch.linalg.inv(U.T @ U + net.log_damping[layer].exp() * torch.eye(IN)) @ U.T @ D


@pytest.mark.parametrize(("rows", "tokens"), [(1, 2), (3, 2), (5, 4)])
def test_the_change_is_the_papers_least_squares(rows: int, tokens: int) -> None:
    """With fewer tokens than inputs, and with more: the two forms of the solution are one."""
    net, p = network(), pairs(rows, tokens)
    for layer in (0, 1):
        change = net.together(layer, p)
        shift = (change.left[0] @ change.right[0].T).T
        assert change.left.shape == (1, OUT, rows * tokens - 1)
        assert torch.allclose(shift, published(net, layer, p), atol=1e-5)


def trained_on_groups(name: str, lm: LM, folder: Path, cases: list[Case], **options: Any) -> Malmen:
    method = METHODS[name](METHODS[name].Params(**{**QUICK, **options}), lm, Cache(folder / "cache"))
    method.prepare(cases)
    return method


def another() -> Any:
    return peru_fact("f/n", subject=Entity(text="Norway"), new=Object(text="Quito"))


@pytest.mark.parametrize("name", METHODS)
def test_facts_are_edited_together_not_added_up(name: str, tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    method = trained_on_groups(name, tiny, tmp_path, cases, step_size=1e-2)
    facts = [peru_fact(), another()]
    (both,), each = method.edit_groups([facts]), method.edit_each(facts)
    assert len(both.deltas or ()) == len(each[0].deltas or ()) == 2
    for n, joint in enumerate(both.deltas or ()):
        alone = [edit.deltas[n].matrix() for edit in each if edit.deltas]
        assert not torch.allclose(joint.matrix(), alone[0] + alone[1], atol=1e-9)
    for group in method.edit_groups([facts, facts[:1]])[1].deltas or ():
        same = next(d for d in each[0].deltas or () if d.weight == group.weight)
        assert torch.allclose(group.matrix(), same.matrix(), atol=1e-6), "a group knows nothing of the others"
    twice, once = method.edit([facts[0], facts[0]]), method.edit(facts[:1])
    for a, b in zip(twice.deltas or (), once.deltas or (), strict=True):
        assert a.matrix().norm() < 1.9 * b.matrix().norm(), "the same wish twice is no double wish"


def test_many_facts_make_a_dense_change(tiny: LM, cases: list[Case], tmp_path: Path) -> None:
    method = trained_on_groups("malmen", tiny, tmp_path, cases, tokens="all")
    facts = [peru_fact(f"f/{n}", subject=Entity(text=f"Land {n}")) for n in range(40)]
    assert all(isinstance(delta, DenseDelta) for delta in method.edit(facts).deltas or ())


def test_only_tokens_before_the_new_object_count(tiny: LM) -> None:
    maps = [tiny.layout.projection(1)]
    texts = fact_texts(tiny, [peru_fact(), another()])
    batch = TargetBatch(tiny, texts, 1)
    every, answers = gradients(maps, batch), gradients(maps, batch, answers=True)
    real = answers[maps[0]].real
    assert real.sum(1).tolist() == [len(text.goals) for text in texts] and real.sum() < every[maps[0]].real.sum()
    assert all(real[n, list(text.positions)].all() for n, text in enumerate(texts))


@pytest.mark.parametrize("name", METHODS)
def test_training_lowers_the_held_out_loss_and_changes_no_weight(name: str, cases: list[Case], tmp_path: Path) -> None:
    tiny = make("gpt2")
    digest, steps = tiny.weights_digest(), list[TrainingStep]()
    options = {**QUICK, "steps": 30, "lr": 3e-3, "step_size": 1e-3, "step_lr": 0.3, "clip": 100.0}
    method = METHODS[name](METHODS[name].Params(**options), tiny, Cache(tmp_path))
    out = method.train(cases, name="t", out=tmp_path / "m.safetensors", on_step=steps.append)
    first = steps[0].held_out
    assert first is not None and out.held_out.follow < first.follow - 0.2
    assert tiny.weights_digest() == digest
    damping = [value for key, value in out.network.state_dict().items() if key.endswith("log_damping")]
    assert damping and all((value != 0).any() for value in damping), "the damping has learnt, too"
