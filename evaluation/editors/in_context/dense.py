"""Retrieval in context by meaning: a memory of edits, asked by sentence embeddings (as MeLLo's, Zhong et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override

from curation.files.artifact_cache import Cache
from curation.similarity.embeddings import encoder_identity
from evaluation.editors.in_context.bm25 import Retrieval
from evaluation.editors.in_context.retrieval import Dense, Index, Vectors, encoder_device
from evaluation.models.language_model import LM


class DenseRetrieval(Retrieval):
    """Retrieval by the cosine of sentence embeddings."""

    name: ClassVar[str] = "dense"
    about: ClassVar[str] = "a memory of edits; each prompt is preceded by the nearest by meaning (sentence embeddings)"
    needs: ClassVar[str] = "support that fills the memory; the embedding model all-MiniLM-L6-v2, or another encoder"
    costs: ClassVar[str] = "an embedding a prompt (some milliseconds); longer prompts"

    class Params(Retrieval.Params):
        """Options of dense retrieval: those of retrieval, and the encoder.

        Attributes:
            encoder: Folder of a sentence encoder whose vector is the mean over its tokens (E5, GTE ...); None:
                all-MiniLM-L6-v2.
            query_prefix: What stands before a prompt when it is encoded, such as ``query: `` of E5.
            passage_prefix: What stands before an edit, such as ``passage: ``.
        """

        encoder: str | None = None
        query_prefix: str = ""
        passage_prefix: str = ""

    params: Params

    def __init__(self, params: Any, lm: LM, cache: Cache) -> None:
        super().__init__(params, lm, cache)
        device = encoder_device(lm)
        self._texts = Vectors(params.encoder, prefix=params.passage_prefix, device=device)
        self._queries = Vectors(params.encoder, prefix=params.query_prefix, device=device)

    @property
    @override
    def components(self) -> Mapping[str, str]:
        return {"embedding": encoder_identity(self.params.encoder)}

    def index(self, texts: Sequence[str]) -> Index:
        """An index of embeddings; facts of the support are embedded once."""
        return Dense(texts, self._texts, queries=self._queries)
