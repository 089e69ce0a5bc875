"""Where a memory stands, and requests as tokens."""

from __future__ import annotations

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.layer_memory.base import LayerMemoryEditor
from evaluation.editors.presets import make_editor
from tests.support.tiny import make


@pytest.mark.parametrize(
    ("kind", "site", "name"),
    [
        ("llama", "mlp_out", "model.layers.2.mlp.down_proj"),
        ("gpt2", "mlp_out", "transformer.h.2.mlp.c_proj"),
        ("gpt2", "mlp_in", "transformer.h.2.mlp.c_fc"),
    ],
)
def test_the_map_by_its_site(kind: str, site: str, name: str, cache: Cache) -> None:
    editor = make_editor("grace", make(kind), cache, {"layer": 2, "site": site})
    assert isinstance(editor, LayerMemoryEditor) and editor.routes
    assert editor.module_name == name and editor.edited_layers == (2,)
