"""What the dataset card of a split of events says: opening, counts, use, limits."""

from __future__ import annotations

import math
from collections.abc import Iterator

from curation.export.events.event_summary import EventSummary
from curation.splits.split_file import Split
from schemas.text.counting import counted

TAGS = ("knowledge-editing", "model-editing", "event-level-editing", "question-answering")
USE = (
    "For measuring whether an edited language model draws the consequences of an event: what has changed, what is no",
    "longer known, what is likely now, and what stays as it was. Not for training models or methods that are then",
    "measured with it, and not as a source of true facts: events need not have happened.",
)
_SCOPES = {"in": "in scope", "out": "out of scope"}


def opening_text(split: Split) -> str:
    """The first paragraph."""
    return (
        f"{counted(len(split.all_cases), 'case')} for evaluating event-level knowledge editing: each is one edit, an "
        "event in words, with questions about facts that it changes or leaves alone and about what is likely after "
        f"it. "
        f"Digest of the cases: `{split.digest}`."
    )


def count_rows(summary: EventSummary) -> list[tuple[str, int]]:
    """What is counted, and how much of it there is."""
    rows = [(f"events, {origin}", n) for origin, n in summary.origins.items()]
    rows += [("event types and topics", len(summary.types))]
    rows += [(f"factual questions {_SCOPES[scope]}", n) for scope, n in summary.facts.items()]
    rows += [("of those in scope: answer becomes unknown", summary.unknown)]
    rows += [("of those in scope: background knowledge needed", summary.background)]
    rows += [(f"tendency questions {_SCOPES[scope]}", n) for scope, n in summary.tendencies.items()]
    return rows


def count_lines(summary: EventSummary) -> Iterator[str]:
    """What stands below the counts."""
    type_counts = ", ".join(f"{name} {n:,}" for name, n in list(summary.types.items())[:8])
    yield f"Most frequent types and topics: {type_counts}."
    for scope, words in _SCOPES.items():
        counts = [f"{letter} {n:,}" for (of, letter), n in summary.letters.items() if of == scope]
        if counts:
            yield f"Right letters {words}: {', '.join(counts)}."


def limit_lines(split: Split, summary: EventSummary) -> Iterator[str]:
    """What a reader has to know before a figure is read."""
    cases = len(split.all_cases)
    half = 100 * 1.96 * math.sqrt(0.25 / cases)
    yield (
        f"- With {counted(cases, 'case')}, a share of whole events near one half has a 95 % interval of "
        f"±{half:.1f} points; questions of one event are no independent draws, so intervals are by event."
    )
    without_tendencies, without_facts = summary.bare
    if without_tendencies or without_facts:
        yield f"- Events without a tendency question: {without_tendencies:,}; without a factual one: {without_facts:,}."
    for scope, words in _SCOPES.items():
        letters = {letter: n for (of, letter), n in summary.letters.items() if of == scope}
        if letters and max(letters.values()) == sum(letters.values()) > 2:
            letter = next(iter(letters))
            yield f"- Every tendency question {words} has the right answer ({letter}): the letter tells the scope."
    if summary.from_store and not summary.people:
        yield "- No person has judged the items."
    yield "- Truth and dates are the sources'; languages of the texts are not recorded."
