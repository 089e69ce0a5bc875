"""Which cases of a split a run takes, and in which order: drawn from the split's digest, the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from curation.splits.split_file import Split
from schemas.cases import FACT, AnyCase, Case
from schemas.core.errors import UserError
from schemas.core.ids import seed
from schemas.core.registry import suggest

FACT_KINDS = ("counterfactual", "temporal")
"""How an edited fact can change."""
ORDERS = {
    "drawn": "drawn from (split digest, case key); a larger limit keeps the cases of a smaller one",
    "scripts_first": "cases with scripts before all others, each part drawn from (split digest, case key)",
}
"""Orders of a run's cases, in words."""


def choose(
    split: Split,
    *,
    kinds: Iterable[str] = FACT_KINDS,
    limit: int | Mapping[Any, int] | None = None,
    order: str = "drawn",
    first: Sequence[str] = (),
) -> tuple[AnyCase, ...]:
    """The cases of a run, in an order drawn from (split digest, case): the same for every editor and machine.

    Args:
        split: The frozen split.
        kinds: Kinds of edit to take: how facts change, types and topics of events. ``FACT_KINDS`` means all of them in
            a split of any type.
        limit: So many cases, or so many of each kind named (others: none). A larger limit keeps the cases of a smaller.
        order: A name in ``ORDERS``.
        first: Keys of cases that come before all others, in their order; those that the split lacks are passed over.

    Raises:
        UserError: no case is left, or an edit can be of no such kind.
    """
    wanted = _known_kinds(split, kinds)
    by_kind = limit if isinstance(limit, Mapping) else {}
    _known_kinds(split, by_kind, where="limit")
    cases = [c for c in split.all_cases if c.group in wanted]
    cases.sort(key=lambda c: (seed(split.digest, c.key, "order"), c.key))
    if order == "scripts_first":
        cases = scripts_first(cases)
    place = {key: n for n, key in enumerate(first)}
    cases.sort(key=lambda c: place.get(c.key, len(place)))
    if isinstance(limit, int):
        cases = cases[:limit]
    elif limit is not None:
        cases = [c for kind in limit for c in [x for x in cases if x.group == kind][: limit[kind]]]
    if not cases:
        raise UserError(
            f"no case of the split '{split.name}' is of the kinds asked for ({', '.join(sorted(wanted))})",
            fix="loosen kinds or limit",
        )
    return tuple(cases)


def _known_kinds(split: Split, kinds: Iterable[str], *, where: str = "kinds") -> set[str]:
    """The kinds that are asked for.

    Raises:
        UserError: one that is neither a kind of change nor, in a split of events, there.
    """
    wanted = tuple(kinds)
    known = list(FACT_KINDS)
    if split.type != FACT:
        known = sorted({c.group for c in split.all_cases})
        if wanted == FACT_KINDS:
            return set(known)
    for kind in wanted:
        if kind not in known:
            near = suggest(kind, known)
            hint = f", did you mean '{near}'?" if near else ""
            raise UserError(
                f"no edit of the split '{split.name}' is of the kind '{kind}'{hint}",
                where=where,
                allowed=", ".join(known),
            )
    return set(wanted)


def has_scripts(case: AnyCase) -> bool:
    """Whether a case has script prompts or script questions."""
    return isinstance(case, Case) and bool(case.prompts or case.questions)


def scripts_first(cases: Sequence[AnyCase]) -> list[AnyCase]:
    """Cases with scripts before all others, each part in its order."""
    return sorted(cases, key=lambda case: not has_scripts(case))
