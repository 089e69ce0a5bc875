"""MEMIT and its relatives against a plain re-statement that changes weights and solves systems of full size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import Corpus, key_moments
from evaluation.covariance.pack import write_pack
from evaluation.editors.locate_edit.alphaedit import AlphaEdit
from evaluation.editors.locate_edit.parts import context_templates as templates
from evaluation.editors.locate_edit.parts import value_search as values
from evaluation.editors.locate_edit.parts.keys import subject_place
from evaluation.editors.locate_edit.residual_editor import SpreadEdit
from evaluation.editors.presets import make_editor
from evaluation.edits.edit import Edit
from evaluation.models.hooks import reading
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError, UserError
from schemas.facts import Entity, Fact, Object
from tests.support.facts import peru_fact
from tests.support.tiny import make, shuffled

PERU = peru_fact()
NORWAY = peru_fact(
    "f/norway",
    subject=Entity(text="Norway"),
    old=Object(text="Oslo"),
    new=Object(text="São Tomé"),
    prompt="In {} the capital is",
)
FRANCE = peru_fact("f/france", subject=Entity(text="France"), old=Object(text="Paris"), new=Object(text="Quito"))
CONTEXTS = ("{}", "The town. {}", "I left. {}")
METHODS = {"memit": {"lam": 60.0}, "emmet": {"lam": 0.0}, "alphaedit": {"lam": 2.0, "null_share": 0.2}}
every = pytest.mark.parametrize("method", METHODS)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(shuffled(8)), encoding="utf-8")
    return str(path)


def editor(method: str, lm: LM, cache: Cache, corpus: str, **more: Any) -> Any:
    told = {**METHODS[method], "layers": [0, 1], "steps": 8, "templates": CONTEXTS, "corpus": corpus, **more}
    return make_editor(method, lm, cache, told)


def at_subject(lm: LM, module: Any, request: Fact, template: str, what: str) -> Tensor:
    """A module's input or output at the subject's last token, from a full pass over one prompt."""
    place = subject_place(lm, request, template)
    with torch.no_grad(), reading(module) as seen:
        lm.model(torch.tensor([place.ids]))
    found: Tensor = getattr(seen, what)
    return found[0, place.last].double()


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
    how = values.Search(steps=8, lr=0.5, kl_weight=0.0625, weight_decay=1e-3, clamp=4.0, stop_below=0.05)
    found = [values.search(lm, layers[-1], r, CONTEXTS, how=how, place="block") for r in requests]
    z = torch.stack([value.target for value in found], 1).double()
    moments = key_moments(lm, layers, Corpus([Path(corpus)]), cache=cache)
    saved = {n: lm.projection(n).weight.detach().clone() for n in layers}
    changes = []
    try:
        for i, layer in enumerate(layers):
            projection: Any = lm.projection(layer)
            keys = []
            for request in requests:
                own = [at_subject(lm, projection, request, text, "input") for text in CONTEXTS]
                keys.append((own[0] + torch.stack(own[1:]).mean(0)) / 2)
            k = torch.stack(keys, 1)
            now = torch.stack([at_subject(lm, lm.block(layers[-1]), r, "{}", "output") for r in requests], 1)
            residual = (z - now) / (len(layers) - i)
            change = residual @ solved(method, k, moments[layer].second.double()).T
            with torch.no_grad():
                projection.weight += (change.T if lm.layout.transposed else change).float()
            changes.append(change)
    finally:
        with torch.no_grad():
            for n, weight in saved.items():
                lm.projection(n).weight.copy_(weight)  # type: ignore[operator]
    return changes


def close(edit: Edit, want: Sequence[Tensor]) -> bool:
    pairs = zip(edit.deltas or (), want, strict=True)
    return all(float((d.matrix().double() - w).norm()) < 2e-3 * float(w.norm()) for d, w in pairs)


@every
@pytest.mark.parametrize("requests", [(PERU,), (PERU, NORWAY, FRANCE)], ids=["one", "three"])
def test_equals_the_published_loop(
    method: str, requests: tuple[Fact, ...], tiny: LM, cache: Cache, corpus: str
) -> None:
    digest = tiny.weights_digest()
    edit = editor(method, tiny, cache, corpus).edit(requests)
    assert tiny.weights_digest() == digest
    assert close(edit, plain(method, tiny, requests, [0, 1], corpus, cache))


@every
def test_many_at_once_are_many_alone(method: str, tiny: LM, cache: Cache, corpus: str) -> None:
    made = editor(method, tiny, cache, corpus)
    for request, got in zip((PERU, NORWAY, FRANCE), made.edit_each([PERU, NORWAY, FRANCE]), strict=True):
        assert close(got, [delta.matrix().double() for delta in made.edit([request]).deltas])
    assert made.edit_each([]) == []


def test_notes(tiny: LM, cache: Cache, corpus: str) -> None:
    one = editor("memit", tiny, cache, corpus).edit([PERU])
    layers = one.notes["layers"]
    assert list(layers) == ["0", "1"] and layers["0"]["lambda"] == 60.0
    for told, delta in zip(layers.values(), one.deltas, strict=True):
        weight: Any = tiny.module(delta.weight.removesuffix(".weight")).weight
        assert told["norm_ratio"] == pytest.approx(delta.norm() / float(weight.norm()), rel=1e-4)
    assert one.notes["norm_ratio"] == max(told["norm_ratio"] for told in layers.values())
    assert one.notes["blow_up"] is (one.notes["norm_ratio"] > 1)
    two = editor("memit", tiny, cache, corpus, lam=None, rho=0.5).edit([PERU, NORWAY])
    told = two.notes["layers"]["0"]
    assert told["reach_least"] <= told["reach"] <= told["reach_most"] and told["reach_least"] < told["reach_most"]
    assert told["lambda"] == pytest.approx(told["reach"])  # ρ = 1/2
    json.dumps(two.notes, allow_nan=False)


def test_what_is_written_is_measured(tiny: LM, cache: Cache, corpus: str) -> None:
    """With one layer and one template the bare prompt's key is the key, so the written part is exactly ρ."""
    for rho in (0.3, 0.8):
        made = editor("memit", tiny, cache, corpus, layers=[1], templates=("{}",), lam=None, rho=rho)
        edits = [*made.edit_each([PERU, NORWAY])]
        assert [e.notes["written"] for e in edits] == pytest.approx([rho, rho], abs=1e-3)
    exact = editor("emmet", tiny, cache, corpus, layers=[1], templates=("{}",)).edit([PERU, NORWAY])
    assert exact.notes["written"] == pytest.approx(1, abs=1e-3)


def test_narrow_weights_are_solved_in_full(cache: Cache, corpus: str) -> None:
    lm = make("llama", dtype=torch.bfloat16)
    digest = lm.weights_digest()
    for method in METHODS:
        edits = editor(method, lm, cache, corpus).edit_each([PERU, NORWAY])
        assert all(delta.left.dtype == delta.right.dtype == torch.float32 for e in edits for delta in e.deltas)
    assert lm.weights_digest() == digest


def test_a_pack_serves(tiny: LM, cache: Cache, corpus: str, tmp_path: Path) -> None:
    text = Corpus([Path(corpus)])
    found = key_moments(tiny, [0, 1], text, cache=cache)
    write_pack(tmp_path / "tiny.safetensors", tiny, found, text, cache=cache)
    given = editor("memit", tiny, cache, "nowhere.txt", moments=str(tmp_path / "tiny.safetensors"))
    want = editor("memit", tiny, cache, corpus)
    assert set(given.components) == {"moments"} and set(want.components) == {"corpus"}
    assert close(given.edit([PERU]), [delta.matrix().double() for delta in want.edit([PERU]).deltas])
    with pytest.raises(UserError, match=r"lacks layers \[2\]"):
        editor("memit", tiny, cache, corpus, layers=[1, 2], moments=str(tmp_path / "tiny.safetensors")).edit([PERU])


def test_templates_begin_with_words(tiny: LM, cache: Cache) -> None:
    got = templates.sampled(tiny, ((4, 3),), cache=cache, starts=("The", "You"))
    assert [text.split(".")[0][:3] for text in got[1:]] == ["The", "You", "The"]
    assert got != templates.sampled(tiny, ((4, 3),), cache=cache)


BAD: dict[str, tuple[str, dict[str, Any], str]] = {
    "both": ("memit", {"lam": 1.0, "rho": 0.5}, "give either lam"),
    "neither": ("memit", {"lam": None}, "give either lam"),
    "order": ("memit", {"layers": [2, 1]}, "ascending order"),
    "twice": ("emmet", {"layers": [1, 1]}, "ascending order"),
    "layer": ("memit", {"layers": [1, 7]}, "no layer 7; allowed: 0 to 2"),
    "share": ("alphaedit", {"null_share": 1.0}, "less than 1"),
    "spaces": ("alphaedit", {"null_threshold": 1.0}, "give either null_threshold or null_share"),
}


@pytest.mark.parametrize("name", BAD)
def test_wrong_options(name: str, cache: Cache, corpus: str) -> None:
    method, options, message = BAD[name]
    with pytest.raises(UserError, match=message):
        editor(method, make("llama"), cache, corpus, **options)


def test_an_option_takes_the_place_of_the_presets_other_one(cache: Cache) -> None:
    lm = make("llama")
    assert make_editor("memit", lm, cache).params.rho and make_editor("memit", lm, cache).params.layers == (0, 1)
    given = make_editor("memit", lm, cache, {"lam": 5.0}).params
    assert (given.lam, given.rho) == (5.0, None)
    assert make_editor("alphaedit", lm, cache, {"null_threshold": 0.1}).params.null_share is None


@every
def test_a_norm_after_the_mlp_is_refused(method: str, cache: Cache, corpus: str) -> None:
    from dataclasses import replace

    lm = make("llama")
    lm.layout = replace(lm.layout, additive=False)
    with pytest.raises(ModelError, match=f"'{method}' writes into the residual, and a norm follows .* rome or r_rome"):
        editor(method, lm, cache, corpus).edit([PERU])


# --- EMMET ------------------------------------------------------------------------------------------------------------


def test_emmet_is_memit_for_small_penalties(tiny: LM, cache: Cache, corpus: str) -> None:
    exact = editor("emmet", tiny, cache, corpus).edit([PERU, NORWAY])
    near = editor("memit", tiny, cache, corpus, lam=1e-7).edit([PERU, NORWAY])
    assert close(near, [delta.matrix().double() for delta in exact.deltas])


def test_the_same_twice_cannot_be_written_exactly(tiny: LM, cache: Cache, corpus: str) -> None:
    other = peru_fact("f/peru2", new=Object(text="Quito"))
    with pytest.raises(UserError, match="keys of 2 facts are not independent"):
        editor("emmet", tiny, cache, corpus).edit([PERU, other])
    assert editor("emmet", tiny, cache, corpus, lam=0.1).edit([PERU, other]).deltas


# --- AlphaEdit --------------------------------------------------------------------------------------------------------


def test_changes_lie_in_the_null_space(tiny: LM, cache: Cache, corpus: str) -> None:
    c = key_moments(tiny, [0, 1], Corpus([Path(corpus)]), cache=cache)
    alpha = editor("alphaedit", tiny, cache, corpus, null_share=0.02).edit([PERU])
    for layer, delta in enumerate(alpha.deltas):
        spectrum, vectors = torch.linalg.eigh(c[layer].second.double())
        used = vectors[:, spectrum.cumsum(0) / spectrum.sum() > 0.02]
        assert float((delta.matrix().double() @ used).norm()) < 1e-4 * delta.norm()


def test_edits_do_not_leak_into_each_other(tiny: LM, cache: Cache, corpus: str) -> None:
    made = editor("alphaedit", tiny, cache, corpus)
    fresh = made.edit([NORWAY])
    made.edit([PERU])
    made.edit_after([FRANCE], [made.edit([PERU])])
    assert close(made.edit([NORWAY]), [delta.matrix().double() for delta in fresh.deltas])


def test_a_sequence_spares_what_was_edited_before(tiny: LM, cache: Cache, corpus: str) -> None:
    made: AlphaEdit = editor("alphaedit", tiny, cache, corpus, lam=0.01)
    first = made.edit([PERU])
    assert isinstance(first, SpreadEdit) and first.keys is not None
    again = peru_fact("f/peru3", prompt="The capital city of {} is", new=Object(text="Paris"))  # a near key
    with first.on(tiny):
        aware, unaware = made.edit_after([again], [first]), made.edit([again])
        assert close(made.edit_after([again], []), [delta.matrix().double() for delta in unaware.deltas or ()])
    for layer, (spared, not_spared) in enumerate(zip(aware.deltas or (), unaware.deltas or (), strict=True)):
        moved = [float((delta.matrix() @ first.keys[layer].T).norm()) for delta in (spared, not_spared)]
        assert moved[0] < 0.7 * moved[1]
