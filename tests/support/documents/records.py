"""Documents and probes for tests: one maker each, any field of which can be replaced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curation.store.store import Store
from schemas.cases import DocumentCase
from schemas.documents.document import Document, DocumentProbe
from schemas.documents.simplified import SimplifiedFact, StatedDocument
from tests.support.facts import SOURCE

BRIDGE = "d/bridge"
TRAM = "d/tram"


def make_document(
    key: str = BRIDGE, text: str = "The Orla Bridge opened in 1931. Ada Brun designed it.", **changes: Any
) -> Document:
    """A document of two sentences."""
    return Document.model_validate({"key": key, "text": text, "entity": "Orla Bridge", "source": SOURCE, **changes})


def make_probe(
    query: str = "The Orla Bridge opened in ___.", answer: str = "1931", *, level: int | None = 1, **changes: Any
) -> DocumentProbe:
    """A probe of the bridge's document."""
    document = changes.pop("document", BRIDGE)
    fields = {"key": f"{document}/{query.replace(' ', '-')}", "document": document, "query": query}
    return DocumentProbe.model_validate({**fields, "answer": answer, "level": level, **changes})


def stated_document(
    document: Document, *, subject: str, target: str, prompt: str = "Question: Where does {} run?\nAnswer:"
) -> StatedDocument:
    """A document with one statement."""
    fields = {"document": document.key, "strategy": "test", "subject": subject, "prompt": prompt, "target": target}
    return StatedDocument(document, (SimplifiedFact(key=f"{document.key}/0", **fields),))


def document_records() -> list[Document | DocumentProbe]:
    """Two documents: a bridge with probes of all levels, a tram with one."""
    return [
        make_document(),
        make_probe(),
        make_probe("In which year was the Orla Bridge inaugurated?", "1931", level=2),
        make_probe("Who is the author of the Orla Bridge's plans?", "Ada Brun", level=2, accepted=("Brun",)),
        make_probe("What did Ada Brun design?", "the Orla Bridge", level=3, tags=("reverse",)),
        make_document(TRAM, "Line 9 runs to Rovo.", entity=None),
        make_probe("Line 9 runs to ___.", "Rovo", document=TRAM),
    ]


def document_case(key: str = "case/d/bridge", **changes: Any) -> DocumentCase:
    """The bridge with its probes."""
    document, *probes = (r for r in document_records() if getattr(r, "document", r.key) == BRIDGE)
    return DocumentCase.model_validate({"key": key, "document": document, "probes": tuple(probes), **changes})


def document_store(folder: Path) -> Iterator[Store]:
    """A new store in a folder with ``document_records``, open while a test runs."""
    with Store.open(folder / "s.duckdb", create=True) as store:
        store.put(document_records())
        yield store
