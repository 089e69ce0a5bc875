"""What the methods that spread a residual over layers share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.locate_edit.alphaedit import AlphaEdit
from evaluation.editors.presets import make_editor
from evaluation.edits.edit import CarryingEdit
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError
from schemas.facts import Object
from tests.support.editors import memit
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.editors.memit import close, editor, every
from tests.support.facts import peru_fact
from tests.support.tiny import make

corpus = memit.corpus


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
