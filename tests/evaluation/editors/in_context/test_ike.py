from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.in_context.demonstrations import Demonstration, assign
from evaluation.editors.in_context.retrieval import Tfidf, statement
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.core.errors import UserError
from tests.support.editors import memories
from tests.support.editors.memories import PERU, prepared

lm = memories.lm
support = memories.support


def test_kinds_follow_the_ratio() -> None:
    case = {k: [Demonstration(k, " ", "x")] for k in ("copy", "update", "retain")}
    routes = assign([case] * 32, (1, 3, 4), names=[str(n) for n in range(32)])
    assert Counter(s.prompt for s in routes if s) == {"copy": 4, "update": 12, "retain": 16}
    poor = {"copy": [], "update": [Demonstration("u", " ", "x")], "retain": []}
    assert [s.prompt for s in assign([poor] * 2, (1, 3, 4), names=["a", "b"]) if s] == ["u", "u"]
    assert assign([poor], (1, 0, 1), names=["a"]) == [None]


def test_ike_shows_the_nearest_last(lm: LM, cache: Cache, support: list[Case]) -> None:
    options = {"k": 3, "ratio": (1, 0, 0), "similarity": "tfidf"}
    text = prepared("ike", lm, cache, support, **options).edit([PERU]).rewrite("Peru is ruled from")
    blocks = text.split("\n\n")
    assert len(blocks) == 4 and blocks[-1] == "New Fact: The capital of Peru is Oslo.\nPrompt: Peru is ruled from"
    assert all("capital" in b for b in blocks[:3]) and "Mozart" not in text
    fact_, prompt = blocks[2].split("\n")
    assert fact_.startswith("New Fact: The capital of ") and prompt == "Prompt: " + fact_.removeprefix("New Fact: ")
    near = Tfidf([statement(c.fact) for c in support]).scores(statement(PERU))
    order = [support[i].fact.subject.text for i in np.argsort(-near, kind="stable")[:3]]
    assert [re.search(r"capital of (\w+)", b).group(1) for b in blocks[2::-1]] == order  # type: ignore[union-attr]


def test_ike_retains_with_the_neighbours_own_object(lm: LM, cache: Cache, support: list[Case]) -> None:
    options = {"k": 9, "ratio": (0, 0, 1), "similarity": "tfidf"}
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
        make_editor("ike", lm, cache, {"similarity": "tfidf"}).edit([PERU])
    with pytest.raises(UserError, match="ratio: shares are at least 0"):
        make_editor("ike", lm, cache, {"ratio": (0, 0, 0)})
