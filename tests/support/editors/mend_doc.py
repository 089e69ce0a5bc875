"""Documents that MEND on documents learns from on tiny models, and options that make it quick."""

from __future__ import annotations

from typing import Any

from schemas.cases import DocumentCase
from tests.support.documents.records import make_document, make_probe

QUICK: dict[str, Any] = {"steps": 6, "layers": (1, 2), "rank": 4, "report_every": 2, "edits": 2, "held_out": 2}

TOWNS = ["Oslo", "São Tomé", "Quito"]


def document_cases(count: int = 8) -> list[DocumentCase]:
    """Documents of one sentence about different lines, with a probe of each level."""
    return [_case(n) for n in range(count)]


def _case(n: int) -> DocumentCase:
    key, name, town = f"d/line-{n}", f"Line {n}x", TOWNS[n % 3]
    document = make_document(key, f"{name} runs to {town}.", entity=name)
    asked = ((f"{name} runs to ___.", town), (f"Where does {name} end?", town), (f"What runs to {town}?", name))
    probes = [make_probe(query, answer, level=at + 1, document=key) for at, (query, answer) in enumerate(asked)]
    return DocumentCase(key=f"case/{key}", document=document, probes=tuple(probes))
