"""A rule over a store's verdicts: what it says of one record, and which item of a cluster of near-duplicates stays.

A similarity check leaves one verdict an item: how like it is to one that is preferred to it
(``curation.overlap.near_duplicates``).
Values out of a threshold's bounds link items to clusters. The item that stays is one that people keep, else the one
that nothing is preferred to (it has no such verdict), else the one with the smallest key, always among those that
everything else in the rule keeps.

Memory holds the items that are in a cluster, by id and key; all else is read in portions.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy

from curation.rules.rule import (
    KEPT,
    Decision,
    EventRule,
    RequestRule,
    SplitRule,
    Verdicts,
    check_units,
    counts,
    matches,
)
from curation.similarity.pairs import components as connected
from curation.splits.errata import Errata
from curation.store.store import Store
from curation.store.writer import chunks
from schemas.core.records import Record
from schemas.core.registry import suggest
from schemas.documents.document import Document
from schemas.events.event import Event
from schemas.facts import Fact
from schemas.raters import rater_of_verdict
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion
from schemas.verdicts import Verdict

log = logging.getLogger(__name__)


class Ruling:
    """A rule over a store's verdicts, with near-duplicate clusters settled; ``over`` reads the verdicts on some items.

    Args:
        store: The store.
        rule: The rule.
        errata: Known faults; they outrank people.
        local: For some items only: ``over`` settles the clusters that they are in. Else all clusters are settled at
            once.
    """

    def __init__(self, store: Store, rule: SplitRule, *, errata: Errata | None = None, local: bool = False) -> None:
        self.rule, self.errata, self._store, self._local = rule, errata or Errata(), store, local
        self.named = store.judges()
        versions: dict[str, set[str]] = defaultdict(set)
        for by in self.named:
            check, _, version = by.rsplit("/", 1)[-1].partition("@")
            versions[check].add(version)
        self._several = {check for check, with_version in versions.items() if len(with_version) > 1}
        for name in dict.fromkeys(rule.named()):
            if not any(matches(by, name) for by in self.named):
                near = suggest(name, sorted(versions))
                hint = f"; did you mean '{near}'?" if near else ""
                log.warning("the rule names '%s', of which the store holds no verdict%s", name, hint)
        check_units(store.units(), rule)
        self._plain = plain_checks(rule, self.named, self._several)
        self._decided = None if local else store.decided_items(plain=self._plain)
        self.settled: Mapping[str, Decision] = {}
        self.verdicts = self._read(())
        self._clusters = any(t.clusters for t in rule.thresholds)
        if self._clusters and not local:
            self.settled = resolve_clusters(store, self)

    def over(self, items: Iterable[str]) -> Ruling:
        """The same ruling with the verdicts on other items."""
        copied = copy(self)
        wanted = list(dict.fromkeys(items))
        if self._clusters and self._local:
            copied._local = False
            copied.settled = resolve_clusters(self._store, copied, items=wanted)
        copied.verdicts = copied._read(wanted)
        return copied

    def _read(self, items: Sequence[str]) -> Verdicts:
        if self._decided is not None:
            items = [item for item in items if item in self._decided]
        verdicts = self._store.deciding_verdicts(items, plain=self._plain) if items else ()
        return Verdicts(verdicts, self.rule, several=self._several, settled=self.settled)

    def decide(self, record: Record, *related: str, beside: bool = False) -> Decision:
        """What becomes of one record by itself, or of a pair: errata first, then people, then checks and thresholds.

        Args:
            record: An erratum on the case of an edit is one on the edit.
            related: The other record of a pair.
            beside: Decide on a fact as a neighbour: checks and thresholds judge facts as edits.
        """
        if related:
            return self.verdicts.judge(record.kind, record.id, *related)
        is_edit = isinstance(record, Fact | Event | Document)
        erratum = self.errata.of(f"case/{record.key}", record.id) if is_edit else None
        if erratum := erratum or self.errata.of(record.key, record.id):
            return Decision("drop" if erratum.action == "drop" else "hold", "erratum", erratum.what)
        if beside:
            return self.verdicts.by_people(record.id) or KEPT
        decision = self.verdicts.judge(record.kind, record.id)
        wanted = self.rule.min_people if isinstance(self.rule, RequestRule) and not is_edit else 0
        if decision == KEPT and wanted > self.verdicts.number_of_people(record.id):
            return Decision("hold", "people", f"fewer than {wanted} people judged it")
        return decision

    def out_of_scope(self, edit: Record) -> str:
        """Why the rule does not look at a fact, event or document; empty where it does."""
        rule = self.rule
        if not edit.key.startswith(rule.prefix):
            return f"its key does not begin with '{rule.prefix}'"
        if isinstance(edit, Fact) and edit.change not in rule.changes:
            near = " (it can be a neighbour)" if edit.change == "none" else ""
            return f"its change is '{edit.change}', the rule takes {', '.join(rule.changes)}{near}"
        types = rule.types if isinstance(rule, EventRule) else None
        if isinstance(edit, Event) and types is not None and edit.type not in types:
            return f"its type is '{edit.type}', the rule takes {', '.join(types)}"
        return ""


def plain_checks(rule: SplitRule, named: Iterable[str], several: Iterable[str]) -> list[str]:
    """Checks whose ``keep`` verdicts decide nothing: no threshold is on them, and they have one version.

    Example:
        >>> plain_checks(SplitRule(), ["leak@1", "person:ann/filter@1"], ())
        ['leak@1']
    """
    checks = [by for by in named if rater_of_verdict(by) is None and by.partition("@")[0] not in several]
    return [by for by in checks if not any(matches(by, t.check) for t in rule.thresholds)]


Edges = dict[str, tuple[str, ...]]
"""Items that are out of a threshold's bounds, and what each is like."""


def resolve_clusters(store: Store, ruling: Ruling, *, items: Collection[str] | None = None) -> dict[str, Decision]:
    """Settle every threshold with ``clusters`` in the order of the rule; what one takes out is out for the next.

    Args:
        store: The store.
        ruling: The rule, nothing settled yet.
        items: Settle only the clusters that these are in; None: all.

    Returns:
        What becomes of the items that do not stay, by id.
    """
    edges = _edges(store, ruling, items)
    members = {i for links in edges for item, others in links.items() for i in (item, *others)}
    keys, saved = _kept_members(store, ruling, sorted(members))
    settled: dict[str, Decision] = {}
    for threshold, links in zip(ruling.rule.thresholds, edges, strict=True):
        for group in components(links):
            here = [i for i in group if i in keys and i not in settled]
            if not here:
                continue
            stays = min(here, key=lambda i: (i not in saved, i in links, keys[i], i))
            out = Decision(threshold.then, threshold.check, f"in a cluster with '{keys[stays]}', which stays")
            settled |= dict.fromkeys((i for i in here if i != stays and i not in saved), out)
    return settled


def _edges(store: Store, ruling: Ruling, items: Collection[str] | None) -> list[Edges]:
    """For each threshold with clusters, what is linked: everything, or what is connected with some items."""
    thresholds = ruling.rule.thresholds
    by = [b for b in ruling.named if any(t.clusters and t.on(b, t.model) for t in thresholds)]
    edges: list[Edges] = [{} for _ in thresholds]
    if items is None:
        _link(edges, store.links(by) if by else (), ruling)
        return edges
    known, fresh = set[str](), set(items)
    while by and fresh:
        known |= fresh
        _link(edges, list(store.links(by, fresh)), ruling)
        fresh = {i for some in edges for item, others in some.items() for i in (item, *others)} - known
    return edges


def _link(edges: list[Edges], verdicts: Iterable[Verdict], ruling: Ruling) -> None:
    for verdict in verdicts:
        if verdict.value is None or not counts(ruling.rule, verdict.by, verdict.model):
            continue
        for threshold, links in zip(ruling.rule.thresholds, edges, strict=True):
            if threshold.clusters and threshold.on(verdict.by, verdict.model) and threshold.out(verdict.value):
                others = dict.fromkeys((*links.get(verdict.item_id, ()), *verdict.related))
                links[verdict.item_id] = tuple(others)


def _kept_members(store: Store, ruling: Ruling, members: Iterable[str]) -> tuple[dict[str, str], set[str]]:
    """Keys of the members that everything else lets in, by id; and those that people keep whatever checks say."""
    keys: dict[str, str] = {}
    saved: set[str] = set()
    for portion in chunks(members):
        block = _ClusterBlock(store, ruling, portion)
        keys |= block.kept()
        saved |= {i for i in portion if block.ruling.verdicts.saved(i)}
    return keys, saved


class _ClusterBlock:
    """Some members with the question, script and fact that they depend on."""

    def __init__(self, store: Store, ruling: Ruling, ids: Collection[str]) -> None:
        kinds: tuple[type[Record], ...] = (Fact, ScriptQuestion, Script, ScriptPrompt)
        self._members = [record for kind in kinds for record in store.by_ids(kind, ids)]
        self._above: dict[tuple[str, str], Record] = {}
        level: list[Record] = self._members
        while level:
            wanted: dict[type[Record], set[str]] = defaultdict(set)
            for record in level:
                for kind, key in _ancestors(record):
                    if (kind.kind, key) not in self._above:
                        wanted[kind].add(key)
            level = [record for kind, keys in wanted.items() for record in store.by_keys(kind, keys)]
            self._above |= {(r.kind, r.key): r for r in level}
        judged = [*self._members, *self._above.values()]
        self.ruling = ruling.over([*ids, *(r.id for r in judged)])
        facts = {r.key for r in judged if isinstance(r, Fact) and ruling.out_of_scope(r)}
        self._beside = store.beside(facts)

    def kept(self) -> dict[str, str]:
        """Keys of the members that are not out, by id."""
        return {r.id: r.key for r in self._members if not self._is_out(r)}

    def _is_out(self, record: Record | None) -> bool:
        """Whether a record, or what it depends on, is out; what is not in the store takes nothing out."""
        if record is None:
            return False
        if self.ruling.decide(record).outcome != "keep":
            return True
        if isinstance(record, Fact):
            return bool(self.ruling.out_of_scope(record)) and record.key not in self._beside
        return any(self._is_out(self._above.get((kind.kind, key))) for kind, key in _ancestors(record))


def _ancestors(record: Record) -> Iterator[tuple[type[Record], str]]:
    """Kind and key of what a record depends on."""
    if isinstance(record, ScriptQuestion):
        yield Fact, record.fact
    elif isinstance(record, Script):
        yield ScriptQuestion, record.question
    elif isinstance(record, ScriptPrompt):
        yield Fact, record.fact
        if record.question is not None:
            yield ScriptQuestion, record.question
        if record.script is not None:
            yield Script, record.script


def components(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Connected items; the result does not depend on the order of the edges.

    Example:
        >>> components({"c": ["b"], "b": ["a"], "x": ["y"]})
        [['a', 'b', 'c'], ['x', 'y']]
    """
    names = sorted({i for item, others in edges.items() for i in (item, *others)})
    number = {name: n for n, name in enumerate(names)}
    pairs = [(number[item], number[other]) for item, others in edges.items() for other in others]
    first, second = zip(*pairs, strict=True) if pairs else ((), ())
    groups: dict[int, list[str]] = defaultdict(list)
    for name, head in zip(names, connected(len(names), first, second).tolist(), strict=True):
        groups[head].append(name)
    return list(groups.values())
