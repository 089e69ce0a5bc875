"""MULFE (Apache-2.0): documents with probes of three levels, and what they were simplified to.

Three released shapes: evaluation, development (other keys) and simplification (the evaluation shape with statements).
What is odd in the files is kept and counted, not mended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from curation.loaders.base import FormatReader, Loader, Problem, Row, RowItem
from curation.loaders.fields import FieldValueError, kind_of, rest, strings, text_of
from curation.loaders.file_notes import FileNotes
from curation.loaders.formats.mulfe.tags import read_tags
from curation.loaders.sources import MULFE
from schemas.documents.document import Document, DocumentProbe, Level, holds_answer, is_literal
from schemas.documents.simplified import SimplifiedFact

LEVELS: Mapping[str, Level] = {"1": 1, "2": 2, "3": 3}
STRATEGIES = ("doc_openie", "lmqg", "lmqg_ner", "stanford_openie")
"""What the published simplification files end in (``mulfe_test.json.lmqg_ner``): their statements' strategy."""
OTHER_STRATEGY = "file"
"""Strategy of the statements of a file that ends otherwise."""
_DOCUMENT = ("doc", "id", "page_title", "created", "probes", "generated_probes", "simplification")


class Mulfe(FormatReader):
    """One document a row. Tags keep their spellings in extras; a probe without a level has none."""

    upstream = MULFE

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._documents, self._probes, self._statements = FileNotes(), FileNotes(), FileNotes()

    def end(self) -> Iterator[Problem]:
        """The quirks of the file, counted."""
        yield from self._documents.problems(str(self.path), "quirk", "document")
        yield from self._probes.problems(str(self.path), "quirk", "probe")
        yield from self._statements.problems(str(self.path), "quirk", "statement")

    def make(self, row: Row) -> Iterator[RowItem]:
        """The document, its probes, its statements, and extras."""
        data = row.data
        name, text, meta = text_of(data, "id"), text_of(data, "doc"), data.get("meta") or {}
        if text != data["doc"]:
            self._documents.add("white space at an end", row)
        document = Document(
            key=document_key(name),
            text=text,
            entity=meta.get("entity"),
            title=data.get("page_title"),
            source=self.upstream.source(name, date=data.get("created")),
        )
        yield document
        for probe_fields in data["probes"] if "probes" in data else data["generated_probes"]:
            yield from self._probe(document, name, probe_fields, row)
        for place, statement_fields in enumerate(data.get("simplification") or ()):
            yield from self._statement(document, place, statement_fields, row)
        yield from rest(document.key, data, (*_DOCUMENT, *(("meta",) if set(meta) <= {"entity"} else ())))

    def _probe(self, document: Document, name: str, fields: dict[str, Any], row: Row) -> Iterator[RowItem]:
        key = probe_key(name, text_of(fields, "id"))
        query, level = text_of(fields, "query"), fields.get("level")
        if level is not None and str(level) not in LEVELS:
            raise FieldValueError("level", f"must be 1, 2 or 3, it is {level!r}")
        read = read_tags(strings(fields.get("tags" if "tags" in fields else "tag")))
        probe = DocumentProbe(
            key=key,
            document=document.key,
            query=query,
            answer=text_of(fields, "answer"),
            level=None if level is None else LEVELS[str(level)],
            tags=read.tags,
        )
        yield probe
        if query != fields["query"]:
            self._probes.add("white space at an end", row)
        if isinstance(level, str):
            self._probes.add("its level is text", row)
        if read.unknown:
            self._probes.add("a tag is none of the closed list", row)
        self._notes_of_probe(probe, document, row)
        yield from rest(key, fields, ("query", "answer", "level", "id"))

    def _notes_of_probe(self, probe: DocumentProbe, document: Document, row: Row) -> None:
        if probe.level is None:
            self._probes.add("it has no level", row)
        if probe.blanks > 1:
            self._probes.add("it has several blanks", row)
        if "____" in probe.query:
            self._probes.add("its blank is longer than three underscores", row)
        if probe.level == 1 and not probe.blanks:
            self._probes.add("of level 1, without a blank", row)
        elif probe.level == 1 and not is_literal(probe, document):
            self._probes.add("of level 1, not word for word in its document", row)
        if holds_answer(probe):
            self._probes.add("the query holds its answer", row)

    def _statement(self, document: Document, place: int, fields: dict[str, Any], row: Row) -> Iterator[RowItem]:
        target = fields["target"]
        if not isinstance(target, str):
            raise FieldValueError("target", f"must be a text, it is {kind_of(target)}")
        fact = SimplifiedFact(
            key=f"{document.key}/{self._strategy}/{place}",
            document=document.key,
            strategy=self._strategy,
            subject=text_of(fields, "subject"),
            prompt=text_of(fields, "prompt"),
            target=target.strip(),
        )
        yield fact
        if not fact.target:
            self._statements.add("its target is empty", row)
        elif target != fact.target:
            self._statements.add("its target begins with a space", row)
        carried = {"subject", "prompt", "target"}
        if fields.get("input") in (None, fact.filled_prompt):
            carried.add("input")
        else:
            self._statements.add("its prompt, filled in, is not its input", row)
        yield from rest(fact.key, fields, carried)

    @property
    def _strategy(self) -> str:
        ending = self.named.suffix.removeprefix(".")
        return ending if ending in STRATEGIES else OTHER_STRATEGY


def document_key(name: str) -> str:
    """The key of a document, after its published id.

    Example:
        >>> document_key("mulfe_test_ei_0")
        'mulfe/mulfe_test_ei_0'
    """
    return f"mulfe/{'-'.join(name.split())}"


def probe_key(document: str, name: str) -> str:
    """The key of a probe, after the published ids of its document and its own.

    Example:
        >>> probe_key("mulfe_test_ei_0", "mulfe_test_ei_0_7")
        'mulfe/mulfe_test_ei_0/7'
    """
    return f"{document_key(document)}/{'-'.join(name.removeprefix(f'{document}_').split())}"


load_mulfe = Loader("mulfe", Mulfe)
