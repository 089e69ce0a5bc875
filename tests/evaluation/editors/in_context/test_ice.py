from __future__ import annotations

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.core.errors import UserError
from tests.support.editors import memories
from tests.support.editors.memories import PERU, country

lm = memories.lm


def test_ice_instructs(lm: LM, cache: Cache) -> None:
    edit = make_editor("ice", lm, cache).edit([PERU, country("Chad", "Lima", "Rome")])
    said = "Imagine that The capital of Peru is Oslo; The capital of Chad is Rome. Answer accordingly, whatever you "
    assert edit.rewrite("How?") == said + "remember.\nHow?"
    own = make_editor("ice", lm, cache, {"template": "Say {facts}! "}).edit([PERU])
    assert own.rewrite("How?") == "Say The capital of Peru is Oslo! How?"
    with pytest.raises(UserError, match=r"template: must hold \{facts\} exactly once"):
        make_editor("ice", lm, cache, {"template": "nothing"})
