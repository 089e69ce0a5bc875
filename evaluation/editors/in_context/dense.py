"""Retrieval in context by meaning: a memory of edits, asked by sentence embeddings (as MeLLo's, Zhong et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from curation.files.artifact_cache import Cache
from evaluation.editors.in_context.bm25 import Retrieval
from evaluation.editors.in_context.retrieval import Dense, Index, Vectors, index_components
from evaluation.models.language_model import LM


class DenseRetrieval(Retrieval):
    """Retrieval by the cosine of sentence embeddings."""

    name: ClassVar[str] = "dense"
    version: ClassVar[int] = 1
    about: ClassVar[str] = "a memory of edits; each prompt is preceded by the nearest by meaning (sentence embeddings)"
    needs: ClassVar[str] = "support that fills the memory; the embedding model all-MiniLM-L6-v2"
    costs: ClassVar[str] = "an embedding a prompt (some milliseconds); longer prompts"

    def __init__(self, params: Any, lm: LM, cache: Cache) -> None:
        super().__init__(params, lm, cache)
        self._vectors = Vectors()

    @property
    def components(self) -> Mapping[str, str]:
        """The embedding model."""
        return index_components("embedding")

    def index(self, texts: Sequence[str]) -> Index:
        """An index of embeddings; facts of the support are embedded once."""
        return Dense(texts, self._vectors)
