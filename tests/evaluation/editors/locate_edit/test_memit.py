"""MEMIT and its relatives against a plain re-statement that changes weights and solves systems of full size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks.support.naive_reference import representations
from curation.files.artifact_cache import Cache
from evaluation.covariance.covariance import Corpus, key_covariances
from evaluation.editors.locate_edit import context_templates, value_search
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from schemas.facts import Entity, Fact, Object
from tests.support.editors import memit
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.editors.memit import CONTEXTS, METHODS, close, editor, every
from tests.support.facts import peru_fact

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
@pytest.mark.parametrize("requests", [(PERU,), (PERU, NORWAY, FRANCE)], ids=["one", "three"])
def test_equals_the_published_loop(
    method: str, requests: tuple[Fact, ...], tiny: LM, cache: Cache, corpus: str
) -> None:
    digest = tiny.weights_digest()
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
