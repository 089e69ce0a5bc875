"""Documents to write probes about: JSONL, CSV, published shapes, and plain text that is cut into documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from curation.files.json_files import read_text
from curation.loaders import load
from curation.loaders.reading import Problem, Row, is_table, rows
from curation.loaders.shapes import kind_of
from schemas.core.config import explain
from schemas.core.errors import DataError
from schemas.core.ids import digest, slug
from schemas.documents.document import Document
from schemas.facts import Source
from schemas.text.counting import counted

COLUMNS = ("key", "text", "entity", "title", "date", "source", "licence")
_TEXTS = (".txt", ".md")
_END = re.compile(r"""(?<=[.!?])(?P<close>["'”’)\]]*)\s+(?=["'“‘(\[]?[A-ZÀ-ÖØ-Þ0-9])""")
_SHORT = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Mt|No|Nos|Vol|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Sen|Gov|Jr|Sr|Inc|Ltd|Co|Corp|vs|approx|ca"
    r"|cf|e\.g|i\.e|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)|(?:^|[\s.(])[A-Z])\.$"
)


class ReadDocuments(NamedTuple):
    """What a file held.

    Attributes:
        documents: Each text once, in the file's order.
        repeated: How many texts stood there again.
    """

    documents: tuple[Document, ...]
    repeated: int = 0


def read_documents(path: Path, *, cut: int | None = None, licence: str = "not stated") -> ReadDocuments:
    """The documents of a file.

    JSONL and CSV need ``text``; ``key``, ``entity``, ``title``, ``date``, ``source`` and ``licence`` may stand beside
    it. Whole records and published shapes are read as ``scedit data import`` reads them.

    Args:
        path: The file.
        cut: Cut a text into documents of so many sentences; in other files cut each longer text.
        licence: Of documents that state none.

    Raises:
        UserError: no such file.
        DataError: a plain text that is not to be cut, an empty document, a record of another kind, or no document.
    """
    if path.suffix.lower() in _TEXTS:
        if cut is None:
            raise DataError("a plain text is no list of documents", where=str(path), fix="have it cut: --cut 2")
        source = Source(name=path.name, licence=licence)
        documents: Iterable[Document] = _cut(read_text(path), cut, path, source)
    else:
        documents = _records(path, licence)
        if cut is not None:
            documents = (part for document in documents for part in _parts(document, cut))
    by_text: dict[str, Document] = {}
    count = 0
    for document in documents:
        count += 1
        by_text.setdefault(document.text, document)
    if not by_text:
        raise DataError("holds no document", where=str(path), fix="give a file of texts: --help shows their fields")
    keys = Counter(document.key for document in by_text.values())
    if twice := next((key for key, times in keys.items() if times > 1), None):
        raise DataError(f"the key '{twice}' stands at two different texts", where=str(path))
    return ReadDocuments(tuple(by_text.values()), count - len(by_text))


def sentences(text: str) -> list[str]:
    """The sentences of a paragraph; a point after a title, a month or an initial ends none.

    Example:
        >>> sentences("Dr. Brun came in 1931. She left! J. Ode stayed.")
        ['Dr. Brun came in 1931.', 'She left!', 'J. Ode stayed.']
    """
    parts, start = list[str](), 0
    for end in _END.finditer(text):
        part = text[start : end.end("close")]
        if not _SHORT.search(part):
            parts.append(part.strip())
            start = end.end()
    return [*parts, text[start:].strip()] if text[start:].strip() else parts


def _records(path: Path, licence: str) -> Iterator[Document]:
    """One document a record."""
    first = next(iter(rows(path)), None)
    if first is None and is_table(path):
        fix = "give it a column 'text' and a row a document"
        raise DataError("the table has no row below its header", where=str(path), fix=fix)
    if isinstance(first, Row) and "kind" not in first.data and not _published(first.data):
        yield from _own_records(path, licence)
        return
    if isinstance(first, Problem):
        raise DataError(first.what, where=first.where)
    loaded = load(path, "jsonl" if first is not None and "kind" in first.data else None)
    loaded.require()
    yield from loaded.documents
    yield from (record for record in loaded.records if isinstance(record, Document))


def _published(data: dict[str, Any]) -> bool:
    return "doc" in data and ("probes" in data or "generated_probes" in data)


def _own_records(path: Path, licence: str) -> Iterator[Document]:
    for row in rows(path):
        if isinstance(row, Problem):
            raise DataError(row.what, where=row.where)
        if unknown := sorted(set(row.data) - set(COLUMNS)):
            raise DataError(f"unknown field '{unknown[0]}'", where=row.where, allowed=", ".join(COLUMNS))
        text = row.data.get("text")
        if text is not None and not isinstance(text, str):
            what = f"the field 'text' must be a text, it is {kind_of(text)}"
            raise DataError(what, where=row.where, fix="write it in quotation marks")
        if text is None or not text.strip():
            raise DataError("the document is empty", where=row.where, fix="every document needs a text")
        fields = {name: value for name, value in row.data.items() if value not in (None, "")}
        source = {"name": fields.pop("source", path.name), "licence": fields.pop("licence", licence)}
        try:
            yield Document.model_validate(
                {
                    **{name: value for name, value in fields.items() if name != "date"},
                    "key": fields.get("key", _key(path, text.strip())),
                    "text": text.strip(),
                    "source": {**source, "date": fields.get("date")},
                }
            )
        except ValidationError as error:
            raise DataError(explain(error), where=row.where) from None


def _cut(text: str, size: int, path: Path, source: Source) -> Iterator[Document]:
    """Documents of a text: sentences that follow each other in one paragraph; a heading is left out."""
    for number, paragraph in enumerate(re.split(r"\n\s*\n", text), 1):
        whole = [s for s in sentences(" ".join(paragraph.split())) if re.search(r"[.!?][\"'”’)\]]*$", s)]
        for start in range(0, len(whole), size):
            part = " ".join(whole[start : start + size])
            where = f"paragraph {number}, {counted(start + 1, 'sentence')} on" if start else f"paragraph {number}"
            yield Document(key=_key(path, part), text=part, source=source.model_copy(update={"item": where}))


def _parts(document: Document, size: int) -> Iterator[Document]:
    """A document that is longer than so many sentences as several; a shorter one stays as it is."""
    whole = sentences(document.text)
    if len(whole) <= size:
        yield document
        return
    for number, start in enumerate(range(0, len(whole), size), 1):
        text = " ".join(whole[start : start + size])
        yield document.model_copy(update={"key": f"{document.key}/part{number}", "text": text})


def _key(path: Path, text: str) -> str:
    return f"{slug(path.stem)}/{digest([text])[:10]}"
