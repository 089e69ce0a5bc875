"""MEMIT and its relatives on a tiny model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from curation.files.artifact_cache import Cache
from evaluation.editors.presets import make_editor
from evaluation.edits.edit import Edit
from evaluation.models.language_model import LM
from tests.support.tiny import shuffled

CONTEXTS = ("{}", "The town. {}", "I left. {}")

METHODS = {"memit": {"lam": 60.0}, "emmet": {"lam": 0.0}, "alphaedit": {"lam": 2.0, "null_share": 0.2}}


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(shuffled(8)), encoding="utf-8")
    return str(path)


def editor(method: str, lm: LM, cache: Cache, corpus: str, **more: Any) -> Any:
    fields = {**METHODS[method], "layers": [0, 1], "steps": 8, "templates": CONTEXTS, "corpus": corpus, **more}
    return make_editor(method, lm, cache, fields)


def close(edit: Edit, want: Sequence[Tensor]) -> bool:
    pairs = zip(edit.deltas or (), want, strict=True)
    return all(float((d.matrix().double() - w).norm()) < 2e-3 * float(w.norm()) for d, w in pairs)


every = pytest.mark.parametrize("method", METHODS)
