"""FT-M against training the weights themselves with the loss of language modelling on the object's tokens."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.edits.weight_deltas import DenseDelta
from evaluation.models.language_model import LM
from schemas.facts import Fact
from tests.support.editors.edit_requests import NORWAY, PERU
from tests.support.editors.plain_training import changes_by_adam, object_loss


@pytest.mark.parametrize("layers", [(1,), (0, 2)], ids=str)
@pytest.mark.parametrize("requests", [[PERU], [NORWAY], [PERU, NORWAY]], ids=["peru", "norway", "both"])
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
