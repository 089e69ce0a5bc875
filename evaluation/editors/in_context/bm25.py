"""Retrieval in context: edits stand in a memory in words, and each prompt is preceded by those nearest to it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from evaluation.editors.base import check_requests
from evaluation.editors.in_context.retrieval import (
    Bm25,
    Index,
    MemoryEditor,
    RetrievalEdit,
    fill_memory,
    nearest,
    said_before,
)
from evaluation.edits.edit import Edit
from evaluation.metrics.event_questions import question_of
from schemas.cases import Case, EditRequest
from schemas.core.config import Options
from schemas.core.errors import UserError
from schemas.facts import Fact


class Retrieval(MemoryEditor):
    """A memory of many edits; what is found is said as ``prompt`` says it, the nearest last.

    The memory holds all requests of an edit. A single edit shares it with facts of the run's support or with all edits
    of the split, or retrieval would have nothing to choose from. Events are looked up by the question alone.
    """

    takes: ClassVar[tuple[str, ...]] = ("fact", "event")

    costs: ClassVar[str] = "a look-up a prompt; longer prompts"

    class Params(Options):
        """Options of retrieval.

        Attributes:
            top: Facts put before a prompt.
            memory: Facts in the memory at least; filled up from the support. 0: the requests alone. ``split``: all
                edits of the split, whichever of them the run takes; events know only this and 0.
            above: Only facts that score more are put; None: always ``top``.
            seed: Of the draw from the support.
        """

        top: int = Field(default=1, ge=1)
        memory: Annotated[int, Field(ge=0)] | Literal["split"] = 100
        above: float | None = 0.0
        seed: int = 0

    _support: tuple[Case, ...] = ()

    @classmethod
    @override
    def wants_support(cls, options: Mapping[str, Any]) -> bool:
        memory = options.get("memory", cls.Params.model_fields["memory"].default)
        return memory != "split" and bool(memory)

    @override
    def prepare(self, support: Sequence[Case]) -> None:
        self._support = tuple(support)

    @abstractmethod
    def index(self, texts: Sequence[str]) -> Index:
        """What finds the nearest of the memory's texts."""

    def matter(self, found: Sequence[tuple[EditRequest, str]]) -> list[bool]:
        """Of edits that were found for prompts, whether each is put before its prompt: all are, unless it says."""
        return [True] * len(found)

    def edit(self, requests: Sequence[EditRequest]) -> Edit:
        """An edit that looks every prompt up.

        Raises:
            UserError: events, and a memory that is filled with facts.
        """
        p, memory = self.params, self._remembered(check_requests(requests))
        index = self.made_for(memory, self.index)
        chosen: dict[str, list[int]] = {}

        def look_up(prompts: Sequence[str]) -> None:
            index.expect([question_of(prompt) for prompt in prompts])
            pairs = [(x, i) for x in prompts for i in nearest(index.scores(question_of(x)), p.top, above=p.above)]
            matters = self.matter([(memory[i], prompt) for prompt, i in pairs])
            chosen.update({prompt: [] for prompt in prompts})
            for (prompt, i), is_put in zip(pairs, matters, strict=True):
                chosen[prompt] += [i] if is_put else []

        def found(prompt: str) -> list[int]:
            if prompt not in chosen:
                look_up([prompt])
            return chosen[prompt]

        def find(prompt: str) -> str:
            return "".join(said_before(memory[i]) for i in reversed(found(prompt)))

        notes: dict[str, Any] = {"memory": len(memory)}
        facts, keys = [r for r in requests if isinstance(r, Fact)], {r.key for r in requests}
        if facts:
            hits = sum(any(memory[i].key in keys for i in found(r.fact_prompt)) for r in facts)
            notes["found_by_fact_prompt"] = hits / len(facts)
        return RetrievalEdit(notes, find, look_up)

    def _remembered(self, requests: Sequence[EditRequest]) -> Sequence[EditRequest]:
        """What the memory holds: the requests, and what fills it."""
        p = self.params
        if p.memory == "split":
            return self.with_split(requests)
        facts = [r for r in requests if isinstance(r, Fact)]
        if p.memory and len(facts) < len(requests):
            raise UserError(
                "a memory of events is not filled with facts",
                where=f"editors.{self.name}.params.memory",
                fix='set it to "split": all events of the split',
            )
        if not p.memory:
            return list(requests)
        return fill_memory(facts, self._support, size=p.memory, draw=p.seed, who=self.name)


class Bm25Retrieval(Retrieval):
    """Retrieval by words."""

    name: ClassVar[str] = "bm25"
    about: ClassVar[str] = "a memory of edits; each prompt is preceded by the nearest by words (BM25)"
    needs: ClassVar[str] = "support that fills the memory; the package bm25s"

    class Params(Retrieval.Params):
        """Options of BM25 retrieval: those of retrieval, and BM25's own.

        Attributes:
            k1: Saturation of a word's frequency.
            b: Weight of a text's length.
        """

        k1: float = Field(default=1.5, ge=0)
        b: float = Field(default=0.75, ge=0, le=1)

    params: Params

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {"words": "bm25s-en@1"}

    @override
    def index(self, texts: Sequence[str]) -> Index:
        return Bm25(texts, k1=self.params.k1, b=self.params.b)
