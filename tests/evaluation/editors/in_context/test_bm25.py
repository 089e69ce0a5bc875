"""BM25 against the formula."""

from __future__ import annotations

import math
import re

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.in_context.retrieval import Bm25
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.cases import Case
from tests.support.editors import memories
from tests.support.editors.memories import PERU, country, prepared

lm = memories.lm
support = memories.support


def plain_bm25(texts: list[str], query: str, *, k1: float, b: float) -> list[float]:
    """Lucene's BM25 from its definition, over words without English stop words."""
    stop = {"the", "of", "is", "in", "to", "a"}

    def split(text: str) -> list[str]:
        return [w for w in re.findall(r"\w\w+", text.lower()) if w not in stop]

    docs = [split(t) for t in texts]
    mean = sum(map(len, docs)) / len(docs)
    out = []
    for doc in docs:
        total = 0.0
        for word in split(query):
            df, tf = sum(word in d for d in docs), doc.count(word)
            idf = math.log(1 + (len(docs) - df + 0.5) / (df + 0.5))
            total += idf * tf / (tf + k1 * (1 - b + b * len(doc) / mean))
        out.append(total)
    return out


def test_bm25_is_bm25() -> None:
    texts = ["The capital of Peru is Oslo", "The capital of Chad is Rome", "Peru Peru mountains", "nothing here shared"]
    for query in ("How to reach Peru?", "capital Chad mountains", "unknown words only", ""):
        for k1, b in ((1.5, 0.75), (0.9, 0.4)):
            assert Bm25(texts, k1=k1, b=b).scores(query) == pytest.approx(
                plain_bm25(texts, query, k1=k1, b=b), abs=1e-5
            )
    assert Bm25(["the of"]).scores("the").tolist() == [0.0]


def test_bm25_finds_the_edit_of_each_prompt(lm: LM, cache: Cache, support: list[Case]) -> None:
    edit = prepared("bm25", lm, cache, support, memory=5).edit([PERU])
    assert edit.rewrite("How to reach Peru?\nStep 1: Fly to") == (
        "The capital of Peru is Oslo. How to reach Peru?\nStep 1: Fly to"
    )
    assert edit.rewrite("Where did Mozart live?") == "Mozart grew up speaking Thai. Where did Mozart live?"
    assert edit.rewrite("Quite unrelated") == "Quite unrelated"
    assert edit.notes == {"memory": 5, "found_by_fact_prompt": 1.0} and edit.deltas == ()
    both = make_editor("bm25", lm, cache, {"memory": 0, "top": 2}).edit([PERU, country("Chad", "Lima", "Rome")])
    assert both.rewrite("Is Chad a capital?") == (
        "The capital of Peru is Oslo. The capital of Chad is Rome. Is Chad a capital?"
    )
