"""The k nearest subjects of the same relation with another object: neighbours of temporal edits (ScEdit §3.2.2, Eq. 4).

As in WikiFactDiff (Ammar Khodja et al., 2024), nearness is that of the subjects: of their names and of what else the
table says of them. Neither object of the edit may be an object of the neighbour. Subjects are compared within their
relation only, a block of edits at a time, so memory does not grow with the square of the table.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from construction.neighbours.same_object import NeighbourCandidate, SubjectRow, names, norm
from schemas.core.errors import UserError
from schemas.facts import Fact

TFIDF, EMBEDDINGS, SOURCE = "tfidf", "embeddings", "source"


class VectorSpace(Protocol):
    """Makes unit vectors of texts, whose products are cosines."""

    measure: str

    def vectors(self, texts: Sequence[str]) -> Any:
        """One row a text, as a matrix of numpy or scipy."""
        ...


class CharacterTfidf:
    """TF-IDF over runs of 2 to 4 characters within words: "Lake Garda" is near "Lago di Garda". Needs no model."""

    measure = "cosine distance, TF-IDF of 2-4 characters"

    def vectors(self, texts: Sequence[str]) -> Any:
        """Sparse rows, scaled to length 1."""
        from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped, unused-ignore]

        return TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True).fit_transform(texts)


class Embeddings:
    """Sentence embeddings: all-MiniLM-L6-v2 from its package, or another model by folder or hub name.

    Args:
        model: Folder or hub name; the installed package where left out.

    Raises:
        UserError: there is no such model, or no package for it.
    """

    def __init__(self, model: str | None = None) -> None:
        from curation.similarity.embeddings import MODEL, Embedder

        called = MODEL if model is None else Path(model).name if Path(model).exists() else model
        self.measure = f"cosine distance, {called}"
        try:
            self._embedder = Embedder(None if model is None else Path(model))
        except (OSError, ValueError) as error:
            raise UserError(
                f"the sentence-embedding model '{model}' cannot be loaded: {str(error).splitlines()[0][:160]}",
                allowed=f"{TFIDF}, {EMBEDDINGS}, {SOURCE}, a folder, or the name of a model on the hub",
            ) from None

    def vectors(self, texts: Sequence[str]) -> Any:
        """Dense rows, scaled to length 1, in float64, so that the order does not depend on the size of a block."""
        place = {text: n for n, text in enumerate(dict.fromkeys(texts))}
        return self._embedder.embed(list(place))[[place[text] for text in texts]].astype("float64")


def space_of(name: str) -> VectorSpace:
    """The space that ``--neighbours-by`` names.

    Raises:
        UserError: there is no such model.
    """
    if name == TFIDF:
        return CharacterTfidf()
    return Embeddings(None if name == EMBEDDINGS else name)


DIGITS = 6  # of a distance; closer than that is a tie, which the keys decide
BLOCK = 2_000_000  # similarities held at once: 16 MB


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
    rows, texts = _rows(table), subject_texts([*table, *edits])
    by_relation: dict[str, list[Fact]] = defaultdict(list)
    for edit in sorted(edits, key=lambda edit: edit.relation.id):
        if edit.relation.id in rows:
            by_relation[edit.relation.id].append(edit)
    subjects = [_name(row.fact) for relation in by_relation for row in rows[relation]]
    drawn: dict[str, list[NeighbourCandidate]] = {edit.key: [] for edit in edits}
    if not subjects:
        return drawn
    place = {name: n for n, name in enumerate(dict.fromkeys([*subjects, *map(_name, edits)]))}
    vectors = space.vectors([texts[name] for name in place])
    for relation, some in by_relation.items():
        group = rows[relation]
        here = vectors[[place[_name(row.fact)] for row in group]]
        step = max(1, block // len(group))
        for start in range(0, len(some), step):
            part = some[start : start + step]
            near = vectors[[place[_name(edit)] for edit in part]] @ here.T
            for edit, cosines in zip(part, near.toarray() if hasattr(near, "toarray") else near, strict=True):
                drawn[edit.key] = list(islice(_in_order(edit, group, cosines, space.measure), k))
    return drawn


def _in_order(edit: Fact, group: Sequence[SubjectRow], cosines: Any, measure: str) -> Iterator[NeighbourCandidate]:
    """The rows that an edit may take, the nearest first; equally near ones as they stand, in order of their keys."""
    import numpy as np

    subject, objects = names(edit.subject), names(edit.old, edit.new)
    distances = np.round(np.maximum(0.0, 1.0 - cosines), DIGITS)
    for place in np.argsort(distances, kind="stable"):
        if group[place].fits(edit.key, subject, objects):
            yield NeighbourCandidate(group[place].fact, "near_subject", float(distances[place]), measure)


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


def _name(fact: Fact) -> tuple[str, str]:
    return fact.relation.id, norm(fact.subject.text)


def _rows(table: Iterable[Fact]) -> dict[str, list[SubjectRow]]:
    """The subjects of each relation, in order of the keys of the facts that stand for them."""
    groups: dict[str, dict[str, SubjectRow]] = defaultdict(dict)
    for fact in sorted(table, key=lambda f: f.key):
        row = groups[fact.relation.id].setdefault(norm(fact.subject.text), SubjectRow(fact, set(), set()))
        row.subject.update(names(fact.subject))
        row.objects.update(names(fact.old, fact.new if fact.change == "temporal" else None))
    return {relation: list(group.values()) for relation, group in groups.items()}
