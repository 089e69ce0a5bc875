"""Statements that are given, not made: ``file`` reads those of a simplification file, ``stated`` the documents' own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple

from typing_extensions import override

from curation.files.artifact_cache import remembered_sha256
from curation.loaders import load
from curation.loaders.base import Problem
from evaluation.simplify.base import Simplifier
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.documents.document import Document, plain_words
from schemas.documents.simplified import SimplifiedFact


class _Statements(NamedTuple):
    """Statements by document, the keys of the file's documents by their words, and its first record of no use."""

    by_document: Mapping[str, tuple[SimplifiedFact, ...]]
    texts: Mapping[str, str]
    unusable: Problem | None


class FileStatements(Simplifier):
    """Reads statements; a document is found in the file by its words."""

    name: ClassVar[str] = "file"
    about: ClassVar[str] = "the statements of a released simplification file"
    needs: ClassVar[str] = "a file of MULFE's simplification shape, about the same documents"

    class Params(Options):
        """``file``: where the statements stand."""

        file: Path

    params: Params

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {"file": remembered_sha256(self._path)}

    @property
    def _path(self) -> Path:
        if not self.params.file.is_file():
            raise UserError("there is no such simplification file", where=f"simplify.file: {self.params.file}")
        return self.params.file

    @cached_property
    def _read(self) -> _Statements:
        loaded = load(self._path)
        by_document: dict[str, list[SimplifiedFact]] = {}
        for record in loaded.records:
            if isinstance(record, SimplifiedFact):
                by_document.setdefault(record.document, []).append(record)
        return _Statements(
            {key: tuple(some) for key, some in by_document.items()},
            {plain_words(document.text): document.key for document in loaded.documents},
            next((problem for problem in loaded.problems if problem.lost), None),
        )

    def _key(self, document: Document) -> str | None:
        """The file's key of a document, which its text tells: keys may be anybody's."""
        return self._read.texts.get(plain_words(document.text))

    def check(self, documents: Sequence[Document]) -> None:
        """Refuse a file of other documents, or of none's statements: all would be left unedited without a word.

        Raises:
            UserError: says which, or which record of the file could not be used where documents are missing.
        """
        lost = [document.key for document in documents if self._key(document) is None]
        if lost and (bad := self._read.unusable) is not None:
            raise UserError(f"a record cannot be used: {bad.what}", where=bad.where, fix="mend it")
        if lost:
            raise UserError(
                f"the simplification file does not hold {len(lost)} of {len(documents)} documents of the run, "
                f"such as '{lost[0]}'",
                where=str(self.params.file),
                fix="name the file that was made of these documents",
            )
        if documents and not self._read.by_document:
            raise UserError(
                "the simplification file holds no statement",
                where=str(self.params.file),
                fix="name one that was made of the documents, such as mulfe_test.json.lmqg_ner",
            )

    def simplify(self, document: Document) -> Iterable[SimplifiedFact]:
        """The file's statements, those without a target among them."""
        key = self._key(document)
        return () if key is None else self._read.by_document.get(key, ())


class GivenStatements(Simplifier):
    """Subject, prompt and target as the source gives them; nothing is made or guessed."""

    name: ClassVar[str] = "stated"
    about: ClassVar[str] = "the statements that the documents' source gives (MQuAKE, RippleEdits, KnowEdit, QAEdit ...)"

    def check(self, documents: Sequence[Document]) -> None:
        """Refuse documents of which none has a statement: nothing would be edited, without a word."""
        if documents and not any(document.statements for document in documents):
            raise UserError(
                f"none of the {len(documents)} documents says what it states, such as '{documents[0].key}'",
                where="simplify",
                allowed="documents of a benchmark of single facts (scedit data formats)",
                fix='make statements of their texts: simplify = "ner_qg"',
            )

    @override
    def simplify(self, document: Document) -> Iterable[SimplifiedFact]:
        for place, given in enumerate(document.statements):
            yield self.statement(document, place, subject=given.subject, prompt=given.prompt, target=given.target)
