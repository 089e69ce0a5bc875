"""Retrieval in context: edits stand in a memory in words, and each prompt is preceded by those nearest to it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from evaluation.editors.base import Editor, asked
from evaluation.editors.in_context.retrieval import Bm25, Index, RetrievalEdit, filled, nearest, statement
from evaluation.edits.edit import Edit
from schemas.cases import Case
from schemas.core.config import Options
from schemas.facts import Fact


class Retrieval(Editor):
    """A memory of many edits; what is found is said as ``prompt`` says it, the nearest last.

    The memory holds all requests of an edit. A single edit shares it with facts of the run's support, or retrieval
    would have nothing to choose from.
    """

    costs: ClassVar[str] = "a look-up a prompt; longer prompts"

    class Params(Options):
        """Options of retrieval.

        Attributes:
            top: Facts put before a prompt.
            memory: Facts in the memory at least; filled up from the support. 0: the requests alone.
            above: Only facts that score more are put; None: always ``top``.
            seed: Of the draw from the support.
        """

        top: int = Field(default=1, ge=1)
        memory: int = Field(default=100, ge=0)
        above: float | None = 0.0
        seed: int = 0

    params: Any
    _support: tuple[Case, ...] = ()

    @classmethod
    def wants_support(cls, options: Mapping[str, Any]) -> bool:
        """Where the memory is filled up."""
        return bool(options.get("memory", cls.Params.model_fields["memory"].default))

    def prepare(self, support: Sequence[Case]) -> None:
        """Keep the support: its facts fill the memory."""
        self._support = tuple(support)

    @abstractmethod
    def index(self, texts: Sequence[str]) -> Index:
        """What finds the nearest of the memory's texts."""

    def edit(self, requests: Sequence[Fact]) -> Edit:
        """An edit that looks every prompt up."""
        p = self.params
        facts = filled(asked(requests), self._support, size=p.memory, draw=p.seed, who=self.name)
        texts = [statement(fact) for fact in facts]
        index = self.index(texts)

        def found(prompt: str) -> list[int]:
            return nearest(index.scores(prompt), p.top, above=p.above)

        def find(prompt: str) -> str:
            return "".join(f"{texts[i]}. " for i in reversed(found(prompt)))

        keys = {r.key for r in requests}
        own = sum(any(facts[i].key in keys for i in found(r.fact_prompt)) for r in requests)
        return RetrievalEdit({"memory": len(texts), "found_by_fact_prompt": own / len(requests)}, find)


class Bm25Retrieval(Retrieval):
    """Retrieval by words."""

    name: ClassVar[str] = "bm25"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "a memory of edits; each prompt is preceded by the nearest by words (BM25)"
    needs: ClassVar[str] = "support that fills the memory; the package bm25s"

    class Params(Retrieval.Params):
        """Options of BM25 retrieval: those of retrieval, and BM25's own.

        Attributes:
            k1: Saturation of a word's frequency. ``b``: weight of a text's length.
        """

        k1: float = Field(default=1.5, ge=0)
        b: float = Field(default=0.75, ge=0, le=1)

    params: Params

    @property
    def components(self) -> Mapping[str, str]:
        """The splitting into words."""
        return {"words": "bm25s-en@1"}

    def index(self, texts: Sequence[str]) -> Index:
        """A BM25 index."""
        return Bm25(texts, k1=self.params.k1, b=self.params.b)
