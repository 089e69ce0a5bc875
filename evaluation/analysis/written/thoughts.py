"""Models that think first: what their thoughts name, and whether the answer says what the thought came to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from curation.stats.bounded import SHARE, clustered_interval
from curation.stats.intervals import Interval
from evaluation.analysis.written.answer_entries import PLACES, AnswerEntry, answer_entries
from evaluation.metrics.text_level.thoughts import ThoughtReading
from evaluation.runs.generated_scripts import generation_of
from evaluation.runs.results import Run


class ThoughtRates(NamedTuple):
    """The thoughts of one method at one place. All shares are means of case means with intervals over cases.

    Attributes:
        label: The method.
        place: What was asked for: a title of ``PLACES``.
        texts: Texts written.
        thoughts: Those with a thought.
        thinking: Share of the texts with a thought.
        unfinished: Share of the texts whose thought has no end.
        new, old: Shares of the thoughts that name the object.
        last_old: Share of the thoughts that name the old object last.
        agrees: Of the answers that name an object after a thought that names one, the share that names first what the
            thought names last.
        hidden: Of the same, those that name the new object after a thought that came to the old one.
        compared: Their number.
        words: Words a thought.
    """

    label: str
    place: str
    texts: int
    thoughts: int
    thinking: Interval
    unfinished: Interval
    new: Interval
    old: Interval
    last_old: Interval
    agrees: Interval
    hidden: Interval
    compared: int
    words: Interval


def thought_rates(run: Run) -> list[ThoughtRates]:
    """Every method at every place at which texts were written; empty where the run asks for no thoughts."""
    if generation_of(run).choice.thought is None:
        return []
    entries, out = answer_entries(run), []
    for place in PLACES.values():
        for editor in run.editors:
            mine = [e for e in entries if e.place == place and method_of(e) == editor.label]
            if mine:
                out.append(_rates(editor.label, place, mine))
    return out


def method_of(entry: AnswerEntry) -> str:
    """The method's label without the number of a sample."""
    return entry.label.rpartition(", sample ")[0] or entry.label


def _rates(label: str, place: str, entries: Sequence[AnswerEntry]) -> ThoughtRates:
    thoughts = [(e, e.reading) for e in entries if e.reading is not None]
    both = [(e, r) for e, r in thoughts if r.agrees is not None]

    def share(pairs: Sequence[tuple[AnswerEntry, ThoughtReading]], holds: Callable[[ThoughtReading], bool]) -> Interval:
        return clustered_interval([float(holds(r)) for _, r in pairs], [e.case for e, _ in pairs], scale=SHARE)

    def of_all(holds: Callable[[AnswerEntry], bool]) -> Interval:
        return clustered_interval([float(holds(e)) for e in entries], [e.case for e in entries], scale=SHARE)

    return ThoughtRates(
        label,
        place,
        len(entries),
        len(thoughts),
        thinking=of_all(lambda e: e.reading is not None),
        unfinished=of_all(lambda e: e.unfinished),
        new=share(thoughts, lambda r: r.names_new),
        old=share(thoughts, lambda r: r.names_old),
        last_old=share(thoughts, lambda r: r.last == "old"),
        agrees=share(both, lambda r: bool(r.agrees)),
        hidden=share(both, lambda r: r.last == "old" and r.answer == "new"),
        compared=len(both),
        words=clustered_interval(
            [float(len(e.thought.split())) for e, _ in thoughts], [e.case for e, _ in thoughts], scale=None
        ),
    )
