"""What a check of probes is: a name, a version, and a pure function from a probe and its document to one verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from curation.checks.store_checks import CheckContext, ItemCheck
from schemas.core.records import Record
from schemas.documents.document import Document, DocumentProbe

UNKNOWN_TAGS = "unknown_tags"
"""Under which name lineage keeps the tags of a reply that are none of the closed list."""


@dataclass(frozen=True, kw_only=True)
class ProbeInputs:
    """What a check may look at.

    Attributes:
        document: The document.
        probe: The probe that is judged.
        earlier: Probes of the document whose keys come before its own.
        unknown_tags: Tags that its author gave and that are none of the closed list.
    """

    document: Document
    probe: DocumentProbe
    earlier: tuple[DocumentProbe, ...] = ()
    unknown_tags: tuple[str, ...] = ()


class ProbeCheck(ItemCheck[ProbeInputs]):
    """Base of the checks on probes of documents."""

    on: ClassVar[str] = DocumentProbe.kind

    def inputs_of(self, items: Sequence[Record], around: CheckContext) -> Iterator[tuple[Record, ProbeInputs]]:
        """Probes whose document is there, each with its inputs."""
        probes = [item for item in items if isinstance(item, DocumentProbe)]
        keys = {probe.document for probe in probes}
        documents = {document.key: document for document in around.store.by_keys(Document, keys)}
        siblings: dict[str, list[DocumentProbe]] = defaultdict(list)
        for sibling in around.store.of_parents(DocumentProbe, keys):
            siblings[sibling.document].append(sibling)
        for probe in probes:
            if (document := documents.get(probe.document)) is None:
                continue
            earlier = sorted((s for s in siblings[document.key] if s.key < probe.key), key=lambda s: s.key)
            unknown = (line.detail.get(UNKNOWN_TAGS) for line in around.store.lineage(probe.id))
            yield (
                probe,
                ProbeInputs(
                    document=document,
                    probe=probe,
                    earlier=tuple(earlier),
                    unknown_tags=tuple(next((tags for tags in unknown if tags), ())),
                ),
            )
