from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from evaluation.edits.delta_stack import applied
from evaluation.edits.weight_deltas import DenseDelta, LowRankDelta
from evaluation.inference.generation import PromptToContinue, Sampling, generate
from evaluation.models.language_model import LM
from evaluation.saved_edits.formats import (
    FILE,
    adapter_factors,
    load_deltas,
    merge_into_weights,
    write_adapter,
    write_deltas,
)
from schemas.core.errors import DataError, UserError
from tests.contracts.test_editors import editor as any_editor
from tests.contracts.test_editors import every, requests_of
from tests.support.editors.saved_edits import FACTS, editor
from tests.support.evaluation.edited_model import edited_copy
from tests.support.tiny import make


def test_changes_come_back_exactly(tiny: LM, tmp_path: Path) -> None:
    at = tiny.layout
    deltas = [LowRankDelta(at.weight(n % 3), torch.randn(at.width, 2), torch.randn(at.inner, 2)) for n in range(12)]
    deltas_all = [*deltas, DenseDelta(at.weight(0), torch.randn(at.width, at.inner))]
    write_deltas(deltas_all, tmp_path)
    back = load_deltas(tmp_path).deltas
    assert [d.weight for d in back] == [d.weight for d in deltas_all] and [type(d) for d in back] == [
        type(d) for d in deltas_all
    ]
    assert all(torch.equal(a.matrix(), b.matrix()) for a, b in zip(back, deltas_all, strict=True))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        load_deltas(tmp_path)
    (tmp_path / FILE).write_bytes(b"\x08")
    with pytest.raises(DataError, match="cannot be read"):
        load_deltas(tmp_path)
    save_file({"a": torch.zeros(1)}, tmp_path / FILE)
    with pytest.raises(DataError, match="no file of changes"):
        load_deltas(tmp_path)
    for name in ("a", "x/y/left", "0/w/left", "0/w/other"):
        save_file({name: torch.zeros(1, 1)}, tmp_path / FILE, metadata={"format": "weight deltas 1"})
        with pytest.raises(DataError, match="cannot be read"):
            load_deltas(tmp_path)


def change(lm: LM, layer: int, size: float = 1.0) -> DenseDelta:
    generator = torch.Generator().manual_seed(layer)
    return DenseDelta(
        lm.layout.weight(layer), size * torch.randn(lm.layout.width, lm.layout.inner, generator=generator)
    )


def test_equals_weights_changed_by_hand_and_is_undone(tiny: LM) -> None:
    low = LowRankDelta(tiny.layout.weight(1), torch.ones(tiny.layout.width, 2), torch.ones(tiny.layout.inner, 2))
    deltas, digest = [change(tiny, 0), low, change(tiny, 1)], tiny.weights_digest()
    slow = edited_copy(tiny, deltas)
    with merge_into_weights(tiny.model, deltas) as losses:
        for (name, weight), other_parameter in zip(tiny.model.named_parameters(), slow.parameters(), strict=True):
            assert torch.allclose(weight, other_parameter, atol=1e-5), name
        assert tiny.weights_digest() != digest and losses == 0.0
    assert tiny.weights_digest() == digest
    with pytest.raises(KeyboardInterrupt), merge_into_weights(tiny.model, deltas):
        raise KeyboardInterrupt
    assert tiny.weights_digest() == digest


def test_rounding_is_told() -> None:
    lm = make("llama", dtype=torch.bfloat16)
    digest = lm.weights_digest()
    with merge_into_weights(lm.model, [change(lm, 1, 1.0)]) as large:
        assert 0 < large < 0.05
    with merge_into_weights(lm.model, [change(lm, 1, 1e-6)]) as tiny_change:
        assert tiny_change > 0.5, "a change below the type's resolution vanishes, and is said to"
    with merge_into_weights(lm.model, [change(lm, 1, 0.0)]) as nothing:
        assert nothing == 0.0
    assert lm.weights_digest() == digest


def test_changes_of_one_weight_add_up_before_they_are_rounded() -> None:
    lm = make("llama", dtype=torch.bfloat16)
    with merge_into_weights(lm.model, [change(lm, 1, 8.0), DenseDelta(lm.layout.weight(1), -change(lm, 1, 8.0).value)]):
        assert torch.equal(lm.projection(1).weight, make("llama", dtype=torch.bfloat16).projection(1).weight)


def test_a_shared_weight_is_refused() -> None:
    lm = make("gpt2")
    head = lm.model.lm_head
    assert head.weight is lm.model.transformer.wte.weight
    delta = DenseDelta("lm_head.weight", torch.zeros(head.out_features, head.in_features))
    with (
        pytest.raises(UserError, match="'lm_head.weight' is the weight of 'transformer.wte' too"),
        merge_into_weights(lm.model, [delta]),
    ):
        pass


peft = pytest.importorskip("peft")


EXACT = {"rome", "r_rome", "memit", "emmet", "alphaedit", "anyedit", "lora", "boost", "ultraedit"}
EXACT |= {"mend", "malmen", "rledit", "mend_doc"}


"""Methods with low-rank edits, as the page on saved edits lists them."""


TEXTS = [f.fact_prompt for f in FACTS] + ["Peru is a country. Step 1: Fly to", "The headquarters are in"]


def logits(model: Any, lm: LM) -> Tensor:
    with torch.no_grad():
        ids, mask = lm.pad([lm.tokenizer(t)["input_ids"] for t in TEXTS])
        return model(input_ids=ids, attention_mask=mask).logits[mask.bool()].float().log_softmax(-1)


def random_delta(lm: LM, layer: int, rank: int, seed: int = 0) -> LowRankDelta:
    generator = torch.Generator().manual_seed(seed)
    factor = torch.randn(lm.layout.width, rank, generator=generator)
    right = torch.randn(lm.layout.inner, rank, generator=generator)
    return LowRankDelta(lm.layout.weight(layer), factor, right)


def loaded(lm: LM, folder: Path) -> Any:
    return peft.PeftModel.from_pretrained(copy.deepcopy(lm.model), str(folder)).eval()


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_the_adapter_loaded_or_merged_by_peft_is_the_edit(kind: str, tmp_path: Path) -> None:
    lm = make(kind)
    edit = editor("memit", lm, tmp_path / "method").edit(FACTS)
    assert edit.deltas
    write_adapter(lm, edit.deltas, tmp_path)
    with edit.on(lm):
        ours = logits(lm.model, lm)
    other = loaded(lm, tmp_path)
    assert (logits(other, lm) - ours).abs().max() < 1e-4
    texts = generate(lm, [PromptToContinue(t, 0) for t in TEXTS], edits=[edit.deltas or ()], sampling=Sampling(8))
    for text, value in zip(TEXTS, texts, strict=True):
        ids = lm.tokenizer(text, return_tensors="pt")["input_ids"]
        options = {"max_new_tokens": 8, "do_sample": False, "eos_token_id": lm.tokenizer.eos_token_id}
        written = other.generate(input_ids=ids, attention_mask=torch.ones_like(ids), pad_token_id=1, **options)
        assert written[0, ids.shape[1] :].tolist()[: len(value.ids)] == list(value.ids)
    merged = loaded(lm, tmp_path).merge_and_unload()
    assert (logits(merged, lm) - ours).abs().max() < 1e-4, "fan_in_fan_out is right: merging turns the product"


def test_several_changes_of_one_weight_and_different_ranks(tiny: LM, tmp_path: Path) -> None:
    deltas = [random_delta(tiny, 0, 2, 1), random_delta(tiny, 0, 3, 2), random_delta(tiny, 2, 1, 3)]
    factors = write_adapter(tiny, deltas, tmp_path)
    assert factors.rank == 5 and set(factors.up) == {tiny.layout.projection(0), tiny.layout.projection(2)}
    with applied(tiny.model, deltas):
        our_logits = logits(tiny.model, tiny)
    assert (logits(loaded(tiny, tmp_path), tiny) - our_logits).abs().max() < 1e-4
    tensors = load_file(tmp_path / "adapter_model.safetensors")
    assert {t.shape[0 if "lora_A" in n else 1] for n, t in tensors.items()} == {5}, "one rank for all, as vLLM reads it"
    assert all(n.startswith("base_model.model.") and n.endswith((".lora_A.weight", ".lora_B.weight")) for n in tensors)


@pytest.mark.parametrize("parts", [40, 97])
def test_more_changes_than_the_weight_has_ranks(tiny: LM, tmp_path: Path, parts: int) -> None:
    deltas = [random_delta(tiny, 1, 1, n) for n in range(parts)]
    factors = write_adapter(tiny, deltas, tmp_path)
    assert factors.rank == tiny.layout.width < parts
    name = tiny.layout.projection(1)
    matrix = torch.stack([d.matrix() for d in deltas]).sum(0)
    assert torch.allclose(factors.up[name] @ factors.down[name], matrix, atol=1e-4)


def test_the_configuration_names_what_servers_read(tiny: LM, tmp_path: Path) -> None:
    write_adapter(tiny, [random_delta(tiny, 1, 3)], tmp_path)
    report = json.loads((tmp_path / "adapter_config.json").read_text())
    assert report["peft_type"] == "LORA" and report["r"] == report["lora_alpha"] == 3
    assert report["target_modules"] == [tiny.layout.projection(1)]
    assert report["fan_in_fan_out"] is tiny.layout.transposed
    assert report["bias"] == "none" and not report["use_dora"] and not report["use_rslora"]
    assert not report["modules_to_save"] and not report["rank_pattern"] and not report["alpha_pattern"]
    assert report["base_model_name_or_path"] == tiny.name
    known_values = set(peft.LoraConfig.__dataclass_fields__)
    assert report.keys() <= known_values, "PEFT knows every option"


def test_what_no_adapter_can_hold_is_refused(tiny: LM) -> None:
    at = tiny.layout
    dense = DenseDelta(at.weight(0), torch.ones(at.width, at.inner))
    with pytest.raises(UserError, match="every entry of .* use --save-as deltas"):
        adapter_factors(tiny.model, [random_delta(tiny, 1, 1), dense])
    with pytest.raises(UserError, match="changes no weight"):
        adapter_factors(tiny.model, [])
    damaged = random_delta(tiny, 1, 1)
    damaged.left[0, 0] = float("nan")
    with pytest.raises(UserError, match="is not finite"):
        adapter_factors(tiny.model, [damaged])
    names = [name for name, module in tiny.model.named_modules() if "norm" in type(module).__name__.lower()]
    norm = f"{names[0]}.weight"
    with pytest.raises(UserError, match="cannot be changed by an edit"):
        adapter_factors(tiny.model, [LowRankDelta(norm, torch.ones(at.width, 1), torch.ones(1, 1))])
    with pytest.raises(UserError, match="has no weight"):
        adapter_factors(tiny.model, [LowRankDelta("no.such.weight", torch.ones(2, 1), torch.ones(2, 1))])


def test_weights_of_both_orientations_need_two_adapters() -> None:
    lm = make("gpt2")
    model = nn.ModuleDict({"a": lm.projection(0), "b": nn.Linear(4, 4)})
    one = LowRankDelta("a.weight", torch.ones(lm.layout.width, 1), torch.ones(lm.layout.inner, 1))
    two = LowRankDelta("b.weight", torch.ones(4, 1), torch.ones(4, 1))
    assert adapter_factors(model, [one]).transposed and not adapter_factors(model, [two]).transposed
    with pytest.raises(UserError, match="one adapter cannot say"):
        adapter_factors(model, [one, two])


@every
def test_every_methods_edit_is_equal_in_peft_or_refused(method: str, tmp_path: Path) -> None:
    lm = make("llama", max_position_embeddings=512)
    (tmp_path / "method").mkdir()
    edit = any_editor(method, lm, tmp_path / "method").edit(requests_of(method)[:2])
    low = bool(edit.deltas) and all(isinstance(delta, LowRankDelta) for delta in edit.deltas or ())
    assert low is (method in EXACT)
    if not low:
        with pytest.raises(
            UserError, match="no low-rank adapter can hold|switched on prompt by prompt|changes no weight"
        ):
            write_adapter(lm, edit.deltas or (), tmp_path)
        return
    write_adapter(lm, edit.deltas or (), tmp_path)
    other, plain = loaded(lm, tmp_path), logits(lm.model, lm)
    with edit.on(lm):
        ours = logits(lm.model, lm)
    assert (ours - plain).abs().max() > 1e-5, "the edit is felt"
    assert (logits(other, lm) - ours).abs().max() < 1e-4
