"""``stated``: the statements that a document's own source gives, as benchmarks of single facts do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from evaluation.simplify.base import Simplifier
from schemas.core.errors import UserError
from schemas.documents.document import Document
from schemas.documents.simplified import SimplifiedFact


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

    def simplify(self, document: Document) -> Iterable[SimplifiedFact]:
        """The statements in order."""
        for place, given in enumerate(document.statements):
            yield self.statement(document, place, subject=given.subject, prompt=given.prompt, target=given.target)
