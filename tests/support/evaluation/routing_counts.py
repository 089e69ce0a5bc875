"""The routing of a router over all events of some cases, without a language model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from evaluation.analysis.events import KINDS, ROUTING, Sent, routing_value
from evaluation.analysis.tables import rates
from schemas.cases import EventCase


def routings_by(cases: Sequence[EventCase], route: Callable[[str, str], int | None]) -> dict[str, dict[str, Any]]:
    """The figures of a router over all events of some cases, by kind of question, under the heads of the report.

    Args:
        cases: Events with questions; their events, in this order, are the memory.
        route: Of a question and its kind, the number of the event that it is sent to, or None.
    """
    values = []
    for kind in KINDS:
        for number, case in enumerate(cases):
            for question in getattr(case, kind):
                to = route(question.text, kind)
                sent: Sent = "none" if to is None else "own" if to == number else "other"
                values.append(routing_value("", kind, case.key, question.scope, sent))
    rows = rates(values, ["kind"], ROUTING, pooled=True)
    heads = ("questions", *(column.head for column in ROUTING))
    return {str(kind): dict(zip(heads, figures, strict=True)) for kind, *figures in rows}
