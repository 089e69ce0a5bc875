from __future__ import annotations

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from tests.support.editors.edit_requests import NORWAY, PERU


def test_prompt_says_the_facts(tiny: LM, cache: Cache) -> None:
    edit = make_editor("prompt", tiny, cache).edit([PERU, NORWAY])
    assert edit.rewrite("How?") == "The capital of Peru is Oslo. In Norway the capital is São Tomé. How?"
