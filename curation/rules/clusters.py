"""Of every cluster of near-duplicates one item stays: the preferred one, unless it is out for another reason.

A similarity check leaves one verdict an item: how like it is to one that is preferred to it
(``curation.overlap.near_duplicates``).
Values out of a threshold's bounds link items to clusters. The item that stays is one that people keep, else the one
that nothing is preferred to (it has no such verdict), else the one with the smallest key, always among those that stand
by everything else the rule says.

Memory holds the items that are in a cluster, by id and key; all else is read in portions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from curation.rules.rule import Decision, SplitRule, Threshold, Verdicts, counts
from curation.store.block_reader import FactHead
from schemas.core.records import Record
from schemas.facts import Fact
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict

if TYPE_CHECKING:
    from curation.store.store import Store

PORTION = 5000

Edges = dict[str, tuple[str, ...]]
"""Items that are out of a threshold's bounds, and what each is like."""


class SettledItems(Mapping[str, Decision]):
    """What becomes of the items that do not stay, by id; memory holds one entry a cluster beside the ids."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[Threshold, str]] = {}

    def take_out(self, items: Iterable[str], threshold: Threshold, stays: str) -> None:
        """Note that a threshold takes out items of the cluster in which the item with the key ``stays`` does."""
        cluster = threshold, stays
        self._of |= dict.fromkeys(items, cluster)

    def __getitem__(self, item: str) -> Decision:
        threshold, stays = self._of[item]
        return Decision(threshold.then, threshold.check, f"in a cluster with '{stays}', which stays")

    def __contains__(self, item: object) -> bool:
        return item in self._of

    def __iter__(self) -> Iterator[str]:
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)


class Decisions(Protocol):
    """What a rule says of records before clusters are settled (``curation.rules.selection.Ruling``).

    Attributes:
        rule: The rule.
        verdicts: The verdicts on the items it is over.
    """

    rule: SplitRule
    verdicts: Verdicts

    def over(self, items: Iterable[str]) -> Decisions:
        """The same with the verdicts on other items."""

    def of(self, record: Record | FactHead, *related: str) -> Decision:
        """The outcome for one record by itself."""

    def of_fact(self, fact: Fact | FactHead) -> Decision:
        """The outcome for a fact."""

    def in_scope(self, fact: Fact | FactHead) -> bool:
        """Whether the rule looks at a fact as an edit."""


def resolve_clusters(
    store: Store, ruling: Decisions, named: Iterable[str], *, items: Collection[str] | None = None
) -> SettledItems:
    """Settle every threshold with ``clusters`` in the order of the rule; what one takes out is out for the next.

    Args:
        store: The store.
        ruling: The rule over verdicts, nothing settled yet.
        named: Every ``by`` in the store.
        items: Settle only the clusters that these are in; None: all.

    Returns:
        What becomes of the items that do not stay, by id.
    """
    edges = _edges(store, ruling, named, items)
    members = {i for links in edges for item, others in links.items() for i in (item, *others)}
    standing, saved = _standing_members(store, ruling, sorted(members))
    settled = SettledItems()
    for threshold, links in zip(ruling.rule.thresholds, edges, strict=True):
        for group in _components(links):
            here = [i for i in group if i in standing]
            if not here:
                continue
            stays = min(here, key=lambda i: (i not in saved, i in links, standing[i], i))
            settled.take_out((i for i in here if i != stays and i not in saved), threshold, standing[stays])
        for item in settled:
            standing.pop(item, None)
    return settled


def _edges(store: Store, ruling: Decisions, named: Iterable[str], items: Collection[str] | None) -> list[Edges]:
    """For each threshold with clusters, what is linked: everything, or what is connected with some items."""
    thresholds = ruling.rule.thresholds
    by = [b for b in named if any(t.clusters and t.on(b, t.model) for t in thresholds)]
    edges: list[Edges] = [{} for _ in thresholds]
    one: dict[str, str] = {}  # one string for each id
    if items is None:
        _link(edges, store.links(by) if by else (), ruling, one)
        return edges
    known, fresh = set[str](), set(items)
    while by and fresh:
        met = list(store.links(by, fresh))
        known |= fresh
        linked: list[Edges] = [{} for _ in thresholds]
        _link(linked, met, ruling, one)
        for all_, some in zip(edges, linked, strict=True):
            all_ |= some
        fresh = {i for some in linked for item, others in some.items() for i in (item, *others)} - known
    return edges


def _link(edges: list[Edges], verdicts: Iterable[Verdict], ruling: Decisions, one: dict[str, str]) -> None:
    for verdict in verdicts:
        if verdict.value is None or not counts(ruling.rule, verdict.by, verdict.model):
            continue
        for threshold, links in zip(ruling.rule.thresholds, edges, strict=True):
            if threshold.clusters and threshold.on(verdict.by, verdict.model) and threshold.out(verdict.value):
                item, *others = (one.setdefault(i, i) for i in (verdict.item_id, *verdict.related))
                links[item] = (*links.get(item, ()), *others)


def _standing_members(store: Store, ruling: Decisions, members: Sequence[str]) -> tuple[dict[str, str], set[str]]:
    """Keys of the members that everything else lets in, by id; and those that people keep whatever checks say."""
    standing: dict[str, str] = {}
    saved: set[str] = set()
    rest = iter(members)
    while portion := list(islice(rest, PORTION)):
        block = _ClusterBlock(store, ruling, portion)
        standing |= block.standing()
        saved |= {i for i in portion if block.ruling.verdicts.saved(i)}
    return standing, saved


class _ClusterBlock:
    """Some members with the question, script and fact that they depend on."""

    def __init__(self, store: Store, ruling: Decisions, ids: Collection[str]) -> None:
        kinds: tuple[type[Record], ...] = (Fact, ScriptQuestion, Script, ScriptPrompt)
        self._members = [record for kind in kinds for record in store.by_ids(kind, ids)]
        prompts = [r for r in self._members if isinstance(r, ScriptPrompt)]
        scripts = [r for r in self._members if isinstance(r, Script)]
        above = store.by_keys(Script, (p.script for p in prompts))
        self._scripts = {s.key: s for s in above}
        question_keys = [*(p.question for p in prompts), *(s.question for s in (*scripts, *above))]
        self._questions = {q.key: q for q in store.by_keys(ScriptQuestion, question_keys)}
        questions = [*self._questions.values(), *(r for r in self._members if isinstance(r, ScriptQuestion))]
        facts = store.fact_heads([*(p.fact for p in prompts), *(q.fact for q in questions)])
        self._facts = {f.key: f for f in facts}
        judged: list[Record] = [*self._members, *above, *self._questions.values()]
        self.ruling = ruling.over([*ids, *(r.id for r in judged), *(f.id for f in facts)])
        looked: list[Fact | FactHead] = [*facts, *(r for r in self._members if isinstance(r, Fact))]
        self._beside = store.beside({f.key for f in looked if not ruling.in_scope(f)})

    def standing(self) -> dict[str, str]:
        """Keys of the members that are not out, by id."""
        return {r.id: r.key for r in self._members if not self._is_out(r)}

    def _is_out(self, record: Record | FactHead | None) -> bool:
        """Whether a record, or what it hangs on, is out; what is not in the store takes nothing out."""
        if record is None:
            return False
        if isinstance(record, Fact | FactHead):
            seen = self.ruling.in_scope(record) or record.key in self._beside
            return not seen or self.ruling.of_fact(record).outcome != "keep"
        return self.ruling.of(record).outcome != "keep" or any(self._is_out(above) for above in self._ancestors(record))

    def _ancestors(self, record: Record) -> Iterator[Record | FactHead | None]:
        if isinstance(record, ScriptQuestion):
            yield self._facts.get(record.fact)
        elif isinstance(record, Script):
            yield self._questions.get(record.question)
        elif isinstance(record, ScriptPrompt):
            yield self._facts.get(record.fact)
            yield self._questions.get(record.question or "")
            yield self._scripts.get(record.script or "")


def _components(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Connected items; the result does not depend on the order of the edges.

    Example:
        >>> _components({"c": ["b"], "b": ["a"], "x": ["y"]})
        [['a', 'b', 'c'], ['x', 'y']]
    """
    head: dict[str, str] = {}

    def find(item: str) -> str:
        root = item
        while (up := head.setdefault(root, root)) != root:
            root = up
        while head[item] != root:
            head[item], item = root, head[item]
        return root

    for item, others in edges.items():
        for other in others:
            left, right = find(item), find(other)
            head[max(left, right)] = min(left, right)
    groups: dict[str, list[str]] = defaultdict(list)
    for item in sorted(head):
        groups[find(item)].append(item)
    return sorted(groups.values())
