"""The routing of a router over all events of some cases, without a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evaluation.analysis.events.routing import KINDS, Routing, Sent, routing_of
from schemas.cases import EventCase
from schemas.events.questions import Scope


def routings_by(label: str, cases: Sequence[EventCase], route: Callable[[str, str], int | None]) -> list[Routing]:
    """The routing of a router over all events of some cases, without a language model.

    Args:
        label: The method.
        cases: Events with questions; their events, in this order, are the memory.
        route: Of a question and its kind, the number of the event that it is sent to, or None.
    """
    out = []
    for kind in KINDS:
        seen: list[list[tuple[Scope, Sent]]] = []
        for number, case in enumerate(cases):
            sent = [(q.scope, route(q.text, kind)) for q in getattr(case, kind)]
            seen.append([(s, "none" if to is None else "own" if to == number else "other") for s, to in sent])
        if any(seen):
            out.append(routing_of(label, kind, seen))
    return out
