from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.models import architecture_cache as layout_cache
from evaluation.models.architecture import Layout, check
from tests.support.tiny import make


def test_remembered_once_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm = make("gemma2")
    layout = layout_cache.cached_architecture(lm.model, folder=tmp_path)
    (path,) = tmp_path.iterdir()
    assert layout == lm.layout
    called: list[Layout] = []
    real = layout_cache.discover
    monkeypatch.setattr(layout_cache, "discover", lambda model: called.append(real(model)) or called[-1])
    assert layout_cache.cached_architecture(lm.model, folder=tmp_path) == layout and not called
    path.write_text(path.read_text(encoding="utf-8").replace('"depth": 3', '"depth": 9'), encoding="utf-8")
    assert layout_cache.cached_architecture(lm.model, folder=tmp_path) == layout and len(called) == 1
    path.write_text("{", encoding="utf-8")
    assert layout_cache.cached_architecture(lm.model, folder=tmp_path) == layout and len(called) == 2
    assert layout_cache.identity(make("gemma2", final_logit_softcapping=None).model) != layout_cache.identity(lm.model)
    (tmp_path / "file").write_text("")
    assert layout_cache.cached_architecture(lm.model, folder=tmp_path / "file") == layout  # cannot be kept: no matter


def test_check_sees_another_model() -> None:
    assert check(make("llama").layout, make("llama").model)
    assert not check(make("gpt2").layout, make("llama").model)
    assert not check(make("llama").layout, make("llama", intermediate_size=40).model)
