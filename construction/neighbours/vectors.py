"""Vectors of short texts: by the characters of their words (TF-IDF), or by a sentence-embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from schemas.core.errors import UserError

TFIDF, EMBEDDINGS, SOURCE = "tfidf", "embeddings", "source"


class VectorSpace(Protocol):
    """Makes unit vectors of texts, and compares them."""

    measure: str

    def vectors(self, table: Sequence[str], queries: Sequence[str]) -> tuple[Any, Any]:
        """Rows for the table's texts and for the queries' texts; what can be learnt is learnt from the table's."""
        ...

    def cosines(self, queries: Any, table: Any) -> Any:
        """Cosines, shape (queries, table), float64."""
        ...


class CharacterTfidf:
    """TF-IDF over runs of 2 to 4 characters within words: "Lake Garda" is near "Lago di Garda". Needs no model."""

    measure = "cosine distance, TF-IDF of 2-4 characters"

    def vectors(self, table: Sequence[str], queries: Sequence[str]) -> tuple[Any, Any]:
        """Sparse rows, scaled to length 1; most edits stand in the table and are not counted twice."""
        from scipy.sparse import vstack  # type: ignore[import-untyped, unused-ignore]
        from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped, unused-ignore]

        maker = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
        rows = maker.fit_transform(table)
        place = {text: n for n, text in enumerate(table)}
        new = [text for text in dict.fromkeys(queries) if text not in place]
        place |= {text: len(table) + n for n, text in enumerate(new)}
        known = vstack([rows, maker.transform(new)], format="csr") if new else rows
        return rows, known[[place[t] for t in queries]]

    def cosines(self, queries: Any, table: Any) -> Any:
        """Cosines of sparse rows."""
        return (queries @ table.T).toarray()


class Embeddings:
    """Sentence embeddings: all-MiniLM-L6-v2 from its package, or another model by folder or hub name.

    Args:
        model: Folder or hub name; the installed package where left out.

    Raises:
        UserError: there is no such model, or no package for it.
    """

    def __init__(self, model: str | None = None) -> None:
        from curation.similarity.embeddings import MODEL, Embedder

        self.measure = f"cosine distance, {MODEL if model is None else _short_name(model)}"
        try:
            self._embedder = Embedder(None if model is None else Path(model))
        except (OSError, ValueError) as error:
            raise UserError(
                f"the sentence-embedding model '{model}' cannot be loaded: {str(error).splitlines()[0][:160]}",
                allowed=f"{TFIDF}, {EMBEDDINGS}, {SOURCE}, a folder, or the name of a model on the hub",
            ) from None

    def vectors(self, table: Sequence[str], queries: Sequence[str]) -> tuple[Any, Any]:
        """Dense rows, scaled to length 1; a text that stands in both is embedded once."""
        texts = list(dict.fromkeys([*table, *queries]))
        place = {text: n for n, text in enumerate(texts)}
        rows = self._embedder.embed(texts)
        return rows[[place[t] for t in table]], rows[[place[t] for t in queries]]

    def cosines(self, queries: Any, table: Any) -> Any:
        """Cosines in float64, so that the order does not depend on the size of a block."""
        return queries.astype("float64") @ table.astype("float64").T


def space_of(name: str) -> VectorSpace:
    """The space that ``--neighbours-by`` names.

    Raises:
        UserError: there is no such model.
    """
    if name == TFIDF:
        return CharacterTfidf()
    return Embeddings(None if name == EMBEDDINGS else name)


def _short_name(model: str) -> str:
    return Path(model).name if Path(model).exists() else model
