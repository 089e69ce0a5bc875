"""Questions that a model answers before any edit, for tests."""

from __future__ import annotations

import json
from pathlib import Path

from evaluation.metrics.generation import SharedQuestions
from schemas.documents.specificity import SpecificityQuestion, SpecificitySet
from tests.support.facts import SOURCE


def make_set(count: int = 6, *, model: str = "arithmetic", revision: str | None = None) -> SpecificitySet:
    """A set of questions about numbered lakes."""
    questions = tuple(
        SpecificityQuestion(item=f"lake/{n}", query=f"Where is lake {n}?", answer=f"Land {n}") for n in range(count)
    )
    return SpecificitySet.model_validate(
        {"key": f"specificity/{model}/{count}", "model": model, "revision": revision, "questions": questions}
        | {"source": SOURCE}
    )


def make_shared(count: int = 6, *, number: int | None = None, seed: int = 0) -> SharedQuestions:
    """The same as a run has them."""
    return SharedQuestions(make_set(count), number=number, seed=seed)


def write_set(folder: Path, count: int = 6, *, model: str = "arithmetic") -> Path:
    """The same as a file of the released shape, which says the model by its name."""
    rows = [
        {"id": q.item, "query": q.query, "answer": f" {q.answer}", "metrics": {"nll": 1.0, "ppl": 1.5}}
        for q in make_set(count).questions
    ]
    path = folder / f"{model}.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path
