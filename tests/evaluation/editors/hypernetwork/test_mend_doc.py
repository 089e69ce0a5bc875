"""MEND on documents: a slow reference of edit and training, resumed training, what a checkpoint refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch.func import functional_call

from curation.files.artifact_cache import Cache
from curation.shipped import shipped_split
from curation.splits.split_file import make_split, write_split
from evaluation.editors.hypernetwork.gradients import map_shapes
from evaluation.editors.hypernetwork.mend import Mend
from evaluation.editors.hypernetwork.mend_doc import DocumentMend
from evaluation.editors.hypernetwork.network import EditNetworks, GradientPairs
from evaluation.editors.hypernetwork.training import Trainer
from evaluation.editors.presets import make_editor, preset
from evaluation.editors.target_texts import TargetText
from evaluation.models.hooks import capture
from evaluation.models.language_model import LM
from evaluation.runs.refusals import refuse_overlap
from evaluation.runs.runner import execute
from schemas.core.errors import DataError, UserError
from schemas.core.ids import seed
from tests.support.arithmetic import make_config
from tests.support.documents.records import document_case, make_document
from tests.support.editors import mend
from tests.support.editors.mend_doc import QUICK, document_cases
from tests.support.tiny import make

cases = mend.cases
DOCUMENT = make_document(text="A long sentence tells of rivers in Peru.")


def method(lm: LM, folder: Path, **options: Any) -> DocumentMend:
    return DocumentMend(DocumentMend.Params(**{**QUICK, **options}), lm, Cache(folder / "cache"))


def checkpoint(lm: LM, folder: Path, **options: Any) -> str:
    out = folder / "doc.safetensors"
    method(lm, folder, **options).train(document_cases(), name="theirs", out=out)
    return str(out)


# --- the slow reference ---------------------------------------------------------------------------------------


def slow_pairs(lm: LM, name: str, one: TargetText) -> GradientPairs:
    """Inputs and output gradients of one map and one text, by autograd through the map's own output."""
    with capture(lm.module(name)) as seen, torch.enable_grad():
        lm.model.get_input_embeddings().weight.requires_grad_(True)
        logits = lm.model(torch.tensor([one.ids])).logits[0].log_softmax(-1)
        loss = -logits[list(one.positions), list(one.goals)].mean()
        (delta,) = torch.autograd.grad(loss, [seen.output])
        lm.model.get_input_embeddings().weight.requires_grad_(False)
    real = (delta[0].abs().sum(-1) > 0).float()
    return GradientPairs(seen.input.detach()[0:1], delta.detach(), real[None])


def slow_weights(lm: LM, network: EditNetworks, maps: list[str], pairs: list[GradientPairs]) -> dict[str, Any]:
    """Edited weights as whole matrices, through which gradients flow into the network."""
    weights = {}
    for at, name in enumerate(maps):
        change = network(at, pairs[at])
        matrix = change.left[0] @ change.right[0].T
        weight = lm.module(name).weight
        assert isinstance(weight, torch.Tensor)
        weights[f"{name}.weight"] = weight + (matrix.T if lm.layout.transposed else matrix)
    return weights


def slow_log_probs(lm: LM, weights: dict[str, Any], one: TargetText) -> torch.Tensor:
    logits = functional_call(lm.model, weights, (torch.tensor([one.ids]),)).logits[0].log_softmax(-1)
    return logits[list(one.positions)]


def slow_training(lm: LM, trainer: Trainer, maps: list[str], p: Any) -> EditNetworks:
    """The same training with one document and one text at a time, on dense weights."""
    shapes = [tuple(lm.module(name).weight.shape) for name in maps]  # type: ignore[union-attr]
    sizes = [s if lm.layout.transposed else s[::-1] for s in shapes]
    network = EditNetworks(sizes, rank=p.rank, step=p.step_size, seed=seed(str(p.seed), "mend", "network"))  # type: ignore[arg-type]
    pairs = [[slow_pairs(lm, name, one.edit) for name in maps] for one in trainer.train]
    for at in range(len(maps)):
        network.fit(at, [one[at] for one in pairs])
    steps = [w for name, w in network.named_parameters() if name.endswith("log_step")]
    rest = [w for name, w in network.named_parameters() if not name.endswith("log_step")]
    optimiser = torch.optim.Adam([{"params": rest}, {"params": steps, "lr": p.step_lr}], lr=p.lr)
    for step in range(p.steps):
        draw = torch.Generator().manual_seed(seed(str(p.seed), "mend", str(step)))
        follow, stay = [], []
        for i in torch.randperm(len(trainer.train), generator=draw)[: p.edits].tolist():
            one, weights = trainer.train[i], slow_weights(lm, network, maps, pairs[i])
            places = range(len(one.paraphrases))
            if p.equal != "all":
                places = [int(torch.randint(len(one.paraphrases), (1,), generator=draw)) for _ in range(p.equal)]  # type: ignore[assignment]
            for k in places:
                text = one.paraphrases[k]
                found = slow_log_probs(lm, weights, text)
                follow.append(-found[range(len(text.goals)), list(text.goals)].mean())
            for _ in range(p.kept):
                text = one.locality[int(torch.randint(len(one.locality), (1,), generator=draw))]
                before, after = slow_log_probs(lm, {}, text), slow_log_probs(lm, weights, text)
                stay.append((before.exp() * (before - after)).sum(-1).mean())
        optimiser.zero_grad()
        (p.edit_weight * torch.stack(follow).mean() + torch.stack(stay).mean()).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return network


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("llama", {}),
        ("gpt2", {"maps": ("output",)}),
        ("llama", {"maps": ("input",)}),
        ("gpt2", {"equal": "all", "kept": 5}),
    ],
)
def test_training_equals_its_slow_twin(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    lm = make(kind)
    quick = method(lm, tmp_path, steps=3, report_every=3, lr=1e-2, step_size=1e-2, step_lr=0.1, **options)
    p = quick.params
    task = quick.training_task(document_cases())
    trainer = Trainer(lm, task, p, state=tmp_path / "state", identity={})
    fast = trainer.run().network
    slow = slow_training(lm, trainer, list(task.maps), p)
    for (name, a), b in zip(fast.named_parameters(), slow.parameters(), strict=True):
        assert torch.allclose(a, b, atol=2e-4), name
    moved = EditNetworks(map_shapes(lm, task.maps), rank=p.rank, step=p.step_size, seed=0)
    assert any(not torch.allclose(a, b, atol=1e-3) for a, b in zip(fast.parameters(), moved.parameters(), strict=True))


@pytest.mark.parametrize("kind", ["llama", "gpt2", "neox", "phi3"])
def test_an_edit_equals_its_slow_twin(kind: str, tmp_path: Path) -> None:
    """The changes of all maps, from gradients of one document taken alone; several documents add up."""
    lm = make(kind)
    path = checkpoint(lm, tmp_path)
    editor = make_editor("mend_doc", lm, Cache(tmp_path), {"checkpoint": path})
    edit, ready = editor.edit([DOCUMENT]), editor._network()
    assert [d.weight for d in edit.deltas or ()] == [f"{name}.weight" for name in ready.maps]
    expected = 2 * (1 + len(lm.layout.mlp_in))
    assert len(ready.maps) == expected and {n.split(".mlp")[0][-1] for n in ready.maps} == {"1", "2"}
    (one,) = editor.texts_of([DOCUMENT])
    assert one.end == 0 and len(one.ids) > 5
    for at, (name, delta) in enumerate(zip(ready.maps, edit.deltas or (), strict=True)):
        pairs = slow_pairs(lm, name, one)
        change = ready.network(at, pairs)
        assert torch.allclose(delta.matrix(), change.left[0] @ change.right[0].T, atol=1e-6), name
        assert delta.left.shape[1] == int(pairs.real.sum()) <= len(one.ids)  # type: ignore[union-attr]
    other = document_cases()[0].document
    both, each = editor.edit([DOCUMENT, other]), editor.edit_each([DOCUMENT, other])
    for a, *some in zip(both.deltas or (), *(e.deltas or () for e in each), strict=True):
        assert torch.allclose(a.matrix(), sum(b.matrix() for b in some), atol=1e-6)


# --- checkpoints ------------------------------------------------------------------------------------------------------


def test_a_checkpoint_tells_its_maps_whatever_the_options_say(tmp_path: Path) -> None:
    lm = make("llama")
    path = checkpoint(lm, tmp_path, maps=("output",))
    editor = make_editor("mend_doc", lm, Cache(tmp_path), {"checkpoint": path})
    assert [d.weight for d in editor.edit([DOCUMENT]).deltas or ()] == [lm.layout.weight(1), lm.layout.weight(2)]
    assert editor.edited_layers == (1, 2) and editor.first_layer == 1


def test_a_checkpoint_knows_its_method_model_and_documents(cases: Any, tmp_path: Path) -> None:
    lm = make("llama")
    path = checkpoint(lm, tmp_path)
    with pytest.raises(UserError, match="trained for another model; train one: scedit model train --editors mend_doc"):
        make_editor("mend_doc", make("gpt2"), Cache(tmp_path), {"checkpoint": path}).edit([DOCUMENT])
    with pytest.raises(DataError, match="no trained file of 'mend': it is one of 'mend_doc'"):
        make_editor("mend", lm, Cache(tmp_path), {"checkpoint": path}).edit([DOCUMENT])
    Mend(Mend.Params(**mend.QUICK), lm, Cache(tmp_path)).train(cases, name="t", out=tmp_path / "fact.safetensors")
    with pytest.raises(DataError, match="no trained file of 'mend_doc': it is one of 'mend'"):
        make_editor("mend_doc", lm, Cache(tmp_path), {"checkpoint": str(tmp_path / "fact.safetensors")}).edit(
            [DOCUMENT]
        )
    data = DocumentMend.training_data({"checkpoint": path})
    assert data is not None and len(data.texts) == 8 and "line 3x" in data.subjects and "d/line-3" in data.keys


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"key": "d/line-1"}, "the document 'd/line-1'"),
        ({"text": "line 2X runs, to QUITO"}, "the document 'd/other'"),
        ({"entity": "Line 5x"}, "the subject 'Line 5x'"),
    ],
)
def test_a_run_on_its_documents_is_refused(changes: dict[str, Any], what: str, tmp_path: Path) -> None:
    path = checkpoint(make("llama"), tmp_path)
    document = make_document(**{"key": "d/other", "entity": None, **changes})
    probes = tuple(p.model_copy(update={"document": document.key}) for p in document_case().probes)
    split = tmp_path / "split.jsonl"
    write_split(make_split("evaluated", [document_case(document=document, probes=probes)]), split)
    editors = {"mend_doc": {"name": "mend_doc", "params": {"checkpoint": path}}}
    config = make_config(tmp_path / "run", split={"file": str(split)}, editors=editors, metrics=["em"])
    with pytest.raises(UserError, match=f"editors.mend_doc: it learnt from theirs, which shares {what}"):
        execute(config)  # before a model is loaded
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_edited_or_learnt_is_said(tmp_path: Path) -> None:
    lm = make("llama")
    with pytest.raises(UserError, match="mend_doc: there is no trained file for this model"):
        method(lm, tmp_path).edit([DOCUMENT])
    editor = make_editor("mend_doc", lm, Cache(tmp_path), {"checkpoint": checkpoint(lm, tmp_path)})
    with pytest.raises(UserError, match="d/bridge: a document must have at least 2 tokens and at most 96, which"):
        editor.edit([make_document(text="word " * 299 + "word")])
    for maps in ((), ("input", "input")):
        with pytest.raises(UserError, match="name input, output or both, each once"):
            make_editor("mend_doc", lm, Cache(tmp_path), {"maps": maps})
    with pytest.raises(UserError, match="maps.0: "):
        make_editor("mend_doc", lm, Cache(tmp_path), {"maps": ("inner",)})
    with pytest.raises(UserError, match="1 document with probes that the model can read: too few to train on"):
        method(lm, tmp_path).train(document_cases(1), name="t", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_shipped_network_learnt_nothing_of_the_shipped_documents(tmp_path: Path) -> None:
    checkpoint = preset("mend_doc", "embedded")["checkpoint"]
    assert DocumentMend.checkpoint_path(checkpoint).stat().st_size < 5_000_000
    data = DocumentMend.training_data({"checkpoint": checkpoint})
    assert data is not None and data.name == "documents_from_facts" and len(data.texts) == 413
    refuse_overlap(data, shipped_split("documents"), where="mend_doc")  # no refusal
    case = document_case(document=make_document(entity=sorted(data.subjects)[0]))
    with pytest.raises(UserError, match="it learnt from documents_from_facts, which shares the subject"):
        refuse_overlap(data, make_split("other", [case]), where="mend_doc")
    with pytest.raises(UserError, match="trained for another model"):
        make_editor("mend_doc", make("llama"), Cache(tmp_path), {"checkpoint": checkpoint}).edit([make_document()])
