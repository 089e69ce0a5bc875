from __future__ import annotations

import pytest

from curation.files.artifact_cache import Cache
from evaluation.models.language_model import LM
from schemas.cases import Case
from tests.support.editors import memories
from tests.support.editors.memories import PERU, prepared

lm = memories.lm
support = memories.support


def test_dense_finds_by_meaning(lm: LM, cache: Cache, support: list[Case]) -> None:
    from curation.files.model_packages import minilm_folder
    from schemas.core.errors import ModelError

    try:
        minilm_folder()
    except ModelError as error:
        pytest.skip(str(error))
    edit = prepared("dense", lm, cache, support, memory=5).edit([PERU])
    assert edit.rewrite("Which tongue did the composer learn as a child?").startswith("Mozart grew up speaking Thai. ")
    assert edit.rewrite("Peruvian seat of government").startswith("The capital of Peru is Oslo. ")
