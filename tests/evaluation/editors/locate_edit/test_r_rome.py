"""R-ROME: one key in numerator and denominator."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.locate_edit import readings, value_search
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from tests.support.facts import peru_fact
from tests.support.tiny import shuffled

PERU = peru_fact()
CONTEXTS = ("{}", "She left. {}", "\nA town. {}")


@pytest.mark.parametrize("covariance", [True, False])
def test_the_change_writes_at_the_averaged_key(covariance: bool, tiny: LM, cache: Cache, tmp_path: Path) -> None:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(shuffled(8)), encoding="utf-8")
    fields = {"layer": 1, "steps": 10, "templates": CONTEXTS, "corpus": str(path), "covariance": covariance}
    edit = make_editor("r_rome", tiny, cache, fields).edit([PERU])
    (delta,) = edit.deltas or ()
    vectors = readings.read_at(
        tiny, tiny.projection(1), [readings.subject_position(tiny, PERU, text) for text in CONTEXTS]
    )
    settings = value_search.SearchSettings(
        steps=10, lr=0.5, kl_weight=0.0625, weight_decay=1e-3, clamp=4.0, stop_below=0.05
    )
    value = value_search.search_values(tiny, 1, [PERU], CONTEXTS, settings=settings)[0]
    reached = vectors.values.mean(0) + delta.product(vectors.keys.mean(0))
    assert torch.allclose(reached, value.target, atol=1e-3 * float(value.target.abs().max()))
    rome = make_editor("rome", tiny, cache, fields).edit([PERU])
    bare = vectors.values[0] + (rome.deltas or ())[0].product(vectors.keys[0])
    assert torch.allclose(bare, value.target, atol=1e-3 * float(value.target.abs().max()))
    assert not torch.allclose(delta.matrix(), (rome.deltas or ())[0].matrix(), rtol=1e-2)
