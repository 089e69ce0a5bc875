"""A memory of edits: facts said in words; each prompt gets back the nearest, by words or by meaning."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache as remember
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from typing_extensions import override

from curation.similarity.embeddings import Embedder
from evaluation.editors.base import Editor
from evaluation.edits.edit import NoEdit
from schemas.cases import Case, EditRequest
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.documents.document import Document
from schemas.events.event import Event
from schemas.facts import Fact

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evaluation.models.language_model import LM


def statement(request: EditRequest) -> str:
    """The edit in words. Of a fact: fact prompt, one space, new object. Of an event or a document: its text.

    Raises:
        UserError: a fact has no new object.
    """
    if isinstance(request, Event | Document):
        return request.statement
    return f"{request.fact_prompt} {request.new_object.text}"


def said_before(request: EditRequest) -> str:
    """The edit as it stands before a prompt: a fact as a sentence, an event on a line of its own (ELKEN, Table 13).

    A document stands there with a blank line after it, between instruction and question (MULFE, Example 7).
    """
    if isinstance(request, Document):
        return f"{request.text}\n\n"
    return f"Event: {statement(request)}\n" if isinstance(request, Event) else f"{statement(request)}. "


class Index(Protocol):
    """Texts that can be asked how near they are to a query."""

    def expect(self, queries: Sequence[str]) -> None:
        """Told queries that will come, so that what is costly is done for all of them at once. Nothing, unless said."""
        return None

    def scores(self, query: str) -> NDArray[np.float64]:
        """One number a text, the greater the nearer, shape (texts,)."""
        ...


class Bm25(Index):
    """BM25 of words (Robertson & Zaragoza 2009; the package bm25s, Lucene's variant), English stop words left out.

    Args:
        texts: What is in the memory.
        k1: Saturation of a word's frequency.
        b: Weight of a text's length.
    """

    def __init__(self, texts: Sequence[str], *, k1: float = 1.5, b: float = 0.75) -> None:
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else JAX, which it starts, fills a GPU
        import bm25s

        logging.getLogger("bm25s").setLevel(logging.NOTSET)  # the package asks for DEBUG, whatever the program says
        self._split: Callable[[str], list[str]] = lambda text: bm25s.tokenize(
            [text], stopwords="en", return_ids=False, show_progress=False
        )[0]
        self._size = len(texts)
        words = [self._split(text) for text in texts]
        self._index: Any = None
        if any(words):
            self._index = bm25s.BM25(k1=k1, b=b)
            self._index.index(words, show_progress=False)

    def scores(self, query: str) -> NDArray[np.float64]:
        """BM25 scores, at least 0."""
        import numpy as np

        known = [w for w in self._split(query) if self._index is not None and w in self._index.vocab_dict]
        if not known:
            return np.zeros(self._size)
        return np.asarray(self._index.get_scores(known), dtype=np.float64)


class Tfidf(Index):
    """Cosine of TF-IDF vectors over words and pairs of words (scikit-learn).

    Args:
        texts: What is in the memory.
        stop_words: ``english`` leaves stop words out.
    """

    def __init__(self, texts: Sequence[str], *, stop_words: str | None = None) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self._vectoriser = TfidfVectorizer(
            ngram_range=(1, 2),
            token_pattern=r"(?u)\b\w+\b",
            sublinear_tf=True,
            stop_words=stop_words,
        )
        words = self._vectoriser.build_analyzer()
        self._size, self._rows = len(texts), None
        if any(words(text) for text in texts):  # stop words alone are no vocabulary
            self._rows = self._vectoriser.fit_transform(texts)

    def scores(self, query: str) -> NDArray[np.float64]:
        """Cosines, 0 to 1."""
        import numpy as np

        if self._rows is None:
            return np.zeros(self._size)
        return np.asarray((self._rows @ self._vectoriser.transform([query]).T).todense()).ravel()


class Vectors:
    """Sentence embeddings of texts, each computed once.

    Args:
        encoder: Folder of the encoder; None: all-MiniLM-L6-v2, as installed.
        prefix: What stands before each text when it is encoded ("query: ").
        device: Where the encoder computes, as torch names it.
    """

    def __init__(self, encoder: str | None = None, *, prefix: str = "", device: str = "cpu") -> None:
        self._known: dict[str, Any] = {}
        self._encoder, self._prefix, self._device = encoder, prefix, device

    def of(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (texts, dimensions): 384 of MiniLM."""
        import numpy as np

        if missing := [t for t in dict.fromkeys(texts) if t not in self._known]:
            vectors = _embedder(self._encoder, self._device).embed([self._prefix + t for t in missing])
            self._known.update(zip(missing, vectors, strict=True))
        return np.stack([self._known[t] for t in texts])


class Dense(Index):
    """Cosine of sentence embeddings.

    Args:
        texts: What is in the memory.
        vectors: Encodes the texts.
        queries: Encodes what is looked up, where it has another prefix.
    """

    def __init__(self, texts: Sequence[str], vectors: Vectors | None = None, *, queries: Vectors | None = None) -> None:
        vectors = vectors or Vectors()
        self._rows, self._queries = vectors.of(texts), queries or vectors

    @override
    def expect(self, queries: Sequence[str]) -> None:
        if queries:
            self._queries.of(queries)

    def scores(self, query: str) -> NDArray[np.float64]:
        """Cosines, -1 to 1."""
        import numpy as np

        return np.asarray(self._rows @ self._queries.of([query])[0], dtype=np.float64)


def nearest(scores: NDArray[np.float64], limit: int, *, above: float | None = None) -> list[int]:
    """Numbers of the nearest texts, nearest first; of equals the earlier. ``above``: only scores greater than that."""
    import numpy as np

    order = np.argsort(-scores, kind="stable")[:limit].tolist()
    return [i for i in order if above is None or scores[i] > above]


def fill_memory(requests: Sequence[Fact], support: Sequence[Case], *, size: int, draw: int, who: str) -> list[Fact]:
    """The facts of a memory: the requests, filled up to ``size`` with facts of the support, in an order of its own.

    Raises:
        UserError: the support is needed, and there is none.
    """
    short = size - len(requests)
    if short > 0 and not support:
        raise UserError(
            f"a memory of {size} facts holds {len(requests)} requests and is filled from declared cases: none are",
            where=who,
            fix=f'add support = "shipped" to the run, or set editors.{who}.params.memory = 0',
        )
    others = sorted((c.fact for c in support), key=lambda f: seed(str(draw), f.key, "memory"))[: max(short, 0)]
    return sorted([*requests, *others], key=lambda f: (seed(str(draw), f.key, "place"), f.key))


class MemoryEditor(Editor):
    """A method whose memory may hold all edits of the split, whichever of them the run takes (``memory = "split"``)."""

    params: Any
    _edits: tuple[EditRequest, ...] = ()
    _looked_up_in: tuple[tuple[str, ...], Any] | None = None

    @classmethod
    @override
    def wants_split(cls, options: Mapping[str, Any]) -> bool:
        return bool(options.get("memory", cls.Params.model_fields["memory"].default) == "split")

    @override
    def read_split(self, requests: Sequence[EditRequest]) -> None:
        self._edits = tuple(requests)

    def with_split(self, requests: Sequence[EditRequest]) -> list[EditRequest]:
        """All edits of the split in its own order, so that ties fall the same way, and the requests that it lacks."""
        known = {r.key for r in self._edits}
        return [*self._edits, *(r for r in requests if r.key not in known)]

    def made_for(self, memory: Sequence[EditRequest], make: Callable[[tuple[str, ...]], Any]) -> Any:
        """What looks prompts up in a memory; that of the split is made once."""
        texts = tuple(map(statement, memory))
        if self._looked_up_in is None or self._looked_up_in[0] != texts:
            self._looked_up_in = (texts, make(texts))
        return self._looked_up_in[1]


@dataclass(frozen=True)
class RetrievalEdit(NoEdit):
    """Before each prompt it puts what ``find`` finds for that prompt."""

    notes: Mapping[str, Any] = field(default_factory=dict)
    find: Callable[[str], str] = field(default=lambda prompt: "")
    look_up: Callable[[Sequence[str]], None] = field(default=lambda prompts: None)
    _seen: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def expect(self, prompts: Sequence[str]) -> None:
        """Told the prompts that will be asked: what finds for them may look at all of them at once."""
        self.look_up([prompt for prompt in dict.fromkeys(prompts) if prompt not in self._seen])

    @override
    def rewrite(self, prompt: str) -> str:
        if prompt not in self._seen:
            self._seen[prompt] = self.find(prompt)
        return self._seen[prompt] + prompt


def encoder_device(lm: LM) -> str:
    """Where a sentence encoder computes beside a model: on its GPU, if it has one."""
    return str(lm.device) if lm.device.type == "cuda" else "cpu"


@remember
def _embedder(encoder: str | None = None, device: str = "cpu") -> Embedder:
    return Embedder(None if encoder is None else Path(encoder).expanduser(), device=device)
