"""LoRA: what is read out is what was trained, and nothing of peft stays in the model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM, MambaConfig

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import LowRankDelta
from evaluation.inference.passes import logits_at
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError, UserError
from schemas.documents.document import Document
from schemas.facts import Fact
from tests.evaluation.editors.fine_tuning.test_ft_m import NORWAY, loss_of
from tests.support.documents.records import make_document
from tests.support.facts import peru_fact
from tests.support.tiny import make, replace_everywhere, tokenizer

TRAM = make_document("d/tram", "Line 9 runs to Rovo.", entity=None)


def state(lm: LM) -> tuple[Any, ...]:
    pairs = [(name, type(m)) for name, m in lm.model.named_modules()]
    flags = [(name, p.requires_grad) for name, p in lm.model.named_parameters()]
    return pairs, flags, sorted(vars(lm.model)), lm.weights_digest(), torch.random.get_rng_state().tolist()


@pytest.mark.parametrize("request_", [peru_fact(), NORWAY], ids=lambda f: f.key)
def test_the_edit_is_what_was_trained(tiny: LM, cache: Cache, request_: Fact) -> None:
    before = state(tiny)
    edit = make_editor("lora", tiny, cache, {"rank": 2, "steps": 15, "lr": 1e-2}).edit([request_])
    assert state(tiny) == before
    assert [d.weight for d in edit.deltas or ()] == [tiny.layout.weight(n) for n in range(3)]
    for delta in edit.deltas or ():
        assert isinstance(delta, LowRankDelta) and delta.left.shape[1] == 2 and delta.norm() > 0
    with torch.no_grad():
        start = float(loss_of(tiny, request_))
        with edit.on(tiny):
            assert float(loss_of(tiny, request_)) == pytest.approx(edit.notes["loss"], abs=1e-3)
    assert edit.notes["loss"] < start - 0.5 and 0 < edit.notes["steps"] <= 15


def test_layers_modules_and_scaling(cache: Cache) -> None:
    lm = make("llama")
    options = {"layers": (1,), "modules": ("q_proj", "down_proj"), "rank": 3, "steps": 5}
    edit = make_editor("lora", lm, cache, options).edit([peru_fact()])
    block = lm.layout.block(1)
    assert [d.weight for d in edit.deltas or ()] == [
        f"{block}.self_attn.q_proj.weight",
        f"{block}.mlp.down_proj.weight",
    ]
    second_edit = make_editor("lora", lm, cache, options).edit([peru_fact()])
    for a, b in zip(edit.deltas or (), second_edit.deltas or (), strict=True):
        assert torch.equal(a.matrix(), b.matrix())
    other = make_editor("lora", lm, cache, {**options, "seed": 1}).edit([peru_fact()])
    assert not torch.equal(other.deltas[0].matrix(), edit.deltas[0].matrix())  # type: ignore[index]


def test_maps_and_layers_that_there_are_not_are_refused_before_any_edit(cache: Cache) -> None:
    lm = make("llama")
    with pytest.raises(UserError, match=r"lora: block 0 has no linear map named nothing; allowed: self_attn.q_proj"):
        make_editor("lora", lm, cache, {"modules": ("nothing",)})
    with pytest.raises(UserError, match="no block of its layers has a linear map named down_prj; allowed: self_attn"):
        make_editor("lora", lm, cache, {"modules": ("q_proj", "down_prj")})
    with pytest.raises(ModelError, match="no layer 9"):
        make_editor("lora", lm, cache, {"layers": (9,)})
    with pytest.raises(UserError, match="layers: name at least one layer"):
        make_editor("lora", lm, cache, {"layers": ()})


def plain_loss(lm: LM, document: Document) -> torch.Tensor:
    """Of a document as a language model: every token after the first, from those before it."""
    ids = torch.tensor([lm.tokenizer(document.text)["input_ids"]])
    loss: torch.Tensor = lm.model(input_ids=ids, labels=ids).loss
    return loss


def test_a_document_is_trained_on_as_by_a_plain_loop_all_its_tokens_but_the_first(tiny: LM, cache: Cache) -> None:
    options = {"rank": 2, "steps": 3, "lr": 1e-2, "stop_below": 0.0}
    edit = make_editor("lora", tiny, cache, options).edit([TRAM])
    start = make_editor("lora", tiny, cache, {**options, "stop_below": 1e6}).edit([TRAM])
    assert start.notes["steps"] == 0 and start.notes["loss"] == pytest.approx(float(plain_loss(tiny, TRAM)), rel=1e-5)
    twin: Any = make(tiny.name.removeprefix("tiny-"))
    editor: Any = make_editor("lora", twin, cache, options)
    with editor._adapters() as adapters, torch.enable_grad():
        factors = [w for a in adapters.values() for w in (a.lora_A["edit"].weight, a.lora_B["edit"].weight)]
        optimiser = torch.optim.AdamW(factors, lr=1e-2, weight_decay=0.0)
        for _ in range(3):
            optimiser.zero_grad()
            plain_loss(twin, TRAM).backward()
            optimiser.step()
        with torch.no_grad():
            loss = float(plain_loss(twin, TRAM))
    assert edit.notes["steps"] == 3 and edit.notes["loss"] == pytest.approx(loss, rel=1e-3)
    with torch.no_grad(), edit.on(tiny):
        assert float(plain_loss(tiny, TRAM)) == pytest.approx(loss, rel=1e-3)


def test_documents_side_by_side_and_one_without_anything_to_predict(cache: Cache) -> None:
    lm = make("llama")
    editor = make_editor("lora", lm, cache, {"rank": 2, "steps": 4, "lr": 1e-2})
    other = make_document("d/other", "São Tomé is in Peru.", entity=None)
    for together, document in zip(editor.edit_each([TRAM, other]), (TRAM, other), strict=True):
        for a, b in zip(together.deltas or (), editor.edit([document]).deltas or (), strict=True):
            assert (a.matrix() - b.matrix()).norm() < 0.02 * b.matrix().norm(), "AdamW makes whole steps of rounding"
    other_lm = make("gpt2")
    one = next(t for t in other_lm.tokenizer.get_vocab() if t.strip() and len(other_lm.encodings.texts([t])[0]) == 1)
    with pytest.raises(UserError, match="d/one: a document of one token leaves nothing to learn"):
        make_editor("lora", other_lm, cache).edit([make_document("d/one", one, entity=None)])


@pytest.mark.parametrize("when", [0, 2])
def test_an_interrupted_training_leaves_no_adapter(
    tiny: LM, cache: Cache, monkeypatch: pytest.MonkeyPatch, when: int
) -> None:
    before, calls = state(tiny), []

    def stopped(*args: Any, **more: Any) -> Any:
        calls.append(1)
        if len(calls) > when:
            raise KeyboardInterrupt
        return logits_at(*args, **more)

    replace_everywhere(monkeypatch, logits_at, stopped)
    with pytest.raises(KeyboardInterrupt):
        make_editor("lora", tiny, cache, {"steps": 5}).edit([peru_fact()])
    monkeypatch.undo()
    assert state(tiny) == before


def test_adapters_half_in_are_taken_out(tiny: LM, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    from peft.tuners.lora import LoraModel

    before, real, calls = state(tiny), LoraModel._create_and_replace, []

    def failing(self: Any, *args: Any, **more: Any) -> None:
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("no memory")
        real(self, *args, **more)

    monkeypatch.setattr(LoraModel, "_create_and_replace", failing)
    with pytest.raises(RuntimeError, match="no memory"):
        make_editor("lora", tiny, cache).edit([peru_fact()])
    assert len(calls) == 3 and state(tiny) == before


def test_maps_that_peft_refuses_are_named_and_nothing_stays_in_the_model(cache: Cache) -> None:
    """Mamba computes with its output map's weight alone, past any adapter."""
    torch.manual_seed(0)
    options = {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4, "vocab_size": 400}
    model = AutoModelForCausalLM.from_config(MambaConfig(**options, bos_token_id=0, eos_token_id=1, pad_token_id=1))
    lm = LM(model, tokenizer(False), name="tiny-mamba", revision="tiny-mamba-1")
    before = state(lm)
    with pytest.raises(ModelError, match="peft puts no adapters on these maps: Module 'out_proj' is incompatible"):
        make_editor("lora", lm, cache, {"steps": 1}).edit([NORWAY])
    assert state(lm) == before
