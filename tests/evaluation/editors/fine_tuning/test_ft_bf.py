"""FT-BF against training the weights themselves, batch by batch in the same order; its end token; when it stops."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError
from schemas.facts import Entity, Object
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.editors.plain_training import changes_by_adam, object_loss
from tests.support.facts import peru_fact
from tests.support.tiny import make

FRANCE = peru_fact("f/france", subject=Entity(text="France"), old=Object(text="Paris"), new=Object(text="Quito"))
FACTS = [PERU, NORWAY, FRANCE]


def batches(lm: LM, *, epochs: int, batch: int, eos: bool, seed: int) -> Iterator[Callable[[], torch.Tensor]]:
    """The losses of the updates in their order."""
    draws = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        order = torch.randperm(len(FACTS), generator=draws).tolist()
        for start in range(0, len(order), batch):
            some = [FACTS[n] for n in order[start : start + batch]]
            yield partial(object_loss, lm, some, eos=eos)


@pytest.mark.parametrize(("batch", "eos", "seed"), [(2, True, 0), (1, False, 4), (100, True, 0)])
def test_it_is_the_plain_loop(tiny: LM, cache: Cache, batch: int, eos: bool, seed: int) -> None:
    options: dict[str, Any] = {"epochs": 4, "batch": batch, "eos": eos, "seed": seed}
    edit = make_editor("ft_bf", tiny, cache, {**options, "layer": 1, "lr": 3e-3, "stop_below": 0.0}).edit(FACTS)
    (want,) = changes_by_adam(tiny, [1], batches(tiny, **options), lr=3e-3)
    (delta,) = edit.deltas or ()
    assert (delta.matrix() - want).norm() < 1e-2 * want.norm()
    assert edit.notes["steps"] == 4 * -(-3 // batch)


def test_small_losses_make_no_update_and_end_it(tiny: LM, cache: Cache) -> None:
    still = make_editor("ft_bf", tiny, cache, {"layer": 1, "stop_below": 1e6}).edit(FACTS)
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
