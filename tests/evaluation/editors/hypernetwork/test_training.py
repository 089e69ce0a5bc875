"""The network and its training: gradients in pairs, it learns, is the same after a kill, and ends when told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.checkpoints import read_tensors, write_tensors
from evaluation.editors.hypernetwork.mend import Checkpoint, Mend
from evaluation.editors.hypernetwork.network import EditNetwork, EditNetworks, GradientPairs
from evaluation.editors.hypernetwork.training import (
    Losses,
    Trainer,
    TrainingStep,
    TrainingTask,
)
from evaluation.editors.hypernetwork.training_cases import document_text, document_training_cases, training_cases
from evaluation.editors.target_texts import TargetText, target_text
from evaluation.metrics.generation import DocumentChoice
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.core.errors import DataError, UserError
from tests.support.arithmetic import make_case
from tests.support.documents.records import document_case, make_document
from tests.support.editors import mend
from tests.support.editors.mend import QUICK
from tests.support.editors.mend_doc import document_cases
from tests.support.tiny import make

cases = mend.cases


def trainer(lm: LM, cases: list[Case], folder: Path, **more: Any) -> Trainer:
    trainer_options = {name: more.pop(name) for name in ("on_step", "minutes", "identity") if name in more}
    p = Mend.Params(**{**QUICK, **more})
    task = TrainingTask([lm.layout.projection(n) for n in p.layers or ()], training_cases(lm, cases))
    return Trainer(lm, task, p, state=folder / "state", **{"identity": {}, **trainer_options})


def test_training_lowers_the_held_out_loss(cases: list[Case], tmp_path: Path) -> None:
    tiny, steps = make("llama"), list[TrainingStep]()
    digest = tiny.weights_digest()
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


def texts(lm: LM, *pairs: tuple[str, str]) -> list[TargetText]:
    return [text for pair in pairs if (text := target_text(lm, *pair)) is not None]


def test_the_network_begins_as_a_gradient_step() -> None:
    torch.manual_seed(0)
    network = EditNetwork(5, 4, layers=2, rank=3, step=0.1, seed=1)
    pairs = GradientPairs(torch.randn(2, 6, 5), torch.randn(2, 6, 4), torch.tensor([[1.0] * 6, [1.0, 1, 0, 0, 0, 0]]))
    net = network(1, pairs)
    dense = net.left @ net.right.transpose(1, 2)
    want = -0.1 * torch.einsum("rto,rti,rt->roi", pairs.delta, pairs.u, pairs.real)
    assert torch.allclose(dense, want, atol=1e-6)
    network.fit(1, [pairs])
    z = torch.cat([pairs.u, pairs.delta], -1)[pairs.real.bool()]
    assert torch.allclose(network.mean[1], z.mean(0), atol=1e-5)  # type: ignore[index]
    assert torch.allclose(network.spread[1], z.std(0, correction=0), atol=1e-5)  # type: ignore[index]
    network(1, pairs).left.sum().backward()
    assert network.u2.grad is not None and network.u2.grad.abs().sum() > 0  # not stuck at the rectifier's corner


def test_maps_of_one_shape_share_a_network_and_others_have_their_own() -> None:
    torch.manual_seed(0)
    shapes = [(5, 4), (4, 5), (5, 4)]
    networks = EditNetworks(shapes, rank=3, step=0.1, seed=1)
    assert len(networks.networks) == 2
    alone = [
        EditNetwork(5, 4, layers=2, rank=3, step=0.1, seed=1),
        EditNetwork(4, 5, layers=1, rank=3, step=0.1, seed=2),
    ]
    for at, (network, layer) in enumerate([(0, 0), (1, 0), (0, 1)]):
        inputs, outputs = shapes[at]
        pairs = GradientPairs(torch.randn(2, 6, inputs), torch.randn(2, 6, outputs), torch.ones(2, 6))
        for one in (networks.networks[network], alone[network]):
            one.scale1.data[layer] = at + 2.0  # type: ignore[operator]
        networks.fit(at, [pairs])
        alone[network].fit(layer, [pairs])
        for a, b in zip(networks(at, pairs), alone[network](layer, pairs), strict=True):
            assert torch.equal(a, b)
    assert len(EditNetworks([(5, 4)] * 3, rank=3, step=0.1, seed=1).networks) == 1
    assert sum(name.endswith("log_step") for name, _ in networks.named_parameters()) == 2


def whole(lm: LM, text: TargetText) -> str:
    """Prompt and target as text."""
    return str(lm.tokenizer.decode([*text.ids, text.goals[-1]], skip_special_tokens=True))


def test_lessons_hold_what_follows_and_what_stays(tiny: LM) -> None:
    (example, _) = training_cases(tiny, [make_case("Land01"), make_case("Land02")])
    text = [whole(tiny, x) for x in example.paraphrases]
    assert text[0] == "The capital of Land01 is Oslo" and text[-1].endswith("(2)?\nStep 1: Fly to Oslo")
    texts = [tiny.tokenizer.decode(x.goals) for x in example.locality]
    assert len(example.paraphrases) == 5 and [k.strip() for k in texts] == ["Lima", "Lima"]
    with pytest.raises(UserError, match="1 case with a new object: too few"):
        training_cases(tiny, [make_case("Land01")])


def test_a_document_is_learnt_by_its_probes_and_apart_from_others(tiny: LM) -> None:
    cases = document_cases(4)
    found = document_training_cases(tiny, cases, DocumentChoice())
    decode = tiny.tokenizer.decode
    assert len(found) == 4
    for case, one in zip(cases, found, strict=True):
        assert whole(tiny, one.edit) == case.document.text and one.edit.end == 0
        texts = [whole(tiny, x) for x in one.paraphrases]
        assert texts[0].startswith("Directly answer the question.\n\nQuestion: Line") and len(texts) == len(case.probes)
        assert [decode(x.goals).strip() for x in one.paraphrases] == [p.answer for p in case.probes]
        assert len(one.locality) == 3 and not set(one.locality) & set(one.paraphrases)
        assert {x for x in one.locality} <= {x for other in found if other is not one for x in other.paraphrases}
    assert found == document_training_cases(tiny, cases, DocumentChoice()), "draws hang on keys alone"
    bare = document_training_cases(tiny, cases, DocumentChoice(instruction=""))
    assert whole(tiny, bare[0].paraphrases[0]).startswith("Question: ")


def test_questions_about_the_same_subject_need_not_stay(tiny: LM) -> None:
    """Documents of one name teach nothing about locality: what is said of it may well change."""
    cases = [case.model_copy(update={"document": case.document.model_copy(update={"entity": "Line"})}) for case in
             document_cases(3)]  # fmt: skip
    with pytest.raises(UserError, match="3 documents with probes that the model can read: too few.*different things"):
        document_training_cases(tiny, cases, DocumentChoice())


def test_what_cannot_be_read_is_left_out(tiny: LM) -> None:
    cases, long = document_cases(3), make_document(text="word " * 2999 + "word")
    cases[0] = document_case(document=long.model_copy(update={"key": "d/bridge"}))
    assert document_text(tiny, cases[0].document) is None or not tiny.limit
    assert document_text(tiny, make_document(text="a")) is None or len(tiny.token_ids("a")) > 1
    assert len(document_training_cases(tiny, cases, DocumentChoice())) == (2 if tiny.limit else 3)
    with pytest.raises(UserError, match="1 document with probes"):
        document_training_cases(tiny, cases[1:2], DocumentChoice())
