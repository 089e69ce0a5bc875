from __future__ import annotations

import re

import numpy as np
import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.in_context import retrieval
from evaluation.editors.in_context.retrieval import statement
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.evaluation.editors.in_context.test_retrieval import CountingEncoder
from tests.support.editors import memories
from tests.support.editors.memories import PERU, prepared

lm = memories.lm
support = memories.support


@pytest.fixture(autouse=True)
def encoder(monkeypatch: pytest.MonkeyPatch) -> CountingEncoder:
    made = CountingEncoder()
    monkeypatch.setattr(retrieval, "_embedder", lambda name, device: made)
    return made


def test_ike_shows_the_nearest_last(lm: LM, cache: Cache, support: list[Case], encoder: CountingEncoder) -> None:
    options = {"k": 3, "ratio": (1, 0, 0)}
    text = prepared("ike", lm, cache, support, **options).edit([PERU]).rewrite("Peru is ruled from")
    blocks = text.split("\n\n")
    assert len(blocks) == 4 and blocks[-1] == "New Fact: The capital of Peru is Oslo.\nPrompt: Peru is ruled from"
    fact_, prompt = blocks[2].split("\n")
    assert fact_.startswith("New Fact: The capital of ") and prompt == "Prompt: " + fact_.removeprefix("New Fact: ")
    near = encoder.embed([statement(c.fact) for c in support]) @ encoder.embed([statement(PERU)])[0]
    order = [statement(support[i].fact) for i in np.argsort(-near, kind="stable")[:3]]
    assert [b.split("\n")[0] for b in blocks[2::-1]] == [f"New Fact: {text}." for text in order]


def test_ike_retains_with_the_neighbours_own_object(lm: LM, cache: Cache, support: list[Case]) -> None:
    options = {"k": 9, "ratio": (0, 0, 1)}
    edit = prepared("ike", lm, cache, support, **options).edit([PERU])
    demonstrations = re.findall(
        r"New Fact: The capital of (\w+) is (\w+)\.\nPrompt: The capital of (\w+) is (\w+)\.", edit.rewrite("")
    )
    assert edit.notes["demonstrations"] == len(demonstrations) == 3  # Mozart has no neighbour
    old = {c.fact.subject.text: c.fact.old.text for c in support}
    for subject, _, other, answer in demonstrations:
        assert other != subject and answer == old[other]


def test_ike_needs_support(lm: LM, cache: Cache) -> None:
    with pytest.raises(UserError, match='add support = "shipped"'):
        make_editor("ike", lm, cache, {}).edit([PERU])
    with pytest.raises(UserError, match="ratio: shares are at least 0"):
        make_editor("ike", lm, cache, {"ratio": (0, 0, 0)})
