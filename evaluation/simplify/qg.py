"""``qg``: question-answer pairs of a document by a sequence-to-sequence model (MULFE §5.2: E2EQG)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import ClassVar

from pydantic import Field
from typing_extensions import override

from evaluation.simplify.base import Simplifier
from evaluation.simplify.parsing import DEFAULT_MODEL, QuestionWriter, parser_version, statement_about, written_pairs
from schemas.core.config import Options
from schemas.documents.document import Document
from schemas.documents.simplified import SimplifiedFact

PAIR_TOKENS = 45  # of a written pair, roughly


class ModelQuestions(Simplifier):
    """Questions about a document with their answers; the subject of each is its last named entity."""

    name: ClassVar[str] = "qg"
    about: ClassVar[str] = "question-answer pairs of a document by a sequence-to-sequence model"
    needs: ClassVar[str] = "the folder of such a model, and spaCy with a model (extra 'parse')"
    beside: ClassVar[frozenset[str]] = frozenset({"seq2seq", "prefix", "parser"})

    class Params(Options):
        """Which model writes, and how many pairs.

        Attributes:
            seq2seq: Folder of a sequence-to-sequence model, such as lmqg's T5 models.
            prefix: What stands before the document that it reads.
            most: Pairs of a document at most.
            parser: spaCy's model, which finds the last entity of a question.
        """

        seq2seq: Path
        prefix: str = "generate question and answer: "
        most: int = Field(default=8, ge=1, le=40)
        parser: str = DEFAULT_MODEL

    params: Params

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {"writer": self._writer.identity, "parser": parser_version(self.params.parser)}

    @cached_property
    def _writer(self) -> QuestionWriter:
        return QuestionWriter(self.params.seq2seq, self.params.prefix)

    def simplify(self, document: Document) -> Iterable[SimplifiedFact]:
        """The pairs in the order in which they are written."""
        reply = self._writer.write(document.text, tokens=PAIR_TOKENS * self.params.most)
        pairs = islice(written_pairs(reply), self.params.most)
        statements = (statement_about(question, answer, self.params.parser) for question, answer in pairs)
        for place, one in enumerate(s for s in statements if s is not None):
            yield self.statement(document, place, subject=one.subject, prompt=one.prompt, target=one.target)
