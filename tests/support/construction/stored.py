"""What a construction left: everything in its store, times aside, and the replies in its journal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from curation.files.journal import Journal
from curation.store.store import Store
from schemas.core.records import Record
from schemas.documents.document import Document, DocumentProbe
from schemas.events.event import Event
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion

KINDS: tuple[type[Record], ...] = (
    *(Fact, Neighbour, ScriptQuestion, Script, ScriptPrompt),
    *(Event, FactQuestion, TendencyQuestion, Document, DocumentProbe),
)


def contents(store: Path) -> Any:
    """Keys and ids of all records by kind, verdicts, and lines of lineage."""
    with Store.open(store) as db:
        records = {kind.kind: sorted((r.key, r.id) for r in db.all(kind)) for kind in KINDS}
        verdicts = sorted((v.key, v.id, v.label) for v in db.verdicts())
        lineage = sorted((x.item_id, x.stage, x.request or "", x.model or "") for x in db.lineages())
    return records, verdicts, lineage


def replies(store: Path) -> set[str]:
    """Keys of the replies in a store's journal."""
    journal = store.with_name(f"{store.name}.llm.jsonl")
    return {key for key, _ in Journal(journal).items() if key.startswith("llm/")} if journal.exists() else set()
