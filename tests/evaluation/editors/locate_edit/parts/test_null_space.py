from __future__ import annotations

from pathlib import Path

import pytest
import torch

from curation.files.artifact_cache import Cache
from evaluation.editors.locate_edit.parts.null_space import null_space
from schemas.core.errors import UserError
from tests.support.editors.second_moments import CPU, SIZE, moments, some_keys


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


def test_null_space_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    c, cache = moments(), Cache(tmp_path)
    first = null_space(c, CPU, threshold=None, share=0.01, cache=cache)
    monkeypatch.setattr(torch.linalg, "eigh", lambda m: pytest.fail("computed again"))
    assert torch.equal(null_space(c, CPU, threshold=None, share=0.01, cache=cache).used, first.used)


@pytest.mark.parametrize(("threshold", "share"), [(1e-30, None), (1e9, None), (None, 1e-30)])
def test_a_null_space_is_neither_nothing_nor_all(threshold: float | None, share: float | None, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"of {SIZE} dimensions; change null_threshold, or give null_share"):
        null_space(moments(), CPU, threshold=threshold, share=share, cache=Cache(tmp_path))
