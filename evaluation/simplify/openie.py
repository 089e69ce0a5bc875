"""``openie``: statements by clause patterns over spaCy's dependency parse, or by a running CoreNLP server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from pydantic import Field

from evaluation.simplify.base import Simplifier
from evaluation.simplify.clauses import Clause, clauses
from evaluation.simplify.corenlp import ask_server
from evaluation.simplify.parsing import DEFAULT_MODEL, parse, parser_version
from schemas.core.config import Options
from schemas.documents.document import Document
from schemas.documents.simplified import SimplifiedFact


class OpenStatements(Simplifier):
    """Subject, verb phrase and object, the prompt being the first two (MULFE §5.2: OpenIE)."""

    name: ClassVar[str] = "openie"
    about: ClassVar[str] = "clauses of the parsed sentences: subject, verb phrase, object"
    needs: ClassVar[str] = "spaCy with a model (extra 'parse'), or a running CoreNLP server"

    class Params(Options):
        """Options of open information extraction.

        Attributes:
            model: spaCy's model, by name or folder.
            server: Address of a running CoreNLP server, which is asked instead.
            threshold: Least confidence of the server's statements (published: 2/3).
        """

        model: str = DEFAULT_MODEL
        server: str | None = None
        threshold: float = Field(default=2 / 3, ge=0, le=1)

    params: Params

    @property
    def components(self) -> Mapping[str, str]:
        """The parser's model; a server does not say what it is."""
        return {} if self.params.server is not None else {"parser": parser_version(self.params.model)}

    def simplify(self, document: Document) -> Iterable[SimplifiedFact]:
        """The clauses of all sentences."""
        for place, clause in enumerate(self._clauses(document.text)):
            prompt = f"{{}} {clause.predicate}"
            yield self.statement(document, place, subject=clause.subject, prompt=prompt, target=clause.target)

    def _clauses(self, text: str) -> Iterator[Clause]:
        if self.params.server is not None:
            everything = ask_server(self.params.server, text, threshold=self.params.threshold)
        else:
            everything = [clause for sentence in parse(text, self.params.model) for clause in clauses(sentence)]
        for clause in everything:
            if "{}" not in "".join(clause) and all(part.strip() for part in clause):
                yield clause
