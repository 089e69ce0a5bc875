"""Which half of the labelled scripts each belongs to: the rule by which the shipped file was divided."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from benchmarks.checks.script_benchmark import Half, LabelledScript


def halves_of(scripts: Sequence[LabelledScript]) -> dict[str, Half]:
    """Which half each script belongs to, by key.

    Scripts that share a subject or an old object stay together. Groups are taken from the largest down, of equals in
    the order of a hash of their keys, and each goes where its kinds are fewer.
    """
    groups: list[tuple[set[str], list[LabelledScript]]] = []
    for script in scripts:
        names = {f"s {script.subject.text.casefold()}", f"o {script.old.text.casefold()}"}
        met = [g for g in groups if g[0] & names]
        groups = [g for g in groups if not g[0] & names]
        groups.append((names.union(*(g[0] for g in met)), [*(s for g in met for s in g[1]), script]))
    counts: dict[Half, Counter[str]] = {"tuning": Counter(), "test": Counter()}
    where: dict[str, Half] = {}
    for _, group in sorted(groups, key=lambda g: (-len(g[1]), _group_hash(g[1]))):
        kinds = Counter(_stratum(s) for s in group)
        ahead = sum(n * (counts["tuning"][k] - counts["test"][k]) for k, n in kinds.items())
        ahead = ahead or counts["tuning"].total() - counts["test"].total()
        half: Half = "test" if ahead > 0 or (ahead == 0 and int(_group_hash(group), 16) % 2) else "tuning"
        counts[half].update(kinds)
        where |= {s.key: half for s in group}
    return where


def _stratum(script: LabelledScript) -> str:
    return f"{script.kind} {script.verdict} {script.hard}"


def _group_hash(group: Sequence[LabelledScript]) -> str:
    return hashlib.sha256(min(s.key for s in group).encode()).hexdigest()
