"""Near-duplicates: which items say nearly the same, who of them is preferred, and verdicts that say so.

Items are put in an order of preference, and each is measured against the items preferred to it. A verdict carries the
greatest such similarity and the item it was found with; it drops nothing. A split's rule that leaves out whatever is at
or above a threshold then keeps the most preferred item of every cluster and no two items that are near-duplicates, at
any threshold not below the one used here, and nothing has to be measured again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from curation.similarity.pairs import (
    EPSILON,
    Floats,
    Ints,
    SimilarPairs,
    check_threshold,
    cosine_pairs,
    encode,
    similar_pairs,
)
from curation.similarity.texts import TEXT_KINDS, TextItem, case_records, group_of, record_text, words
from curation.stats.estimates import components
from schemas.core.errors import UserError
from schemas.core.plain_text import plain_text
from schemas.core.registry import check_choice
from schemas.facts import Fact
from schemas.verdicts import Verdict, verdict_key

if TYPE_CHECKING:
    from curation.similarity.embeddings import Embedder
    from curation.store.store import Store
    from schemas.core.records import Record

Method = Literal["rouge1", "exact", "embedding"]
Prefer = Literal["key", "longest", "shortest", "judged"]
Within = Literal["all", "fact", "relation"]

METHODS: dict[str, str] = {  # method -> what is measured, in which unit
    "rouge1": "near_duplicate rouge1_f",
    "exact": "exact_duplicate equal_text",
    "embedding": "near_duplicate_embedding cosine",
}
THRESHOLDS = {"rouge1": 0.4, "exact": 1.0, "embedding": 0.9}
"""Defaults. ROUGE-1 0.4 is ELKEN's (appendix on augmenting events); cosine 0.9 is ours."""
SHORT_TEXTS = 0.7
"""ROUGE-1 for short texts, which share the subject and the small words whatever they ask."""


def default_threshold(method: str, kind: str) -> float:
    """From which similarity on items of a kind are compared where nothing is said.

    Example:
        >>> default_threshold("rouge1", "question"), default_threshold("rouge1", "script")
        (0.7, 0.4)
    """
    short = method == "rouge1" and kind in ("question", "fact")
    return SHORT_TEXTS if short else THRESHOLDS[method]


class Cluster(NamedTuple):
    """Items connected by near-duplicates, the one that stays first, and the greatest similarity inside."""

    members: tuple[TextItem, ...]
    greatest: float


class Duplicates(NamedTuple):
    """What was found.

    Attributes:
        items: All items, the most preferred first (their texts are on the disk); the arrays follow this order.
        best: Greatest similarity to a more preferred item, 0 where none reaches the threshold; shape (items,).
        partner: Number of that item, -1 where there is none.
        cluster: Number of the most preferred item that an item is connected with (its own where it stands alone).
        scope: ``near_duplicate`` with ``_in_fact`` or ``_in_relation`` where only a group was compared.
    """

    items: Sequence[TextItem]
    best: Floats
    partner: Ints
    cluster: Ints
    scope: str
    unit: str
    threshold: float
    method: str
    model: str | None = None

    @property
    def by(self) -> str:
        """The name under which the verdicts stand."""
        return f"{self.scope}@1"

    @property
    def duplicates(self) -> int:
        """Items that have a more preferred near-duplicate."""
        return int((self.partner >= 0).sum())

    @property
    def clustered(self) -> int:
        """Number of clusters of two or more."""
        return int((np.bincount(self.cluster) > 1).sum()) if len(self.cluster) else 0

    def clusters(self) -> Iterator[Cluster]:
        """Clusters of two or more, the largest first."""
        order = np.argsort(self.cluster, kind="stable")
        heads, starts, sizes = np.unique(self.cluster[order], return_index=True, return_counts=True)
        for n in np.lexsort((heads, -sizes)):
            if sizes[n] < 2:
                return
            members = order[starts[n] : starts[n] + sizes[n]]
            yield Cluster(tuple(self.items[i] for i in members), float(self.best[members].max()))

    def verdicts(self) -> Iterator[Verdict]:
        """One verdict an item: the measured similarity, or ``keep`` where nothing reaches the threshold."""
        number = "1 item" if len(self.items) == 1 else f"{len(self.items)} items"  # words of stored verdicts
        alone = f"nothing preferred to it reaches {self.unit} {self.threshold:g} among {number}"
        for item, best, partner in zip(self.items, self.best.tolist(), self.partner.tolist(), strict=True):
            key = verdict_key(item_id=item.id, by=self.by, model=self.model)  # without the partner: one verdict an item
            if partner < 0:
                yield Verdict(key=key, item_id=item.id, by=self.by, label="keep", reason=alone, model=self.model)
                continue
            other = self.items[partner]
            yield Verdict(
                key=key,
                item_id=item.id,
                by=self.by,
                label=None,
                reason=f"like '{other.key}', which is preferred",
                value=round(best, 6),
                unit=self.unit,
                model=self.model,
                related=(other.id,),
            )


def near_duplicates(
    items: Iterable[TextItem],
    *,
    method: Method = "rouge1",
    threshold: float | None = None,
    prefer: Prefer = "key",
    keeps: dict[str, int] | None = None,
    within: Within = "all",
    embedder: Embedder | None = None,
) -> Duplicates:
    """Compare items of a group with each other.

    Args:
        items: Each id once.
        method: ``rouge1`` compares words, ``exact`` the folded text, ``embedding`` the meaning. The time of ``rouge1``
            grows with the square of the number of texts.
        threshold: From which similarity on; the method's default where left out.
        prefer: Who represents: the first ``key``, the ``longest`` or ``shortest`` in words (then key), or the one with
            the most ``keeps`` (then key).
        keeps: Keep verdicts less drop verdicts, by item id.
        within: What the groups are; it goes into the verdicts' name.
        embedder: For ``embedding``; made on the spot where left out.

    Example:
        >>> items = [TextItem("1", "a", "How can I visit Peru?"), TextItem("2", "b", "How do I visit Peru?")]
        >>> found = near_duplicates(items)
        >>> found.duplicates, next(found.clusters()).members[0].key
        (1, 'a')
    """
    check_choice(method, METHODS, "method")
    check_choice(within, ("all", "fact", "relation"), "scope")
    threshold = THRESHOLDS[method] if threshold is None else threshold
    check_threshold(threshold)
    first: dict[str, Callable[[TextItem], int]] = {
        "key": lambda item: 0,
        "longest": lambda item: -len(words(item.text)),
        "shortest": lambda item: len(words(item.text)),
        "judged": lambda item: -(keeps or {}).get(item.id, 0),
    }
    check_choice(prefer, first, "preference")
    ordered = tuple(sorted(items, key=lambda item: (first[prefer](item), item.key, item.id)))
    scope, _, unit = METHODS[method].partition(" ")
    scope += "" if within == "all" else f"_in_{within}"
    pairs = _pairs(ordered, method=method, threshold=threshold, embedder=embedder, grouped=within != "all")
    best, partner, cluster = _collect(pairs, len(ordered))
    model = "all-MiniLM-L6-v2" if method == "embedding" else None
    return Duplicates(ordered, best, partner, cluster, scope, unit, threshold, method, model)


def store_items(
    store: Store, kind: str = "question", *, within: Within = "all", split: str | None = None
) -> Iterator[TextItem]:
    """The current records of a kind as items; with ``split``, those of its cases (not of their neighbours).

    A fact's text is its filled prompt with the old object, a script's are its steps.
    """
    if kind not in TEXT_KINDS:
        raise UserError(f"'{kind}' has no text to compare", allowed=", ".join(TEXT_KINDS))
    if split is not None:
        cases = store.open_split(split).cases
        relations = {c.fact.key: c.fact.relation.id for c in cases} if within == "relation" else {}
        records: Iterator[Record] = case_records(cases, kind)
    else:
        relations = {f.key: f.relation.id for f in store.all(Fact)} if within == "relation" else {}
        records = store.all(TEXT_KINDS[kind])
    for record in records:
        yield TextItem(record.id, record.key, record_text(record), group_of(record, within, relations))


def _pairs(
    items: Sequence[TextItem], *, method: Method, threshold: float, embedder: Embedder | None, grouped: bool
) -> Iterator[SimilarPairs]:
    if method == "exact":
        return _equal_texts(items)
    if method == "embedding":
        from curation.similarity.embeddings import Embedder

        vectors = (embedder or Embedder()).embed([i.text for i in items])
        return cosine_pairs(vectors, threshold=threshold, groups=[i.group for i in items] if grouped else None)
    rows = encode((i.text for i in items), groups=(i.group for i in items) if grouped else None)
    return similar_pairs(rows, threshold=threshold)


def _equal_texts(items: Sequence[TextItem]) -> Iterator[SimilarPairs]:
    first: dict[tuple[str, str], int] = {}
    pairs = [
        (head, n)
        for n, item in enumerate(items)
        if (head := first.setdefault((item.group, plain_text(item.text)), n)) < n
    ]
    if pairs:
        left, right = np.asarray(pairs, dtype=np.int64).T
        yield SimilarPairs(left, right, np.ones(len(pairs)))


def _collect(blocks: Iterable[SimilarPairs], count: int) -> tuple[Floats, Ints, Ints]:
    """Best similarity to a preferred item, who that is, and connected components; pairs are used and forgotten."""
    best, partner = np.zeros(count), np.full(count, -1, dtype=np.int64)
    cluster = np.arange(count, dtype=np.int64)
    for first, second, value in blocks:
        order = np.lexsort((-first, value))  # ascending: of one item's pairs the best, with the most preferred, is last
        i, j, v = first[order], second[order], value[order]
        last = np.full(count, -1, dtype=np.int64)
        last[j] = np.arange(len(j))
        at = last[last >= 0]
        i, j, v = i[at], j[at], v[at]
        better = (v > best[j] + EPSILON) | ((v > best[j] - EPSILON) & (i < partner[j]))
        best[j[better]], partner[j[better]] = v[better], i[better]
        cluster = components(count, cluster[first], cluster[second])[cluster]
    return best, partner, cluster
