"""Saved edits as others load them: what is in the folder, scored as it is, whole or not at all."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from curation.files.checksums import sha256
from evaluation.edits.edit import WeightEdit
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.inference.generation import PromptToContinue, Sampling, generate
from evaluation.models.language_model import LM
from evaluation.runs.plan import load_metrics
from evaluation.saved_edits import save
from evaluation.saved_edits.formats import load_deltas
from evaluation.saved_edits.save import ask_cases, save_edit
from schemas.core.errors import UserError
from tests.support.editors.saved_edits import cases, editor
from tests.support.tiny import make

ADAPTER = {"adapter_config.json", "adapter_model.safetensors", "README.md", "edit.json"}


def reloaded(lm: LM, folder: Path) -> LM:
    model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=lm.dtype)
    return LM(model, AutoTokenizer.from_pretrained(folder), name=str(folder), revision="x")


@pytest.mark.parametrize("method", ["ft", "rome"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_saved_model_is_what_was_scored(method: str, dtype: torch.dtype, tiny: LM, tmp_path: Path) -> None:
    lm = make(tiny.name.removeprefix("tiny-"), dtype=dtype)
    digest = lm.weights_digest()
    edit = save_edit(editor(method, lm, tmp_path / "m"), cases(), tmp_path / "out")
    assert lm.weights_digest() == digest
    other = reloaded(lm, tmp_path / "out")
    metrics = load_metrics(["es", "ps"])
    for answers, change in ((ask_cases(other, cases(), metrics), "after"), (ask_cases(lm, cases(), metrics), "before")):
        for metric, field in zip(metrics, edit.about["scores"], strict=False):
            scores = [metric.score(c, a, a, "mean") for c, a in zip(cases(), answers, strict=True)]
            assert metric.summarise(scores).mean == pytest.approx(field[change]["mean"])
    assert (edit.about["rounding"] > 0) is (dtype is torch.bfloat16)


def test_the_saved_model_writes_our_texts(tiny: LM, tmp_path: Path) -> None:
    """Heads that share the embedding's weight (GPT-2) come back shared."""
    method = editor("rome", tiny, tmp_path / "m")
    save_edit(method, cases(), tmp_path / "out")
    edit = method.edit([c.fact for c in cases()])
    prompts = [PromptToContinue(c.fact.fact_prompt, 0) for c in cases()]
    continuations = generate(tiny, prompts, edits=[edit.deltas or ()], sampling=Sampling(12))
    other = reloaded(tiny, tmp_path / "out")
    assert [t.ids for t in generate(other, [p._replace(edit=-1) for p in prompts], sampling=Sampling(12))] == [
        t.ids for t in continuations
    ]
    heads = [lm.model.get_output_embeddings().weight is lm.model.get_input_embeddings().weight for lm in (other, tiny)]
    assert heads[0] is heads[1]


def test_the_folder_of_an_adapter(tiny: LM, tmp_path: Path) -> None:
    edit = save_edit(editor("memit", tiny, tmp_path / "m"), cases(), tmp_path / "out", saved_as="adapter")
    assert {p.name for p in (tmp_path / "out").iterdir()} == ADAPTER
    data = json.loads((tmp_path / "out" / "edit.json").read_text())
    assert data == json.loads(json.dumps(edit.about)) and data["rank"] >= 3
    assert data["files"] == {"adapter_model.safetensors": sha256(tmp_path / "out" / "adapter_model.safetensors")}
    assert [f["key"] for f in data["facts"]] == [c.fact.key for c in cases()]
    card = (tmp_path / "out" / "README.md").read_text()
    for field in ("memit, version", data["facts_digest"], "| ES |", "| PS |", "São Tomé", "max-lora-rank"):
        assert field in card


def test_dense_edits_are_saved_as_changes_or_refused_as_adapters(tiny: LM, tmp_path: Path) -> None:
    method = editor("ft", tiny, tmp_path / "m")
    with pytest.raises(UserError, match="every entry of .* no low-rank adapter can hold"):
        save_edit(method, cases(), tmp_path / "out", saved_as="adapter")
    assert not (tmp_path / "out").exists()
    save_edit(method, cases(), tmp_path / "out", saved_as="deltas")
    (delta,) = load_deltas(tmp_path / "out").deltas
    (deltas,) = method.edit([c.fact for c in cases()]).deltas or ()
    assert isinstance(delta, DenseDelta) and torch.equal(delta.matrix(), deltas.matrix())


@pytest.mark.parametrize("method", ["none", "prompt"])
def test_edits_without_weights_are_refused(method: str, tiny: LM, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"'{method}' changes the prompt or nothing"):
        save_edit(editor(method, tiny, tmp_path / "m"), cases(1), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(tiny: LM, tmp_path: Path) -> None:
    method, out = editor("rome", tiny, tmp_path / "m"), tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("kept")
    with pytest.raises(UserError, match="something here already"):
        save_edit(method, cases(1), out)
    assert [p.name for p in out.iterdir()] == ["mine.txt"]
    with pytest.raises(UserError, match="something here already"):
        save_edit(method, cases(1), out / "mine.txt")
    with pytest.raises(UserError, match="cannot be written|cannot be looked into"):
        save_edit(method, cases(1), out / "mine.txt" / "below", saved_as="adapter")
    (out / "mine.txt").unlink()
    save_edit(method, cases(1), out, saved_as="adapter")
    assert {p.name for p in out.iterdir()} == ADAPTER


def test_an_edit_that_diverged_to_nan_is_refused(tiny: LM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method, at = editor("rome", tiny, tmp_path / "m"), tiny.layout
    damaged = WeightEdit((DenseDelta(at.weight(1), torch.full((at.width, at.inner), float("nan"))),))
    monkeypatch.setattr(type(method), "edit", lambda self, requests: damaged)
    for kind in ("model", "adapter", "deltas"):
        with pytest.raises(UserError, match="is not finite"):
            save_edit(method, cases(1), tmp_path / "out", saved_as=kind)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_what_transformers_cannot_save_is_told(tiny: LM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> None:
        raise ValueError("bad\n generation settings")

    monkeypatch.setattr(tiny.model, "save_pretrained", refused)
    with pytest.raises(UserError, match="cannot save this model: bad generation settings"):
        save_edit(editor("rome", tiny, tmp_path / "m"), cases(1), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["model", "adapter", "deltas"])
def test_a_killed_save_leaves_nothing_half_written(kind: Any, tmp_path: Path) -> None:
    """The process is killed when all weights are written and the card is not."""
    lm = make("llama")
    method, out = editor("rome", lm, tmp_path / "m"), tmp_path / "out"
    method.prepare(())
    child = os.fork()
    if child == 0:
        try:
            torch.set_num_threads(1)
            save.card = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment]
            save_edit(method, cases(1), out, saved_as=kind)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and not out.exists()
    assert any(p.name.startswith(".out") for p in tmp_path.iterdir()), "it was in the middle of writing"
    save_edit(method, cases(1), out, saved_as=kind)
    assert (out / "edit.json").exists() and not any(p.name.startswith(".") for p in tmp_path.iterdir())
