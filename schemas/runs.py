"""The manifest of a run and the lines of its journal."""

from __future__ import annotations

from typing import Any, ClassVar

from schemas.answers import Answer
from schemas.core.records import Frozen, Record


class RunManifest(Record):
    """Everything a run's numbers depend on; its key is the run id.

    ``runtime`` facts (device, batch size, versions, git state) are kept beside it, outside the identity.
    """

    kind: ClassVar[str] = "run"
    editor: str
    editor_version: int
    params: dict[str, Any]
    model: str
    model_revision: str
    dtype: str
    split: str
    split_digest: str
    regime: str
    components: dict[str, str]


class CaseResult(Frozen):
    """One finished unit of a run: the answers of one case after its edit (or before any, for ``none``).

    Where several edits stand in the model, ``after`` is their number and ``position`` that of the case's own, from 1.
    """

    run: str
    case: str
    answers: tuple[Answer, ...] = ()
    seconds_edit: float = 0.0
    seconds_score: float = 0.0
    peak_bytes: int | None = None
    notes: dict[str, Any] = {}
    error: str | None = None
    after: int | None = None
    position: int | None = None
