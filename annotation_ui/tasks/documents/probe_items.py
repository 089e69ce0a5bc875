"""What the tasks about documents read out of a store, and how people's corrections become a probe's new version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from annotation_ui.tasks.base import TaskItem
from schemas.documents.document import Document, DocumentProbe

if TYPE_CHECKING:
    from curation.store.store import Store

SOURCE_HINT = "import or construct documents with probes first: scedit data construct-documents"
LEVELS = {
    1: "literal: with the blank filled in, the document says it word for word",
    2: "paraphrase: the document says it in other words",
    3: "reasoning: you have to draw a conclusion from the document, or sum it up",
}
"""What the levels mean (MULFE §4.2)."""


def probe_items(store: Store, *, people_too: bool = False) -> Iterator[tuple[TaskItem, DocumentProbe]]:
    """Every probe that no check has dropped, with its document and the document's other probes.

    Args:
        store: The store.
        people_too: Leave out what people dropped, too.
    """
    dropped = {
        v.item_id for v in store.verdicts(stale=False) if v.label == "drop" and (v.judged_by is None or people_too)
    }
    for document in store.all(Document):
        if document.id in dropped:
            continue
        probes = [p for p in store.of_parents(DocumentProbe, [document.key]) if p.id not in dropped]
        for probe in probes:
            others = [p for p in probes if p.key != probe.key]
            shown = {
                "document": document.text,
                "query": probe.query,
                "answer": probe.answer,
                "accepted": "; ".join(probe.accepted),
                "siblings": "\n".join(f"{n}. {p.query} — {p.answer}" for n, p in enumerate(others, 1)),
            }
            item = TaskItem(
                id=probe.id,
                case=document.key,
                stratum=level_name(probe.level),
                shown={name: text for name, text in shown.items() if text},
                related=(document.id, *(p.id for p in others)),
            )
            yield item, probe


def level_name(level: int | None) -> str:
    """A level as a stratum."""
    return "no level" if level is None else f"level {level}"


def level_of(item: TaskItem) -> int | None:
    """The level that an item's probe had when it was shown."""
    name = item.stratum.removeprefix("level ")
    return int(name) if name.isdecimal() else None


def new_version(store: Store, item: TaskItem, changes: Mapping[str, Any]) -> DocumentProbe | None:
    """The probe as people corrected it; None where nothing changed, or where it has another version already."""
    judged = store.get(item.id)
    assert isinstance(judged, DocumentProbe)
    if store.get(judged.key).id != judged.id:
        return None
    changed = DocumentProbe.model_validate({**judged.payload(), **changes})
    return None if changed.id == judged.id else changed
