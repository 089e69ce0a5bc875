"""A trained MEND on a tiny model, and the cases it learnt from."""

from __future__ import annotations

from typing import Any

import pytest

from curation.case_sources.support import cases_from_facts
from schemas.cases import Case
from schemas.facts import Entity, Object
from tests.support.facts import peru_fact

QUICK: dict[str, Any] = {"steps": 6, "layers": (1, 2), "rank": 4, "report_every": 2, "edits": 3, "held_out": 2}

NAMES = ["Peru", "Norway", "France", "Quito", "Oslo", "Lima", "Paris", "Madrid", "Guinea"]


@pytest.fixture
def cases() -> list[Case]:
    towns = ["Oslo", "São Tomé", "Quito"]
    return cases_from_facts(
        [
            peru_fact(f"t/{n}", subject=Entity(text=name), old=Object(text="Rome"), new=Object(text=towns[n % 3]),
                 paraphrases=(f"{name} is ruled from",))
            for n, name in enumerate(NAMES)
        ]
    )  # fmt: skip
