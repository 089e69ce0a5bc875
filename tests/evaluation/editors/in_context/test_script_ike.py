from __future__ import annotations

import re

import pytest

from curation.files.artifact_cache import Cache
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.arithmetic import make_case
from tests.support.editors import memories
from tests.support.editors.memories import PERU, prepared

lm = memories.lm
support = memories.support


def test_script_ike_shows_scripts(lm: LM, cache: Cache, support: list[Case]) -> None:
    scripted = [make_case("Land01"), make_case("Land02")]
    options = {"k": 2, "ratio": (0, 1, 0)}
    edit = prepared("script_ike", lm, cache, [*support, *scripted], **options).edit([PERU])
    blocks = edit.rewrite("How to see Peru?").split("\n\n")
    assert len(blocks) == 3 and blocks[-1] == "New Fact: The capital of Peru is Oslo.\nHow to see Peru?"
    pattern = r"New Fact: The capital of (Land0\d) is Oslo\.\nHow to reach \1 \(\d\)\?\nStep 1: Fly to Oslo"
    assert all(re.fullmatch(pattern, b) for b in blocks[:2])
    with pytest.raises(UserError, match="script_ike: there is no case to demonstrate with"):
        prepared("script_ike", lm, cache, support).edit([PERU])
