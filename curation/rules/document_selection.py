"""From the store to the cases of a split of documents: every loss is counted by its reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from curation.rules.document_rule import DocumentRule
from curation.rules.request_selection import RequestSelectionStream
from curation.store.block_reader import KeyRange
from schemas.cases import DocumentCase
from schemas.documents.document import Document, DocumentProbe


class DocumentSelectionStream(RequestSelectionStream[DocumentCase, DocumentRule]):
    """Cases that a rule makes of the store's current documents, one at a time and once."""

    edit: ClassVar[str] = Document.kind

    def _block(self, keys: KeyRange) -> Iterator[DocumentCase]:
        documents = self._store.in_range(Document, keys)
        probes = self._store.in_range(DocumentProbe, keys, parent=True)
        ruling = self._ruling.over(record.id for records in (documents, probes) for record in records)
        kept = self._passing(probes, ruling, lambda probe: probe.document)
        for document in documents:
            self._counts["documents"] += 1
            if not self._passes(ruling.decide(document), "document"):
                continue
            if len(kept[document.key]) < self._rule.min_probes:
                self._counts["document: too few probes"] += 1
                continue
            yield DocumentCase(key=f"case/{document.key}", document=document, probes=tuple(kept[document.key]))
