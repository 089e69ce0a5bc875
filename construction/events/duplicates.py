"""Of two events of topics that are too alike the later one goes (ELKEN §2.3: ROUGE-1 above 0.4)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from construction.events.defaults import THRESHOLD
from curation.similarity.pairs import EPSILON, encode, similar_pairs
from schemas.events.event import Event
from schemas.verdicts import Verdict, verdict_key

BY = "event_duplicate@1"


def duplicate_verdicts(events: Sequence[Event], *, threshold: float = THRESHOLD) -> list[Verdict]:
    """One verdict an event: ``drop`` where an earlier event that stays is more alike than the threshold.

    An event is compared with those that stay, in the given order; one that goes makes no other go.

    Args:
        events: In the order in which they were written.
        threshold: Two events whose ROUGE-1 F is above it are one.

    Raises:
        UserError: no threshold.
    """
    alike: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for pairs in similar_pairs(encode(event.text for event in events), threshold=threshold) if events else ():
        for first, second, value in zip(pairs.first, pairs.second, pairs.value, strict=True):
            if value > threshold + EPSILON:
                alike[int(second)].append((float(value), int(first)))
    stays: set[int] = set()
    verdicts = []
    for place, event in enumerate(events):
        before = [(value, other) for value, other in alike[place] if other in stays]
        value, nearest = max(before, default=(0.0, -1))
        if not before:
            stays.add(place)
        verdicts.append(_verdict(event, value, events[nearest] if before else None))
    return verdicts


def _verdict(event: Event, value: float, nearest: Event | None) -> Verdict:
    return Verdict(
        key=verdict_key(item_id=event.id, by=BY),
        item_id=event.id,
        by=BY,
        label="drop" if nearest else "keep",
        reason=f"too much like '{nearest.key}'" if nearest else "",
        value=round(value, 6) if nearest else None,
        unit="rouge1_f" if nearest else None,
        related=(nearest.id,) if nearest else (),
    )
