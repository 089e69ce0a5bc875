"""A store whose scripts a judge and people rated."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from curation.store.store import Store
from schemas.lineage import Lineage
from tests.support.judge import fill_store, rating


def study(
    path: Path,
    *,
    facts: int = 40,
    share: int = 2,
    people: tuple[str, ...] = ("ann", "bob"),
    editors: tuple[str, ...] = ("ft", "rome"),
) -> dict[str, float]:
    """A store where a judge is too kind by 1 and people rated every second case; returns what people would say."""
    scripts = fill_store(path, facts=facts, editors=editors)
    rng, real = np.random.default_rng(3), {}
    records, lines = [], []
    for n, script in enumerate(scripts):
        value = int(np.clip(round(rng.normal(3 if script.editor == "ft" else 5, 1.2)), 1, 6))
        real[script.id] = float(value)
        records.append(rating(script.id, "completeness", value + 1))
        lines.append(Lineage(item_id=records[-1].id, stage="judge", made_at="t", detail={"score": value + 1.0}))
        if (n // len(editors)) % share == 0:
            for person in people:
                records.append(rating(script.id, "completeness", value, f"person:{person}"))
                detail = {"probability": 1 / share, "case": script.case}
                lines.append(Lineage(item_id=records[-1].id, stage="annotation", made_at="t", detail=detail))
    with Store.open(path, write=True) as store:
        store.put(records, lines)
    return real
