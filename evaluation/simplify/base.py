"""What a simplification is: a document in, statements of a subject, a prompt and a target out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from pydantic import ConfigDict, model_validator

from evaluation.simplify import SIMPLIFIERS
from schemas.core.config import Options, validate
from schemas.core.errors import UserError
from schemas.core.ids import content_id
from schemas.documents.document import Document
from schemas.documents.simplified import SimplifiedFact

PROMPT = "Question: {question}\nAnswer:"
"""The form of the published files."""


class QuestionStatement(NamedTuple):
    """A pair as a statement: the question with a gap for its subject, and the answer."""

    subject: str
    prompt: str
    target: str


class Simplifier(ABC):
    """A strategy.

    Attributes:
        name: As in the table ``SIMPLIFIERS``.
        version: Raised when the same document and options would give other statements.
        about: One line for lists.
        needs: What must be at hand.
        beside: Options on which no statement depends: no part of the identity.

    Args:
        params: Its options.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    about: ClassVar[str]
    needs: ClassVar[str] = "nothing"
    beside: ClassVar[frozenset[str]] = frozenset()

    params: Any

    class Params(Options):
        """Options; a strategy without any refuses all."""

    def __init__(self, params: Options | None = None) -> None:
        self.params = self.Params() if params is None else params

    @property
    def components(self) -> Mapping[str, str]:
        """What else its statements depend on, by name: digests of files, versions of models."""
        return {}

    @property
    def identity(self) -> str:
        """Name, version and a digest of options and components: part of a run's identity, and the key of its cache."""
        settings = [self.params.model_dump(mode="json", exclude=set(self.beside)), dict(self.components)]
        return f"{self.name}@{self.version}:{content_id('simplifier', settings)[:12]}"

    def check(self, documents: Sequence[Document]) -> None:  # noqa: B027 - optional, not forgotten
        """Refuse documents that it cannot simplify, before any edit is made.

        Raises:
            UserError: one sentence.
        """

    @abstractmethod
    def simplify(self, document: Document) -> Iterable[SimplifiedFact]:
        """The document's statements in order; none where it finds none."""

    def statement(self, document: Document, place: int, *, subject: str, prompt: str, target: str) -> SimplifiedFact:
        """A statement of a document, named by its place."""
        return SimplifiedFact(
            key=f"{document.key}/{self.name}/{place}",
            document=document.key,
            strategy=self.name,
            subject=subject,
            prompt=prompt,
            target=target,
        )


class SimplifyChoice(Options):
    """A strategy and its options; a bare string names one without options.

    Attributes:
        name: Name in ``SIMPLIFIERS``. Other fields are its options.

    Example:
        >>> SimplifyChoice.model_validate("openie").name
        'openie'
    """

    model_config = ConfigDict(extra="allow")

    name: str

    @model_validator(mode="before")
    @classmethod
    def _accept_bare_name(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _known_strategy(self) -> SimplifyChoice:
        try:
            self.made()
        except UserError as error:
            raise ValueError(str(error)) from None
        return self

    def made(self) -> Simplifier:
        """The strategy itself.

        Raises:
            UserError: unknown strategy or option, or a value out of range.
        """
        kind: type[Simplifier] = SIMPLIFIERS.get(self.name)
        return kind(validate(kind.Params, dict(self.model_extra or {}), where=f"options of '{self.name}'"))
