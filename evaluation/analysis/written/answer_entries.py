"""Every text that runs' models wrote, to look through: what was asked, before and after, whom it names, ratings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from evaluation.analysis.text_ratings import RatedTexts
from evaluation.metrics.fact_texts.probes import WRITTEN
from evaluation.metrics.text_level.probes import CONTINUED, QUESTION, objects
from evaluation.metrics.text_level.script_parser import names
from evaluation.metrics.text_level.thoughts import ThoughtReading, read_thought
from evaluation.runs.generated_scripts import generation_of, scripts_of_run
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import EditorRun, Run, answers_by_probe, cases_by_key
from evaluation.runs.validity_variants import asked_case
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe
from schemas.ratings import Rating
from schemas.text.raw_text import raw_text

PLACES = {
    QUESTION: "script for a question",
    CONTINUED: "rest of a cut step",
    f"fact{WRITTEN}": "fact prompt",
    f"paraphrase{WRITTEN}": "paraphrase",
    f"neighbour{WRITTEN}": "neighbour prompt",
}
"""What a text was asked for, by the purpose of its probe, in the order shown."""


class AnswerEntry(NamedTuple):
    """One text.

    Attributes:
        case: Key of the case.
        place: What it was asked for: a title of ``PLACES``.
        asked: The prompt as the case has it.
        label: The method; with the number of the sample where several were drawn.
        edited: Whether an edit was in force.
        text: What was written, raw.
        ended: ``eos``, ``stop`` or ``length``.
        tokens: New tokens.
        first: The object that the text names first: ``new``, ``old``, or ``neither``.
        ratings: What raters said: (rater, aspect, value or None).
        thought: What was thought before the answer; empty where nothing was.
        reading: What the thought names; None where nothing was thought.
        unfinished: The thought has no end, so there is no answer.
        disagreement: Greatest distance, over aspects, between the means of people and of judges; None without both.
    """

    case: str
    place: str
    asked: str
    label: str
    edited: bool
    text: str
    ended: str
    tokens: int
    first: str
    ratings: tuple[tuple[str, str, int | None], ...] = ()
    disagreement: float | None = None
    thought: str = ""
    reading: ThoughtReading | None = None
    unfinished: bool = False


def answer_entries(run: Run, texts: RatedTexts | None = None) -> list[AnswerEntry]:
    """The texts of a run on facts, by case, place, prompt and method, the unedited model first."""
    cases, ratings = cases_by_key(run), _ratings(run, texts)
    order = {key: n for n, key in enumerate(cases)}
    places = {title: n for n, title in enumerate(PLACES.values())}
    entries = [e for editor in run.editors for e in _of_editor(run, editor, cases, ratings)]
    return sorted(entries, key=lambda e: (order[e.case], places.get(e.place, len(places))))


_ScriptPlace = tuple[str, str, str, int]  # label, case, question, sample


def _of_editor(
    run: Run, editor: EditorRun, cases: Mapping[str, Case], ratings: Mapping[_ScriptPlace, Sequence[Rating]]
) -> Iterator[AnswerEntry]:
    generation = generation_of(run)
    metrics = [m for m in load_metrics(run.about["metrics"], generation) if m.asks_for_texts]
    for key, result in editor.results.items():
        case = asked_case(cases[key], editor.manifest.components)
        answers = answers_by_probe(result.answers)
        text_probes = {p.id: p for m in metrics for p in m.probes(case) if isinstance(p, GenerateProbe)}
        for probe in text_probes.values():
            answer = answers.get(probe.id)
            if answer is not None and answer.written is not None:
                rated = ratings.get((editor.label, key, probe.item, probe.sample), ())
                edited = editor.label != run.baseline.label
                yield _entry(case, probe, answer.written, editor.label, edited=edited, rated=rated)


def _entry(
    case: Case, probe: GenerateProbe, written: GeneratedText, label: str, *, edited: bool, rated: Sequence[Rating]
) -> AnswerEntry:
    prompt = next((p for p in case.prompts if p.key == probe.item), None) if probe.purpose == CONTINUED else None
    rated, pair = rated if probe.purpose == QUESTION else (), objects(case, prompt)
    return AnswerEntry(
        case.key,
        PLACES.get(probe.purpose, probe.purpose),
        probe.prompt + probe.separator,
        label if not probe.sample else f"{label}, sample {probe.sample + 1}",
        edited,
        raw_text(written.text),
        written.ended,
        written.tokens,
        names(written.text, *pair).first,
        tuple((r.rated_by.name, r.aspect, r.value) for r in rated),
        disagreement(rated),
        raw_text(written.thought or ""),
        read_thought(written, pair),
        written.unfinished,
    )


def disagreement(ratings: Sequence[Rating]) -> float | None:
    """Greatest distance, over aspects, between the mean of people and the mean of judges; None without both."""
    values: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for rating in ratings:
        if rating.value is not None:
            values[rating.aspect][rating.rated_by.is_judge].append(rating.value)
    gaps = [abs(sum(p) / len(p) - sum(j) / len(j)) for p, j in values.values() if p and j]
    return max(gaps, default=None)


def _ratings(run: Run, texts: RatedTexts | None) -> dict[_ScriptPlace, list[Rating]]:
    """Ratings by the place of the script that they are of; those of people who decide between others left out."""
    if texts is None:
        return {}
    try:
        sources = scripts_of_run(run)
    except UserError:  # no script was asked for in this run
        return {}
    places = {s.script.id: (s.script.editor, s.script.case, s.script.question, s.script.sample) for s in sources}
    out: dict[_ScriptPlace, list[Rating]] = defaultdict(list)
    for rating in texts.ratings:
        if rating.item_id in places and rating.rated_by.kind != "adjudicated":
            out[places[rating.item_id]].append(rating)
    return out
