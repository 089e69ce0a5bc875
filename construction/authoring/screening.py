"""What was dropped in the store: questions that people dropped get no scripts, and a dropped prompt is replaced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from construction.authoring.diversity import CHECK as CHOSEN
from construction.authoring.outcome import MARK
from construction.authoring.replacement import CHECK as REPLACED
from construction.checks import CHECKS
from construction.verifier.steps import READ, STEPS
from curation.rules.rule import SplitRule, Verdicts
from curation.store.store import Store
from schemas.verdicts import Verdict, verdicts_of_people

SCREEN = "screen_question"
"""The task of people whose verdicts on questions count here."""
SCREENED = (SCREEN, f"{SCREEN}_adjudicated")
OWN_CHECKS = frozenset(
    {*CHECKS.names(), *(step.check for step in STEPS.values()), READ.partition("@")[0], CHOSEN, REPLACED, MARK}
)
"""Checks whose verdicts construct makes itself, and makes again in every run."""


def dropped_in(store: Store) -> dict[str, Verdict]:
    """What people, readers and other checks dropped in a store, by content id, with a verdict that says why.

    A question among it gets no script; a prompt's place is taken by another question. People screen questions by a rule
    of their own.
    """
    others = [v for v in store.verdicts() if v.check not in OWN_CHECKS]
    later = dropped_later([v for v in others if not v.check.startswith(SCREEN)])
    return {**later, **dropped_by_people(others)}


def dropped_by_people(verdicts: Iterable[Verdict]) -> dict[str, Verdict]:
    """The questions that people dropped, by content id, with the verdict that says why.

    A lead's decision counts before all others; else more people must have dropped the question than kept it. Programs
    that stand in for people decide nothing.

    Example:
        >>> drop = Verdict(key="v/1", item_id="q", by="person:ann/screen_question@1", label="drop", reason="changes")
        >>> keep = Verdict(key="v/2", item_id="q", by="person:bob/screen_question@1", label="keep")
        >>> list(dropped_by_people([drop])), list(dropped_by_people([drop, keep]))
        (['q'], [])
    """
    said: dict[str, list[Verdict]] = defaultdict(list)
    for v in verdicts:
        rater = v.judged_by
        if rater is not None and not rater.is_program and v.label in ("keep", "drop") and v.check in SCREENED:
            said[v.item_id].append(v)
    out = {}
    for item in sorted(said):
        counting = verdicts_of_people(said[item])
        drops = [v for v in counting if v.label == "drop"]
        if 2 * len(drops) > len(counting):
            out[item] = min(drops, key=lambda v: v.key)
    return out


def dropped_later(verdicts: Sequence[Verdict]) -> dict[str, Verdict]:
    """What a default split leaves out for these verdicts, by content id, each with a verdict that drops it."""
    drops = [v for v in verdicts if v.label == "drop" and not v.related]
    said = Verdicts(verdicts, SplitRule())
    dropping = {v.item_id: v for v in sorted(drops, key=lambda v: v.key)}
    return {item: v for item, v in dropping.items() if said.judge("prompt", item).outcome == "drop"}
