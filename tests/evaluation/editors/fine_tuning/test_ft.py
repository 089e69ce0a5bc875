"""Fine-tuning against training the weights themselves; weights that come back; LoRA read out as it was trained."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from peft import LoraConfig, inject_adapter_in_model

from curation.files.artifact_cache import Cache
from evaluation.editors.fine_tuning import trained_weights
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError, UserError
from schemas.documents.document import Document
from schemas.facts import Entity, Fact, Object
from tests.contracts.test_editors import FACTS
from tests.contracts.test_editors_restore import breaking
from tests.support.documents.records import make_document, stated_document
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.editors.plain_training import changes_by_adam, object_loss
from tests.support.facts import peru_fact
from tests.support.tiny import make


def published_loss(lm: LM, request: Fact) -> torch.Tensor:
    """FT's, as published: every target token at the last prompt position."""
    text = lm.encode(request.fact_prompt, request.new_object.text)
    logprobs = lm.model(torch.tensor([text.ids[: text.first]])).logits[0, -1].log_softmax(-1)
    return -logprobs[list(text.target)].mean()


@pytest.mark.parametrize("eps", [None, 3e-3])
def test_ft_equals_training_the_weight(tiny: LM, cache: Cache, eps: float | None) -> None:
    options: dict[str, Any] = {"layer": 1, "steps": 12, "lr": 1e-2}
    editor = make_editor("ft_l" if eps else "ft", tiny, cache, {**options, **({"eps": eps} if eps else {})})
    digest = tiny.weights_digest()
    edit = editor.edit([NORWAY])
    assert tiny.weights_digest() == digest
    (delta,) = edit.deltas or ()
    assert isinstance(delta, DenseDelta)
    (want,) = changes_by_adam(tiny, [1], [partial(published_loss, tiny, NORWAY)] * 12, lr=1e-2, eps=eps)
    assert (delta.value - want).norm() < 1e-3 * want.norm()
    assert edit.notes["norm_ratio"] > 0 and edit.notes["steps"] > 0 and edit.notes["blow_up"] is False
    if eps:
        assert float(delta.value.abs().max()) == pytest.approx(eps)


@pytest.mark.parametrize(
    ("requests", "layers"), [([NORWAY], (1,)), ([PERU, NORWAY], (0, 2))], ids=["one", "two in two layers"]
)
def test_ft_m_equals_training_the_weights(
    tiny: LM, cache: Cache, requests: list[Fact], layers: tuple[int, ...]
) -> None:
    options: dict[str, Any] = {"steps": 10, "lr": 3e-3}
    edit = make_editor("ft_m", tiny, cache, {**options, "layer": layers, "stop_below": 0.0}).edit(requests)
    want = changes_by_adam(tiny, layers, [partial(object_loss, tiny, requests)] * 10, lr=3e-3)
    assert [d.weight for d in edit.deltas or ()] == [tiny.layout.weight(n) for n in layers]
    for delta, shift in zip(edit.deltas or (), want, strict=True):
        assert isinstance(delta, DenseDelta)
        assert (delta.value - shift).norm() < 1e-2 * shift.norm()


FRANCE = peru_fact("f/france", subject=Entity(text="France"), old=Object(text="Paris"), new=Object(text="Quito"))


THREE_FACTS = [PERU, NORWAY, FRANCE]


def batches(lm: LM, *, epochs: int, batch: int, eos: bool, seed: int) -> Iterator[Callable[[], torch.Tensor]]:
    """The losses of the updates in their order."""
    draws = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        order = torch.randperm(len(THREE_FACTS), generator=draws).tolist()
        for start in range(0, len(order), batch):
            some = [THREE_FACTS[n] for n in order[start : start + batch]]
            yield partial(object_loss, lm, some, eos=eos)


@pytest.mark.parametrize(("batch", "eos", "seed"), [(2, True, 0), (1, False, 4), (100, True, 0)])
def test_it_is_the_plain_loop(tiny: LM, cache: Cache, batch: int, eos: bool, seed: int) -> None:
    options: dict[str, Any] = {"epochs": 4, "batch": batch, "eos": eos, "seed": seed}
    edit = make_editor("ft_bf", tiny, cache, {**options, "layer": 1, "lr": 3e-3, "stop_below": 0.0}).edit(THREE_FACTS)
    (want,) = changes_by_adam(tiny, [1], batches(tiny, **options), lr=3e-3)
    (delta,) = edit.deltas or ()
    assert (delta.matrix() - want).norm() < 1e-2 * want.norm()
    assert edit.notes["steps"] == 4 * -(-3 // batch)


def test_small_losses_make_no_update_and_end_it(tiny: LM, cache: Cache) -> None:
    still = make_editor("ft_bf", tiny, cache, {"layer": 1, "stop_below": 1e6}).edit(THREE_FACTS)
    assert still.notes["steps"] == 0 and still.deltas[0].norm() == 0
    options = {"layer": 2, "epochs": 60, "lr": 1e-2, "eos": False, "stop_below": 4.0}
    made = make_editor("ft_bf", tiny, cache, options).edit([PERU])
    assert made.notes["loss"] < 4.0 and 0 < made.notes["steps"] < 60
    with made.on(tiny), torch.no_grad():
        assert float(object_loss(tiny, [PERU], eos=False)) == pytest.approx(made.notes["loss"], rel=1e-3), (
            "no update after it"
        )


def test_a_tokenizer_without_an_end_token_is_refused(cache: Cache) -> None:
    lm = make("gpt2")
    lm.tokenizer = SimpleNamespace(eos_token_id=None, pad_token_id=1)
    with pytest.raises(ModelError, match="no end token to learn.*set eos = false"):
        make_editor("ft_bf", lm, cache, {"layer": 1}).edit([PERU])
    make_editor("ft_bf", lm, cache, {"layer": 1, "epochs": 1, "eos": False}).edit([PERU])


MANY = [*FACTS, *(fact.model_copy(update={"prompt": "Everybody says that " + fact.prompt}) for fact in FACTS)]


METHODS: dict[str, dict[str, Any]] = {
    "ft": {"layer": 1, "steps": 12, "lr": 1e-2, "stop_below": 5.0},
    "ft_l": {"layer": 1, "steps": 12, "lr": 1e-2, "stop_below": 5.0, "eps": 0.1},
    "ft_m": {"layer": (0, 2), "steps": 12, "lr": 1e-2, "stop_below": 2.6},
    "lora": {"steps": 12, "lr": 0.02, "stop_below": 1.5, "weight_decay": 0.1},
}


@pytest.mark.parametrize(("method", "kind"), [*zip(METHODS, ("llama", "gpt2", "gpt2", "gemma2"), strict=True)])
def test_edits_that_stop_at_different_steps_are_those_made_alone(method: str, kind: str, cache: Cache) -> None:
    lm = make(kind)
    editor, digest = make_editor(method, lm, cache, METHODS[method]), lm.weights_digest()
    together, alone = editor.edit_each(MANY), [editor.edit([fact]) for fact in MANY]
    steps = [edit.notes["steps"] for edit in alone]
    assert min(steps) < max(steps), steps
    for one, other in zip(together, alone, strict=True):
        assert one.notes["steps"] == other.notes["steps"]
        assert one.notes["loss"] == pytest.approx(other.notes["loss"], abs=1e-3)
        for value, want in zip(one.deltas or (), other.deltas or (), strict=True):
            gap = (value.matrix() - want.matrix()).norm() / want.matrix().norm()
            assert value.weight == want.weight and gap < 0.01, (
                "Adam takes whole steps where a gradient is only rounding"
            )
    assert lm.weights_digest() == digest and not any(m._forward_hooks for m in lm.model.modules())
    assert editor.edit_each([]) == []


def test_a_batch_that_runs_out_of_memory_is_halved(tiny: LM, cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    editor: Any = make_editor("ft", tiny, cache, METHODS["ft"])
    real, want = editor._train, editor.edit_each(MANY)

    def failing(edits: list[Any]) -> Any:
        if len(edits) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return real(edits)

    monkeypatch.setattr(editor, "_train", failing)
    for one, other in zip(editor.edit_each(MANY), want, strict=True):
        assert one.notes["steps"] == other.notes["steps"]


EDITS = 50


ERRORS = (KeyboardInterrupt, RuntimeError)


STATED = [
    stated_document(make_document(f"d/{n}", f"Line {n} runs to Rovo.", entity=None), subject=f"Line {n}", target="Rovo")
    for n in range(4)
]


SCOPES: list[dict[str, Any]] = [{}, {}, {"scope": "blocks", "layers": (1, 2)}, {"scope": "mlps"}]


@pytest.mark.parametrize("kind", ["llama", "gpt2"])
def test_weights_are_bit_equal_after_50_edits_a_third_broken_off(kind: str, tmp_path: Path) -> None:
    lm, draw, cache = make(kind), random.Random(f"whole-model/{kind}"), Cache(tmp_path)
    digest, counts = lm.weights_digest(), Counter[str]()
    head = lm.module(lm.layout.head)
    for n in range(EDITS):
        method, scope = ("ft_lm", "side")[n % 2], draw.choice(SCOPES)
        options = {"lr": 1e-3, "epochs": 2} if method == "ft_lm" else {"lr": 1e-3, "steps": 2, "instruction": "Say."}
        stated = draw.sample(STATED, draw.randint(1, 3))
        edit = make_editor(method, lm, cache, {**options, **scope}).edit(
            [one.document for one in stated] if method == "ft_lm" else stated
        )
        # n % 3 == 0 breaks off: in a pass or a step of training, while it is on, or while the weights are copied back
        moment = draw.choice(["pass", "step", "inside", "copy"]) if n % 3 == 0 else "none"
        error, after = draw.choice(ERRORS), draw.random() < 0.5
        changed = False
        try:
            with (
                breaking(head, "forward", draw.randint(1, 2) if moment == "pass" else 0, error, after=after),
                breaking(torch.optim.AdamW, "step", draw.randint(1, 2) if moment == "step" else 0, error, after=after),
                breaking(trained_weights, "put_back", int(moment == "copy"), error, after=True),
                edit.on(lm),
            ):
                changed = lm.weights_digest() != digest
                if moment == "inside":
                    raise error
        except ERRORS:
            counts[moment] += 1
        else:
            counts["none"] += 1
        assert lm.weights_digest() == digest, (n, method, scope, moment)
        assert changed is (moment not in ("pass", "step")), "an edit that changes nothing shows nothing"
        assert not any(p.requires_grad or p.grad is not None for p in lm.model.parameters())
    assert counts["none"] == EDITS - (EDITS + 2) // 3 and len(counts) == 5, counts


@pytest.mark.parametrize("method", ["ft_lm", "side"])
def test_too_little_memory_is_said_with_numbers_before_any_edit(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lm = make("llama")
    count = sum(p.numel() for p in lm.model.parameters())
    one_block = sum(p.numel() for p in lm.block(1).parameters())
    for free, fits in ((16 * count, True), (16 * count - 1, False), (0, False)):
        monkeypatch.setattr(trained_weights, "available_bytes", lambda device, free=free: free)
        if fits:
            make_editor(method, lm, Cache(tmp_path), {})
            continue
        with pytest.raises(UserError, match=f"'{method}' would train {count:,} weights, which needs 0.0 GiB") as error:
            make_editor(method, lm, Cache(tmp_path), {})
        assert "on cpu, where 0.0 GiB are free; train less" in str(error.value) and "\n" not in str(error.value)
    monkeypatch.setattr(trained_weights, "available_bytes", lambda device: 16 * one_block)
    make_editor(method, lm, Cache(tmp_path), {"scope": "blocks", "layers": (1,)})
    with pytest.raises(UserError, match="would train"):
        make_editor(method, lm, Cache(tmp_path), {"scope": "blocks", "layers": (0, 1)})


TRAM = make_document("d/tram", "Line 9 runs to Rovo.", entity=None)


def state(lm: LM) -> tuple[Any, ...]:
    pairs = [(name, type(m)) for name, m in lm.model.named_modules()]
    flags = [(name, p.requires_grad) for name, p in lm.model.named_parameters()]
    return pairs, flags, sorted(vars(lm.model)), lm.weights_digest(), torch.random.get_rng_state().tolist()


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


def loss_of(lm: LM, request: Fact | Document) -> torch.Tensor:
    """Of a fact its object's; of a document every token's after the first, from those before it."""
    if isinstance(request, Fact):
        return object_loss(lm, [request])
    ids = torch.tensor([lm.tokenizer(request.text)["input_ids"]])
    loss: torch.Tensor = lm.model(input_ids=ids, labels=ids).loss
    return loss


@pytest.mark.parametrize("request_", [NORWAY, TRAM], ids=lambda request: request.key)
def test_it_is_what_peft_trains_inside_the_model(tiny: LM, cache: Cache, request_: Fact | Document) -> None:
    options = {"rank": 2, "steps": 4, "lr": 1e-2, "stop_below": 0.0}
    before = state(tiny)
    edit = make_editor("lora", tiny, cache, options).edit([request_])
    assert state(tiny) == before
    reference: Any = make(tiny.name.removeprefix("tiny-"))
    names = [tiny.layout.projection(n) for n in range(3)]
    config = LoraConfig(r=2, lora_alpha=32, target_modules=names, fan_in_fan_out=tiny.layout.transposed)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        inject_adapter_in_model(config, reference.model, "edit")
    layers = [reference.module(name) for name in names]
    factors = [factor["edit"].weight for layer in layers for factor in (layer.lora_A, layer.lora_B)]
    optimiser = torch.optim.AdamW(factors, lr=1e-2, weight_decay=0.0)
    for _ in range(4):
        optimiser.zero_grad()
        loss_of(reference, request_).backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    with torch.no_grad():
        assert edit.notes["loss"] == pytest.approx(float(loss_of(reference, request_)), rel=1e-3)
    for layer, delta in zip(layers, edit.deltas or (), strict=True):
        want = layer.get_delta_weight("edit")
        assert (delta.matrix() - (want.T if tiny.layout.transposed else want)).norm() < 1e-2 * want.norm()


def test_documents_side_by_side_and_one_without_anything_to_predict(cache: Cache) -> None:
    lm = make("llama")
    editor = make_editor("lora", lm, cache, {"rank": 2, "steps": 4, "lr": 1e-2})
    other = make_document("d/other", "São Tomé is in Peru.", entity=None)
    for together, document in zip(editor.edit_each([TRAM, other]), (TRAM, other), strict=True):
        for a, b in zip(together.deltas or (), editor.edit([document]).deltas or (), strict=True):
            assert (a.matrix() - b.matrix()).norm() < 0.02 * b.matrix().norm(), "AdamW makes whole steps of rounding"
    other_lm = make("gpt2")
    one = next(t for t in other_lm.tokenizer.get_vocab() if t.strip() and len(other_lm.token_ids(t)) == 1)
    with pytest.raises(UserError, match="d/one: a document of one token leaves nothing to learn"):
        make_editor("lora", other_lm, cache).edit([make_document("d/one", one, entity=None)])


def test_maps_that_the_model_does_not_call_are_refused(cache: Cache) -> None:
    """RWKV-like models multiply with a map's weight themselves, so that no change of its output would be seen."""
    lm = make("llama")
    projection: Any = lm.projection(1)
    lm.block(1).mlp.forward = lambda states: states @ states.new_zeros(32, 48) @ projection.weight.T  # type: ignore[union-attr]
    with pytest.raises(ModelError, match="does not call model.layers.1.mlp.down_proj, so a change of it cannot be"):
        make_editor("lora", lm, cache, {"steps": 1}).edit([NORWAY])
