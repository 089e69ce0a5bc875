"""MEMIT and its relatives against the systems of full size; what the methods that spread a residual share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from benchmarks.support.naive_reference import representations
from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import Corpus, KeyCovariance, key_covariances
from evaluation.editors import EDITORS
from evaluation.editors.locate_edit import context_templates, value_search
from evaluation.editors.locate_edit.alphaedit import AlphaEdit
from evaluation.editors.locate_edit.closed_forms import columns, factor, null_space
from evaluation.editors.presets import make_editor
from evaluation.edits.edit import CarryingEdit
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError, UserError
from schemas.facts import Entity, Fact, Object
from tests.support.editors import memit
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.editors.memit import CONTEXTS, METHODS, close, editor, every
from tests.support.facts import peru_fact
from tests.support.tiny import make

corpus = memit.corpus


FRANCE = peru_fact("f/france", subject=Entity(text="France"), old=Object(text="Paris"), new=Object(text="Quito"))


def at_subject(lm: LM, module: Any, request: Fact, template: str, what: str) -> Tensor:
    """A module's input or output at the subject's last token, from a full pass over one prompt."""
    given, out = representations(lm, module, request, [template])
    return (given if what == "input" else out)[0].double()


def solved(method: str, k: Tensor, c: Tensor) -> Tensor:
    """X with the change R Xᵀ, from a system of the keys' size."""
    lam = METHODS[method]["lam"]
    if method == "memit":
        return torch.linalg.solve(lam * c + k @ k.T, k)
    if method == "emmet":
        inverse = torch.linalg.inv(c)
        return inverse @ k @ torch.linalg.inv(k.T @ inverse @ k)
    spectrum, vectors = torch.linalg.eigh(c)
    small = vectors[:, spectrum.cumsum(0) / spectrum.sum() <= METHODS[method]["null_share"]]
    p = small @ small.T
    return torch.linalg.solve(p @ k @ k.T + lam * torch.eye(len(c)), p @ k)


def plain(method: str, lm: LM, requests: Sequence[Fact], layers: Sequence[int], corpus: str, cache: Cache) -> Any:
    """The published loop: read keys and states, solve, change the weight, next layer. Returns the changes."""
    settings = value_search.SearchSettings(
        steps=8, lr=0.5, kl_weight=0.0625, weight_decay=1e-3, clamp=4.0, stop_below=0.05
    )
    searches = [
        value_search.search_values(lm, layers[-1], [r], CONTEXTS, settings=settings, site="block")[0] for r in requests
    ]
    z = torch.stack([value.target for value in searches], 1).double()
    moments = key_covariances(lm, layers, Corpus([Path(corpus)]), cache=cache)
    copies = {n: lm.projection(n).weight.detach().clone() for n in layers}
    changes = []
    try:
        for i, layer in enumerate(layers):
            projection: Any = lm.projection(layer)
            keys = []
            for request in requests:
                tensors = [at_subject(lm, projection, request, text, "input") for text in CONTEXTS]
                keys.append((tensors[0] + torch.stack(tensors[1:]).mean(0)) / 2)
            k = torch.stack(keys, 1)
            now = torch.stack([at_subject(lm, lm.block(layers[-1]), r, "{}", "output") for r in requests], 1)
            residual = (z - now) / (len(layers) - i)
            change = residual @ solved(method, k, moments[layer].second.double()).T
            with torch.no_grad():
                projection.weight += (change.T if lm.layout.transposed else change).float()
            changes.append(change)
    finally:
        with torch.no_grad():
            for n, weight in copies.items():
                lm.projection(n).weight.copy_(weight)  # type: ignore[operator]
    return changes


@every
def test_equals_the_published_loop(method: str, tiny: LM, cache: Cache, corpus: str) -> None:
    requests, digest = (PERU, NORWAY, FRANCE), tiny.weights_digest()
    edit = editor(method, tiny, cache, corpus).edit(requests)
    assert tiny.weights_digest() == digest
    assert close(edit, plain(method, tiny, requests, [0, 1], corpus, cache))


def test_templates_begin_with_words(tiny: LM, cache: Cache) -> None:
    templates = context_templates.sample_templates(tiny, ((4, 3),), cache=cache, starts=("The", "You"))
    assert [text.split(".")[0][:3] for text in templates[1:]] == ["The", "You", "The"]
    assert templates != context_templates.sample_templates(tiny, ((4, 3),), cache=cache)


def test_the_same_twice_cannot_be_written_exactly(tiny: LM, cache: Cache, corpus: str) -> None:
    other = peru_fact("f/peru2", new=Object(text="Quito"))
    with pytest.raises(UserError, match="keys of 2 facts are not independent"):
        editor("emmet", tiny, cache, corpus).edit([PERU, other])
    assert editor("emmet", tiny, cache, corpus, lam=0.1).edit([PERU, other]).deltas


CPU = torch.device("cpu")


SIZE = 24


def moments(tokens: int = 500, *, seed: int = 0) -> KeyCovariance:
    generator = torch.Generator().manual_seed(seed)
    scales = torch.logspace(0, -3, SIZE)  # as real keys: some directions are common, most are rare
    keys = torch.randn(tokens, SIZE, generator=generator) * scales
    return KeyCovariance(keys.T @ keys / tokens, tokens)


def some_keys(edits: int, count: int) -> Tensor:
    return torch.randn(edits, count, SIZE, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("before", [0, 2])
def test_alphaedit_equals_the_system_of_full_size(count: int, before: int, tmp_path: Path) -> None:
    space = null_space(moments(), CPU, threshold=None, share=0.05, cache=Cache(tmp_path))
    keys, lam = some_keys(3, count), 2.0
    earlier = torch.randn(before, SIZE, generator=torch.Generator().manual_seed(2))
    p = torch.eye(SIZE, dtype=torch.float64) - space.used @ space.used.T
    solution = columns(keys, space.project, penalty=lam, fraction=None, earlier=earlier)
    T = earlier.double().T @ earlier.double()
    for n in range(3):
        k = keys[n].double().T
        want = torch.linalg.solve(p @ (k @ k.T + T) + lam * torch.eye(SIZE), p @ k).T
        assert torch.allclose(solution.adjusted[n], want, atol=1e-8)
        assert float((solution.adjusted[n] @ space.used).abs().max()) < 1e-10


def test_null_space(tmp_path: Path) -> None:
    c, cache = moments(), Cache(tmp_path)
    values, vectors = torch.linalg.eigh(c.second.double())
    threshold = float(values[10:12].mean())
    space = null_space(c, CPU, threshold=threshold, share=None, cache=cache)
    assert space.dimensions == 11
    assert space.share == pytest.approx(float(values[:11].sum() / values.sum()))
    keys = some_keys(1, 6)[0]
    assert torch.allclose(space.project(keys), keys.double() @ vectors[:, :11] @ vectors[:, :11].T, atol=1e-9)
    assert torch.allclose(space.project(space.project(keys)), space.project(keys), atol=1e-12)
    by_share = null_space(c, CPU, threshold=None, share=space.share + 1e-9, cache=cache)
    assert by_share.dimensions == 11


@pytest.mark.parametrize(("threshold", "share"), [(1e-30, None), (1e9, None), (None, 1e-30)])
def test_a_null_space_is_neither_nothing_nor_all(threshold: float | None, share: float | None, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"of {SIZE} dimensions; change null_threshold, or give null_share"):
        null_space(moments(), CPU, threshold=threshold, share=share, cache=Cache(tmp_path))


def test_factorised_once(monkeypatch: pytest.MonkeyPatch) -> None:
    c, items = moments(), []
    real = torch.linalg.cholesky_ex
    monkeypatch.setattr(torch.linalg, "cholesky_ex", lambda m: items.append(1) or real(m))
    keys = some_keys(2, 3)
    want = torch.linalg.solve(c.second.double(), keys.double().reshape(-1, SIZE).T).T.reshape(keys.shape)
    for _ in range(3):
        assert torch.allclose(factor(c, CPU).solve(keys), want, rtol=1e-6)
    assert len(items) == 1 and factor(c, CPU).ridge == 0
    factor(c, CPU, ridge=0.1)
    factor(moments(), CPU)
    assert len(items) == 3
    assert factor(c, CPU).spread <= float(torch.linalg.cond(c.second.double())) * (1 + 1e-6)


def test_few_tokens_need_a_ridge() -> None:
    few = moments(SIZE - 1)
    with pytest.raises(UserError, match=f"moments of {SIZE - 1} tokens cannot be inverted .*or a ridge"):
        factor(few, CPU)
    with pytest.raises(UserError, match="cannot be inverted"):
        factor(KeyCovariance(torch.ones(3, 3), 10_000), CPU)  # of rank one, however many tokens
    solver = factor(few, CPU, ridge=0.1)
    assert solver.ridge == pytest.approx(0.1 * float(few.second.diagonal().mean()))
    key = some_keys(1, 1)[0, 0].double()
    assert torch.allclose((few.second.double() + solver.ridge * torch.eye(SIZE)) @ solver.solve(key), key, atol=1e-8)


def test_notes(tiny: LM, cache: Cache, corpus: str) -> None:
    one = editor("memit", tiny, cache, corpus).edit([PERU])
    layers = one.notes["layers"]
    assert list(layers) == ["0", "1"] and layers["0"]["lambda"] == 60.0
    for layer_notes, delta in zip(layers.values(), one.deltas, strict=True):
        weight: Any = tiny.module(delta.weight.removesuffix(".weight")).weight
        assert layer_notes["norm_ratio"] == pytest.approx(delta.norm() / float(weight.norm()), rel=1e-4)
    assert one.notes["norm_ratio"] == max(layer_notes["norm_ratio"] for layer_notes in layers.values())
    assert one.notes["blow_up"] is (one.notes["norm_ratio"] > 1)
    two = editor("memit", tiny, cache, corpus, lam=None, rho=0.5).edit([PERU, NORWAY])
    layer_notes = two.notes["layers"]["0"]
    assert (
        layer_notes["reach_least"] <= layer_notes["reach"] <= layer_notes["reach_most"]
        and layer_notes["reach_least"] < layer_notes["reach_most"]
    )
    assert layer_notes["lambda"] == pytest.approx(layer_notes["reach"])  # ρ = 1/2
    json.dumps(two.notes, allow_nan=False)


def test_what_is_written_is_measured(tiny: LM, cache: Cache, corpus: str) -> None:
    """With one layer and one template the bare prompt's key is the key, so the written part is exactly ρ."""
    for rho in (0.3, 0.8):
        method = editor("memit", tiny, cache, corpus, layers=[1], templates=("{}",), lam=None, rho=rho)
        edits = [*method.edit_each([PERU, NORWAY])]
        assert [e.notes["written"] for e in edits] == pytest.approx([rho, rho], abs=1e-3)
    exact = editor("emmet", tiny, cache, corpus, layers=[1], templates=("{}",)).edit([PERU, NORWAY])
    assert exact.notes["written"] == pytest.approx(1, abs=1e-3)


def test_an_option_takes_the_place_of_the_presets_other_one(cache: Cache) -> None:
    lm = make("llama")
    assert make_editor("memit", lm, cache).params.rho and make_editor("memit", lm, cache).params.layers == (0, 1)
    method = make_editor("memit", lm, cache, {"lam": 5.0}).params
    assert (method.lam, method.rho) == (5.0, None)
    assert make_editor("alphaedit", lm, cache, {"null_threshold": 0.1}).params.null_share is None


@every
def test_a_norm_after_the_mlp_is_refused(method: str, cache: Cache, corpus: str) -> None:
    from dataclasses import replace

    lm = make("llama")
    lm.layout = replace(lm.layout, additive=False)
    with pytest.raises(ModelError, match=f"'{method}' writes into the residual, and a norm follows .* rome or r_rome"):
        editor(method, lm, cache, corpus).edit([PERU])


def test_a_sequence_spares_what_was_edited_before(tiny: LM, cache: Cache, corpus: str) -> None:
    method: AlphaEdit = editor("alphaedit", tiny, cache, corpus, lam=0.01)
    first = method.edit([PERU])
    assert isinstance(first, CarryingEdit)
    fact = peru_fact("f/peru3", prompt="The capital city of {} is", new=Object(text="Paris"))  # a near key
    with first.on(tiny):
        aware, unaware = method.edit_after([fact], [first]), method.edit([fact])
        assert close(method.edit_after([fact], []), [delta.matrix().double() for delta in unaware.deltas or ()])
    for layer, (spared, not_spared) in enumerate(zip(aware.deltas or (), unaware.deltas or (), strict=True)):
        shifts = [float((delta.matrix() @ first.carried.keys[layer].T).norm()) for delta in (spared, not_spared)]
        assert shifts[0] < 0.7 * shifts[1]


LAYERS = {"layers": (3, 4), "lam": 10.0}


LEAST: dict[str, dict[str, Any]] = {
    "rome": {"layer": 3},
    "r_rome": {"layer": 3},
    "memit": LAYERS,
    "emmet": LAYERS,
    "anyedit": LAYERS,
    "alphaedit": {**LAYERS, "null_share": 0.5},
}


"""Options that a method cannot do without."""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("lr", 0),
        ("kl_weight", -1),
        ("weight_decay", -1),
        ("clamp", 0),
        ("templates", "{}"),
        ("cap", 0),
        ("corpus", 3),
        ("ridge", -0.1),
        ("no_such_option", 1),
    ],
)
def test_every_method_refuses_what_it_cannot_use(name: str, value: object) -> None:
    for method, least in LEAST.items():
        with pytest.raises(ValidationError) as refusal:
            EDITORS.get(method).Params.model_validate({**least, name: value})
        assert {error["loc"][0] for error in refusal.value.errors()} == {name}, method


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"layers": (4, 3)}, "ascending"),
        ({"layers": (3, 3)}, "ascending"),
        ({"layers": ()}, "at least 1"),
        ({"rho": 0.5}, "either lam"),
        ({"lam": None}, "either lam"),
        ({"lam": None, "rho": 1.0}, "less than 1"),
    ],
)
def test_layers_and_strength_of_what_spreads(change: dict[str, Any], reason: str) -> None:
    for method in ("memit", "emmet", "alphaedit", "anyedit"):
        with pytest.raises(ValidationError, match=reason):
            EDITORS.get(method).Params.model_validate({**LEAST[method], **change})


@pytest.mark.parametrize("change", [{"null_share": 1.0}, {"null_threshold": 1.0}, {"null_share": None}])
def test_one_null_space(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="less than 1|give either null_threshold or null_share"):
        EDITORS.get("alphaedit").Params.model_validate({**LEAST["alphaedit"], **change})
