"""IKE (Zheng et al. 2023, "Can We Edit Factual Knowledge by In-Context Learning?"): the edit after demonstrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field, field_validator
from typing_extensions import override

from curation.files.artifact_cache import Cache
from curation.similarity.embeddings import MODEL
from evaluation.editors.base import Editor, check_requests
from evaluation.editors.in_context.demonstrations import Demonstration, Shows, assign, of_facts
from evaluation.editors.in_context.retrieval import Dense, Index, Vectors, encoder_device, nearest, statement
from evaluation.edits.edit import Edit, PromptEdit
from evaluation.models.language_model import LM
from schemas.cases import Case
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.facts import Fact


class Ike(Editor):
    """Shows the model k edits of the support with a prompt each, then the new fact, then the prompt.

    Demonstrations are those nearest to the new fact, the nearest last. They copy the fact, ask it in other words
    (update), or ask something that must not move (retain).
    """

    name: ClassVar[str] = "ike"
    about: ClassVar[str] = "the new fact after k demonstrations of copying, updating and retaining (in context)"
    needs: ClassVar[str] = "support to demonstrate with; the embedding model"
    costs: ClassVar[str] = "no search; much longer prompts"

    class Params(Options):
        """Options of IKE.

        Attributes:
            k: Demonstrations; fewer where the support has fewer.
            ratio: Shares of copy, update and retain.
        """

        k: int = Field(default=32, ge=1)
        ratio: tuple[float, float, float] = (1.0, 3.0, 4.0)

        @field_validator("ratio")
        @classmethod
        def _some(cls, ratio: tuple[float, float, float]) -> tuple[float, float, float]:
            if min(ratio) < 0 or sum(ratio) <= 0:
                raise ValueError("shares are at least 0, and not all 0")
            return ratio

    params: Params
    _cases: tuple[Case, ...] = ()
    _index: Index | None = None

    def __init__(self, params: Any, lm: LM, cache: Cache) -> None:
        super().__init__(params, lm, cache)
        self._vectors = Vectors(device=encoder_device(lm))

    @classmethod
    @override
    def wants_support(cls, options: Mapping[str, Any]) -> bool:
        return True

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {"embedding": MODEL}

    @override
    def prepare(self, support: Sequence[Case]) -> None:
        wanted = [k for k, r in zip(("copy", "update", "retain"), self.params.ratio, strict=True) if r > 0]
        self._cases = tuple(c for c in support if any(self.shows(c)[k] for k in wanted))  # type: ignore[index]
        texts = [statement(c.fact) for c in self._cases]
        self._index = Dense(texts, self._vectors) if texts else None

    def shows(self, case: Case) -> Shows:
        """What a case can demonstrate."""
        return of_facts(case)

    def demonstration(self, fact: Fact, shown: Demonstration) -> str:
        """One demonstration: the new fact, the prompt and its answer."""
        return f"New Fact: {statement(fact)}.\nPrompt: {shown.text}.\n\n"

    def question(self, facts: Sequence[Fact]) -> str:
        """What stands right before the prompt: the new facts."""
        return f"New Fact: {'; '.join(statement(f) for f in facts)}.\nPrompt: "

    def edit_each(self, requests: Sequence[Fact]) -> list[Edit]:
        """Independent edits; what they are looked up by is encoded in batches."""
        if self._index is not None:
            self._index.expect([_query([request]) for request in requests])
        return [self.edit([request]) for request in requests]

    @override
    def edit(self, requests: Sequence[Fact]) -> Edit:
        check_requests(requests)
        if self._index is None:
            raise UserError(
                "there is no case to demonstrate with",
                where=self.name,
                fix='add support = "shipped" to the run, or a split of your own',
            )
        chosen = [self._cases[i] for i in nearest(self._index.scores(_query(requests)), self.params.k)]
        shown = assign([self.shows(c) for c in chosen], self.params.ratio, names=[c.key for c in chosen])
        parts = [self.demonstration(c.fact, x) for c, x in zip(chosen, shown, strict=True) if x is not None]
        return PromptEdit({"demonstrations": len(parts)}, prefix="".join(reversed(parts)) + self.question(requests))


def _query(requests: Sequence[Fact]) -> str:
    """What demonstrations are looked up by."""
    return " ".join(map(statement, requests))
