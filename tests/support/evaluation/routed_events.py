"""Towns with events and questions that only a comparison of the two can send right; a quick encoder."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from evaluation.editors.in_context.retrieval import Vectors
from schemas.cases import EventCase
from tests.support.events import make_event, make_fact_question, make_tendency

_FIRST, _AWAY = ("Al", "Bre", "Cor", "Dor", "El", "Fa", "Ga", "Ho"), ("Ki", "Lu", "Mo", "Ne", "Or", "Pi", "Qua", "Ri")
TOWNS = [a + b for b in ("ba", "nta", "vo", "no", "va", "li", "so", "ra") for a in _FIRST]
ELSEWHERE = [a + b for b in ("den", "fell", "gart", "holm", "mark", "stad", "ton", "wick") for a in _AWAY]
DIMENSIONS = 64


class HashedVectors(Vectors):
    """Bags of words, each word at a place that its checksum gives; unit length, shape (texts, 64)."""

    def of(self, texts: Sequence[str]) -> Any:
        rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().replace("?", " ").replace(".", " ").split():
                row[zlib.crc32(word.encode()) % DIMENSIONS] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def town_cases(towns: Sequence[str] = tuple(TOWNS), *, prefix: str = "e") -> list[EventCase]:
    """One event a town; the same wordings about another town are out of scope."""
    cases = []
    for town in towns:
        key, other = f"{prefix}/{town}", ELSEWHERE[TOWNS.index(town)]
        facts = (
            make_fact_question(f"Who is mayor of {town}?", "Ada", event=key, key=f"{key}/f1"),
            make_fact_question(f"Who is mayor of {other}?", "Bo", event=key, key=f"{key}/f2", scope="out"),
        )
        tendencies = (
            make_tendency(f"How may rents in {town} move?", event=key, key=f"{key}/t1"),
            make_tendency(f"How may rents in {other} move?", "C", event=key, key=f"{key}/t2", scope="out"),
        )
        event = make_event(key, f"{town} has elected Ada as its new mayor.", type="election")
        cases.append(EventCase(key=f"case/{key}", event=event, facts=facts, tendencies=tendencies))
    return cases
