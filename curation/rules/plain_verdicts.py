"""Which verdicts can decide nothing under a rule, by who gave them: they need not be read when a split is frozen."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np

from curation.rules.rule import SplitRule
from curation.store.block_reader import BlockReader
from schemas.raters import rater_of_verdict


class PlainVerdicts(NamedTuple):
    """Checks (``name@version``) of which some verdicts decide nothing.

    Attributes:
        kept: A ``keep`` of these does not: no threshold but those for clusters is on them, and there is no other
            version that it could outdo.
        measured: A value of these does not: it is for clusters only, which are settled apart.
    """

    kept: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()


def plain_verdicts(rule: SplitRule, named: Iterable[str], *, several: Collection[str]) -> PlainVerdicts:
    """The checks among those named whose verdicts ``curation.rules.rule.Verdicts`` would take in without a trace.

    Args:
        rule: The rule.
        named: Every ``by`` in the store.
        several: Checks with more than one version.

    Example:
        >>> plain_verdicts(SplitRule(), ["leak@1", "person:ann/filter@1"], several=())
        PlainVerdicts(kept=('leak@1',), measured=())
    """
    keep_checks, measured = [], []
    for by in named:
        if rater_of_verdict(by) is not None:
            continue
        bounds = [t for t in rule.thresholds if t.on(by, t.model)]
        apart = all(t.clusters and t.missing == "keep" and t.model is None for t in bounds)
        if apart and by.partition("@")[0] not in several:
            keep_checks.append(by)
        if apart and bounds:
            measured.append(by)
    return PlainVerdicts(tuple(keep_checks), tuple(measured))


class DecidedItems:
    """The items with a verdict that can decide something: 8 bytes of memory each.

    Args:
        store: The store.
        plain: Which verdicts decide nothing.
    """

    def __init__(self, store: BlockReader, plain: PlainVerdicts) -> None:
        numbers = store.items_with_verdicts(keep_checks=plain.kept, measured=plain.measured)
        self._numbers = np.sort(np.fromiter(map(_number, numbers), dtype=np.int64))

    def among(self, items: list[str]) -> list[str]:
        """Those of some items, in their order (and, once in a great many, one more)."""
        if not len(self._numbers):
            return []
        wanted = np.fromiter(map(_number, items), dtype=np.int64, count=len(items))
        place = np.minimum(np.searchsorted(self._numbers, wanted), len(self._numbers) - 1)
        return [item for item, met in zip(items, self._numbers[place] == wanted, strict=True) if met]


def _number(item: str) -> int:
    """The first 60 bits of an id, or of what stands in its place."""
    try:
        return int(item[:15], 16)
    except ValueError:
        return hash(item) >> 1
