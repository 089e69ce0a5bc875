"""What tests of saved edits share: cases, and a method set up for a tiny model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from curation.case_sources.support import cases_from_facts
from curation.files.artifact_cache import Cache
from evaluation.editors import EDITORS
from evaluation.editors.base import Editor
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.facts import Entity, Object
from tests.support.facts import peru_fact
from tests.support.tiny import shuffled

FACTS = [
    peru_fact(),
    peru_fact("f/norway", subject=Entity(text="Norway"), old=Object(text="Oslo"), new=Object(text="São Tomé")),
    peru_fact("f/france", subject=Entity(text="France"), old=Object(text="Paris"), new=Object(text="Quito")),
]
QUICK: dict[str, Any] = {"steps": 4, "template_lengths": ((3, 2),), "covariance": True}


def cases(facts: int = 3) -> tuple[Case, ...]:
    return tuple(cases_from_facts(FACTS))[:facts]


def editor(method: str, lm: LM, folder: Path, **more: Any) -> Editor:
    """A method with options that make it quick."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = folder / "corpus.txt"
    corpus.write_text("\n\n".join(shuffled(8)), encoding="utf-8")
    option_fields = EDITORS.get(method).Params.model_fields
    options = {name: value for name, value in {**QUICK, "corpus": str(corpus), **more}.items() if name in option_fields}
    return make_editor(method, lm, Cache(folder / "cache"), options)
