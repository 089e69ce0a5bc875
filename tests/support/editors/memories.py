"""Countries as facts, and memories filled with them."""

from __future__ import annotations

from typing import Any

import pytest

from curation.case_sources.support import cases_from_facts
from curation.files.artifact_cache import Cache
from evaluation.editors.base import Editor
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.facts import Entity, Fact, Object, Relation
from tests.support.facts import peru_fact
from tests.support.tiny import make

PERU = peru_fact()


def country(name: str, old: str, new: str, **changes: Any) -> Fact:
    more = {"paraphrases": (f"{name} is ruled from",), **changes}
    return peru_fact(f"f/{name}", subject=Entity(text=name), old=Object(text=old), new=Object(text=new), **more)


@pytest.fixture
def lm() -> LM:
    return make("llama")


@pytest.fixture
def support() -> list[Case]:
    facts = [country("Chad", "Lima", "Rome"), country("Togo", "Lima", "Bonn"), country("Mali", "Bern", "Kyiv")]
    tongue = {"relation": Relation(id="P103"), "prompt": "{} grew up speaking", "paraphrases": ()}
    other = country("Mozart", "German", "Thai", **tongue)
    return cases_from_facts([*facts, other])


def prepared(name: str, lm: LM, cache: Cache, cases: list[Case], **options: Any) -> Editor:
    method = make_editor(name, lm, cache, options)
    method.prepare(cases)
    return method
