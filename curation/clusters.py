"""Of every cluster of near-duplicates one item stays: the preferred one, unless it is out for another reason.

A similarity check leaves one verdict an item: how like it is to one that is preferred to it (``curation.dedup``).
Values out of a threshold's bounds link items to clusters. The item that stays is one that people keep, else the one
that nothing is preferred to (it has no such verdict), else the one with the smallest key, always among those that stand
by everything else the rule says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING

from curation.judging import Judged
from schemas.facts import Fact, Neighbour
from schemas.scripts import Script, ScriptPrompt, ScriptQuestion

if TYPE_CHECKING:
    from curation.rules import Ruling
    from curation.store import Store


def settle(store: Store, ruling: Ruling) -> None:
    """Settle every threshold with ``clusters`` in the order of the rule; what one takes out is out for the next."""
    verdicts = ruling.verdicts
    members = {i for edges in verdicts.edges for item, others in edges.items() for i in (item, *others)}
    if not members:
        return
    standing = _standing(store, ruling, members)
    saved = {i for i in members if verdicts.saved(i)}
    for threshold, edges in zip(ruling.rule.thresholds, verdicts.edges, strict=True):
        for group in _components(edges):
            here = [i for i in group if i in standing]
            if not here:
                continue
            stays = min(here, key=lambda i: (i not in saved, i in edges, standing[i], i))
            for item in here:
                if item != stays and item not in saved:
                    reason = f"in a cluster with '{standing[stays]}', which stays"
                    verdicts.settled[item] = Judged(threshold.then, threshold.check, reason)
        for item in verdicts.settled:
            standing.pop(item, None)


def _standing(store: Store, ruling: Ruling, members: Set[str]) -> dict[str, str]:
    """Keys of the members that everything else lets in, by id: with their question, script and fact in scope."""
    beside = {link.fact for link in store.all(Neighbour)}
    standing: dict[str, str] = {}
    out: set[str] = set()  # keys of facts, questions and scripts; they carry what hangs on them
    for fact in store.all(Fact):
        if ruling.of_fact(fact).outcome != "keep" or not (ruling.in_scope(fact) or fact.key in beside):
            out.add(fact.key)
        elif fact.id in members:
            standing[fact.id] = fact.key
    for question in store.all(ScriptQuestion):
        if question.fact in out or ruling.of(question).outcome != "keep":
            out.add(question.key)
        elif question.id in members:
            standing[question.id] = question.key
    for script in store.all(Script):
        if script.question in out or ruling.of(script).outcome != "keep":
            out.add(script.key)
        elif script.id in members:
            standing[script.id] = script.key
    for prompt in store.all(ScriptPrompt):
        parents = {prompt.fact, prompt.question, prompt.script}
        if prompt.id in members and not parents & out and ruling.of(prompt).outcome == "keep":
            standing[prompt.id] = prompt.key
    return standing


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
