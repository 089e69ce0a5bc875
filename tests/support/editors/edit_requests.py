"""Facts to edit and contexts to edit them in, and small corpora."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from curation.files.artifact_cache import Cache
from evaluation.editors.base import Editor
from evaluation.editors.presets import make_editor
from evaluation.models.language_model import LM
from schemas.facts import Entity, Object
from tests.support.facts import peru_fact
from tests.support.tiny import shuffled

PERU = peru_fact()

NORWAY = peru_fact(
    "f/norway",
    subject=Entity(text="Norway"),
    old=Object(text="Oslo"),
    new=Object(text="São Tomé"),
    prompt="In {} the capital is",
)

CONTEXTS = ("{}", "She left. {}", "\nA town. {}")


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(shuffled(8)), encoding="utf-8")
    return str(path)


def rome(lm: LM, cache: Cache, corpus: str, **options: Any) -> Editor:
    return make_editor("rome", lm, cache, {"layer": 1, "templates": CONTEXTS, "corpus": corpus, **options})
