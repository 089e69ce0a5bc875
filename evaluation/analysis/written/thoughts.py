"""Models that think first: what their thoughts name, and whether the answer says what the thought came to."""

from __future__ import annotations

from typing import Any

from evaluation.analysis.tables import FigureTable, Rate, head_of, rates
from evaluation.analysis.written.answer_entries import AnswerEntry, answer_entries
from evaluation.runs.generated_scripts import generation_of
from evaluation.runs.results import Run

THOUGHTS = (
    Rate("With a thought", "thinking"),
    Rate("Unfinished", "unfinished"),
    Rate("Words", "words", scale=None),
    Rate("New in thought", "new"),
    Rate("Old in thought", "old"),
    Rate("Old last", "last_old"),
    Rate("Agrees", "agrees"),
    Rate("Hidden", "hidden"),
)


def thought_tables(run: Run) -> list[FigureTable]:
    """Every method at every place at which texts were written; empty where the run asks for no thoughts."""
    if generation_of(run).choice.thought is None:
        return []
    labels = [e.label for e in run.editors]
    values = [thought_values(entry) for entry in answer_entries(run)]
    places = list(dict.fromkeys(v["place"] for v in values))
    values.sort(key=lambda v: (places.index(v["place"]), labels.index(v["method"])))
    caption = (
        "Agrees: the answer names first what the thought names last. "
        "Hidden: the thought comes to the old object and the answer names the new one."
    )
    heads = head_of(("Place", "Method"), "Texts", THOUGHTS)
    return [FigureTable("Thought and answer", heads, rates(values, ["place", "method"], THOUGHTS), caption)]


def thought_values(entry: AnswerEntry) -> dict[str, Any]:
    """One text: whether a thought came before it, and what the thought names; None where there is nothing to say."""
    method = entry.label.rpartition(", sample ")[0] or entry.label
    values = {"place": entry.place, "method": method, "case": entry.case, "unfinished": entry.unfinished}
    names = dict.fromkeys(("new", "old", "last_old", "words", "agrees", "hidden"))
    if (reading := entry.reading) is not None:
        names |= {"new": reading.names_new, "old": reading.names_old, "last_old": reading.last == "old"}
        names |= {"words": len(entry.thought.split())}
        if reading.agrees is not None:
            names |= {"agrees": reading.agrees, "hidden": reading.last == "old" and reading.answer == "new"}
    return {**values, "thinking": reading is not None, **names}
