"""Selective contextual reasoning: the model decides which of the retrieved facts are put before a prompt."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.in_context import retrieval
from evaluation.inference.batched_scoring import EditScorer
from evaluation.inference.passes import EditedProbes
from evaluation.models.language_model import LM
from schemas.answers import Answer, TargetScore
from schemas.cases import Case
from schemas.probes import ScoreProbe
from tests.evaluation.editors.in_context.test_retrieval import CountingEncoder
from tests.support.editors import memories
from tests.support.editors.memories import PERU, prepared

lm = memories.lm
support = memories.support
SAID = "The capital of Peru is Oslo. "


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[ScoreProbe]]:
    """Calls of the model, which says yes where the prompt speaks of Peru and the fact does."""
    calls: list[list[ScoreProbe]] = []

    def score(_: EditScorer, edited: Sequence[EditedProbes]) -> list[list[Answer]]:
        (probes,) = [[p for p in one.probes if isinstance(p, ScoreProbe)] for one in edited]
        calls.append(probes)
        return [[_answer(p, 0.1 if p.prompt.count("Peru") > 1 else -0.1) for p in probes]]

    monkeypatch.setattr(EditScorer, "score", score)
    encoder = CountingEncoder()
    monkeypatch.setattr(retrieval, "_embedder", lambda name, device: encoder)
    return calls


def _answer(probe: ScoreProbe, gap: float) -> Answer:
    values = zip(probe.targets, (-1.0, -1.0 - gap), strict=True)
    return Answer(probe=probe.id, targets=tuple(TargetScore(text=t, logprob=v, tokens=1) for t, v in values))


def test_only_what_the_model_says_matters_is_put_before_a_prompt(
    lm: LM, cache: Cache, support: list[Case], asked: list[list[ScoreProbe]]
) -> None:
    edit = prepared("scr", lm, cache, support, memory=5).edit([PERU])
    assert edit.rewrite("The capital of Peru is") == SAID + "The capital of Peru is"
    assert edit.rewrite("The capital of Chad is") == "The capital of Chad is"
    assert all(p.targets == ("yes", "no") and p.prompt.startswith("Fact: ") for call in asked for p in call)
    assert edit.notes["memory"] == 5 and edit.notes["found_by_fact_prompt"] == 1.0


def test_a_margin_asks_for_more(lm: LM, cache: Cache, support: list[Case], asked: list[list[ScoreProbe]]) -> None:
    edit = prepared("scr", lm, cache, support, memory=5, margin=0.2).edit([PERU])
    assert edit.rewrite("The capital of Peru is") == "The capital of Peru is"


def test_the_real_model_decides(lm: LM, cache: Cache, support: list[Case], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "_embedder", lambda name, device: CountingEncoder())
    editor = prepared("scr", lm, cache, support, memory=5, top=1)
    edit, prompt = editor.edit([PERU]), "The capital of Peru is"
    (decided,) = editor.matter([(PERU, prompt)])
    assert editor.matter([]) == [], "nothing was found, nothing is asked"
    assert edit.rewrite(prompt) == (SAID if decided else "") + prompt
    assert editor.components["form"] == "raw", "this tokenizer has no chat template"
