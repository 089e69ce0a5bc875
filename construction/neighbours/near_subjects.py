"""The k nearest subjects of the same relation with another object: neighbours of temporal edits (ScEdit §3.2.2, Eq. 4).

As in WikiFactDiff (Ammar Khodja et al., 2024), nearness is that of the subjects: of their names and of what else the
table says of them. Neither object of the edit may be an object of the neighbour. Subjects are compared within their
relation only, a block of edits at a time, so memory does not grow with the square of the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from construction.neighbours.same_object import NeighbourCandidate, names, norm
from schemas.core.errors import UserError
from schemas.facts import Fact

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


DIGITS = 6  # of a distance; closer than that is a tie, which the keys decide
BLOCK = 2_000_000  # similarities held at once: 16 MB


class _SubjectRow(NamedTuple):
    """A subject of a relation: the fact that stands for it, its names, all objects that the table says it has."""

    fact: Fact
    subject: set[str]
    objects: set[str]


def nearest(
    edits: Sequence[Fact], table: Sequence[Fact], *, k: int, space: VectorSpace, block: int = BLOCK
) -> dict[str, list[NeighbourCandidate]]:
    """Up to ``k`` neighbour facts for each edit, the nearest first; equally near ones in order of their keys.

    Args:
        edits: Facts that are edited.
        table: All facts known; the edits may be among them.
        k: Neighbours an edit; fewer where the relation has fewer other subjects.
        space: Makes vectors of the subjects' texts.
        block: Similarities held at once.

    Returns:
        Neighbours with their distances (1 - cosine, rounded to 6 digits) by key of the edit, an entry for every edit.
    """
    import numpy as np

    drawn: dict[str, list[NeighbourCandidate]] = {edit.key: [] for edit in edits}
    groups, edits_of = _rows(table), _by_relation(edits)
    texts = subject_texts([*table, *edits])
    rows = [row for relation in edits_of for row in groups.get(relation, ())]
    if not rows:
        return drawn
    queries = [edit for relation in edits_of if groups.get(relation) for edit in edits_of[relation]]
    vectors, wanted = space.vectors([texts[_name(r.fact)] for r in rows], [texts[_name(e)] for e in queries])
    first = start = 0
    for relation in edits_of:
        group = groups.get(relation, [])
        if not group:
            continue
        index, here = _SubjectIndex(group), vectors[first : first + len(group)]
        step = max(1, block // len(group))
        for begin in range(0, len(edits_of[relation]), step):
            part = edits_of[relation][begin : begin + step]
            near = space.cosines(wanted[start + begin : start + begin + len(part)], here)
            for edit, row in zip(part, near, strict=True):
                row[index.barred(edit)] = -np.inf
                drawn[edit.key] = _choose_nearest(row, group, k=k, measure=space.measure)
        first, start = first + len(group), start + len(edits_of[relation])
    return drawn


def subject_texts(facts: Iterable[Fact]) -> dict[tuple[str, str], str]:
    """What is compared, by (relation, subject): the subject's names, and what facts of other relations say of it.

    The relation in question is left out: it is what differs between the edit and its neighbour.

    Example:
        >>> from schemas.facts import Entity, Object, Relation, Source
        >>> peru = dict(subject=Entity(text="Peru"), change="none", source=Source(name="me", licence="CC0"))
        >>> city = Fact(key="1", relation=Relation(id="P36"), prompt="{}'s city is", old=Object(text="Lima"), **peru)
        >>> coin = Fact(key="2", relation=Relation(id="P38"), prompt="{} pays in", old=Object(text="sol"), **peru)
        >>> subject_texts([city, coin])["P36", "peru"]
        'Peru. Peru pays in sol'
    """
    called: dict[str, dict[str, None]] = defaultdict(dict)
    statements: dict[str, dict[str, dict[str, None]]] = defaultdict(lambda: defaultdict(dict))
    for fact in sorted(facts, key=lambda f: f.key):
        subject = norm(fact.subject.text)
        called[subject].update(dict.fromkeys(fact.subject.names))
        statements[subject][fact.relation.id][f"{fact.fact_prompt} {fact.old.text}"] = None
    texts = {}
    for subject, relations in statements.items():
        for relation in relations:
            more = [line for other in sorted(relations) if other != relation for line in relations[other]]
            texts[relation, subject] = ". ".join([", ".join(called[subject]), *more])
    return texts


class _SubjectIndex:
    """Rows of a group by names of their subjects and by their objects: what an edit must not take."""

    def __init__(self, group: Sequence[_SubjectRow]) -> None:
        self._named: dict[str, list[int]] = defaultdict(list)
        self._having: dict[str, list[int]] = defaultdict(list)
        self._keys = {row.fact.key: place for place, row in enumerate(group)}
        for place, row in enumerate(group):
            for name in row.subject:
                self._named[name].append(place)
            for name in row.objects:
                self._having[name].append(place)

    def barred(self, edit: Fact) -> list[int]:
        places = [p for name in names(edit.subject) for p in self._named.get(name, ())]
        places += [p for name in names(edit.old, edit.new) for p in self._having.get(name, ())]
        return places + ([self._keys[edit.key]] if edit.key in self._keys else [])


def _name(fact: Fact) -> tuple[str, str]:
    return fact.relation.id, norm(fact.subject.text)


def _rows(table: Iterable[Fact]) -> dict[str, list[_SubjectRow]]:
    """The subjects of each relation, in order of the keys of the facts that stand for them."""
    groups: dict[str, dict[str, _SubjectRow]] = defaultdict(dict)
    for fact in sorted(table, key=lambda f: f.key):
        row = groups[fact.relation.id].setdefault(norm(fact.subject.text), _SubjectRow(fact, set(), set()))
        row.subject.update(names(fact.subject))
        row.objects.update(names(fact.old, fact.new if fact.change == "temporal" else None))
    return {relation: list(group.values()) for relation, group in groups.items()}


def _by_relation(edits: Iterable[Fact]) -> Mapping[str, list[Fact]]:
    by_relation: dict[str, list[Fact]] = defaultdict(list)
    for edit in edits:
        by_relation[edit.relation.id].append(edit)
    return {relation: by_relation[relation] for relation in sorted(by_relation)}


def _distance(cosine: float) -> float:
    return round(max(0.0, 1.0 - cosine), DIGITS)


def _choose_nearest(row: Any, group: Sequence[_SubjectRow], *, k: int, measure: str) -> list[NeighbourCandidate]:
    """The k rows of the highest cosine, ties by key: rows stand in order of their keys."""
    return [NeighbourCandidate(group[p].fact, "near_subject", d, measure) for d, p in sorted(_candidates(row, k))[:k]]


def _candidates(row: Any, k: int) -> Iterator[tuple[float, int]]:
    import numpy as np

    if k < len(row):
        bound = np.partition(row, len(row) - k)[len(row) - k] - 10.0**-DIGITS  # all that could tie with the last one
    else:
        bound = -np.inf
    for place in np.flatnonzero((row >= bound) & (row > -np.inf)):
        yield _distance(float(row[place])), int(place)
