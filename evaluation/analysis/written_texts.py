"""Every text that a run's models wrote: what was asked, before and after, whom it names, how it ended, ratings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evaluation.analysis.tables import FigureTable, Rate, head_of, rates
from evaluation.analysis.text_ratings import ASPECTS, RatedTexts, profile
from evaluation.engines.base import REWRITTEN, prompt_as_read
from evaluation.metrics.fact_texts import WRITTEN
from evaluation.metrics.generation import load_metrics
from evaluation.metrics.script_parser import INSTRUCTION, has_repetition, names
from evaluation.metrics.text_level import CONTINUED, QUESTION, ThoughtReading, objects, questions, read_thought
from evaluation.runs.generated_scripts import generation_of, scripts_of_run
from evaluation.runs.results import EditorRun, Run, answers_by_probe, cases_by_key
from evaluation.runs.validity_variants import asked_case
from schemas.answers import GeneratedText
from schemas.cases import Case
from schemas.core.errors import UserError
from schemas.probes import GenerateProbe
from schemas.ratings import Rating
from schemas.runs import CaseResult
from schemas.text.raw_text import raw_text

PLACES = {
    QUESTION: "script for a question",
    CONTINUED: "rest of a cut step",
    f"fact{WRITTEN}": "fact prompt",
    f"paraphrase{WRITTEN}": "paraphrase",
    f"neighbour{WRITTEN}": "neighbour prompt",
}
"""What a text was asked for, by the purpose of its probe, in the order shown."""
ENDED = {"eos": "ended by the model", "stop": "ended at a stop text", "length": "cut off at the token limit"}
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


class AnswerEntry(NamedTuple):
    """One text.

    Attributes:
        case: Key of the case.
        place: What it was asked for: a title of ``PLACES``.
        item: The record that was asked about, such as the key of the script question.
        asked: The prompt as the case has it.
        label: The method; with the number of the sample where several were drawn.
        edited: Whether an edit was in force.
        text: What was written, raw.
        ended: ``eos``, ``stop`` or ``length``.
        tokens: New tokens.
        first: The object that the text names first: ``new``, ``old``, or ``neither``.
        chat: Whether the model's chat template stood around the prompt.
        prompt: What the model was given where the edit changed a script question; empty elsewhere.
        ratings: What raters said, those of people who decide between others left out.
        thought: What was thought before the answer; empty where nothing was.
        reading: What the thought names; None where nothing was thought.
        unfinished: The thought has no end, so there is no answer.
    """

    case: str
    place: str
    item: str
    asked: str
    label: str
    edited: bool
    text: str
    ended: str
    tokens: int
    first: str
    chat: bool = False
    prompt: str = ""
    ratings: tuple[Rating, ...] = ()
    thought: str = ""
    reading: ThoughtReading | None = None
    unfinished: bool = False

    @property
    def how_ended(self) -> str:
        """How it ended, in words."""
        return ENDED[self.ended] + (" within the thought: there is no answer" if self.unfinished else "")

    @property
    def rated(self) -> list[dict[str, str]]:
        """The ratings as readers see them."""
        return [
            {
                "rater": f"{r.rated_by.name} ({profile(r)})",
                "aspect": r.aspect.capitalize(),
                "value": "unscored" if r.value is None else f"{r.value} of 7",
                "reason": r.reason,
            }
            for r in self.ratings
        ]


class AnsweredQuestion(NamedTuple):
    """A script question of a case with what every method answered, the unedited model first.

    ``prompt`` is what a model is given whose edit leaves prompts alone; ``chat``: the model's chat template stood
    around it.
    """

    case: Case
    question: str
    prompt: str
    answers: tuple[AnswerEntry, ...]
    chat: bool


class TextEnds(NamedTuple):
    """How the texts of some methods ended: at the token limit (some of these in a loop), or at a stop text."""

    texts: int
    cut_off: int
    loops: int
    stopped: int


def answer_entries(run: Run, texts: RatedTexts | None = None) -> list[AnswerEntry]:
    """The texts of a run on facts, by case, place, prompt and method, the unedited model first."""
    cases, ratings = cases_by_key(run), _ratings(run, texts)
    order = {key: n for n, key in enumerate(cases)}
    places = {title: n for n, title in enumerate(PLACES.values())}
    entries = [e for editor in run.editors for e in _of_editor(run, editor, cases, ratings)]
    return sorted(entries, key=lambda e: (order[e.case], places.get(e.place, len(places))))


def all_answers(run: Run, texts: RatedTexts | None) -> list[AnsweredQuestion]:
    """Every script of a run by case and question; empty where none was written."""
    cases = cases_by_key(run)
    groups: dict[tuple[str, str], list[AnswerEntry]] = defaultdict(list)
    for entry in answer_entries(run, texts):
        if entry.place == PLACES[QUESTION]:
            groups[entry.case, entry.item].append(entry)
    order = {key: n for n, key in enumerate(cases)}
    out = []
    for key, item in sorted(groups, key=lambda x: (order[x[0]], x[1])):
        answers, question = groups[key, item], dict(questions(cases[key])).get(item, item)
        shown = tuple(sorted(answers, key=lambda a: a.edited))
        chat = any(a.chat for a in answers)
        out.append(AnsweredQuestion(cases[key], question, f"{INSTRUCTION}\n\n{question}", shown, chat))
    return out


def text_ends(answers: Sequence[AnsweredQuestion], *, without: Collection[str] = ()) -> TextEnds:
    """Counts over all answers but those of some methods (all their samples)."""
    given = [a for q in answers for a in q.answers if not {a.label, method_of(a)} & set(without)]
    cut_off = [a for a in given if a.ended == "length"]
    loops = sum(has_repetition(a.text) for a in cut_off)
    return TextEnds(len(given), len(cut_off), loops, sum(a.ended == "stop" and not a.unfinished for a in given))


def method_of(entry: AnswerEntry) -> str:
    """The label without the number of the sample."""
    return entry.label.rpartition(", sample ")[0] or entry.label


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
                entry = _entry(case, probe, answer.written, editor.label)
                rated = ratings.get((editor.label, key, probe.item, probe.sample), ())
                yield entry._replace(
                    edited=editor.label != run.baseline.label,
                    prompt=_prompt_read(probe, result),
                    ratings=tuple(rated) if probe.purpose == QUESTION else (),
                )


def _entry(case: Case, probe: GenerateProbe, written: GeneratedText, label: str) -> AnswerEntry:
    prompt = next((p for p in case.prompts if p.key == probe.item), None) if probe.purpose == CONTINUED else None
    pair = objects(case, prompt)
    return AnswerEntry(
        case=case.key,
        place=PLACES.get(probe.purpose, probe.purpose),
        item=probe.item,
        asked=probe.prompt + probe.separator,
        label=label if not probe.sample else f"{label}, sample {probe.sample + 1}",
        edited=False,
        text=raw_text(written.text),
        ended=written.ended,
        tokens=written.tokens,
        first=names(written.text, *pair).first,
        chat=bool(written.chat),
        thought=raw_text(written.thought or ""),
        reading=read_thought(written, pair),
        unfinished=written.unfinished,
    )


def _prompt_read(probe: GenerateProbe, result: CaseResult) -> str:
    """What a model was given for a script question where the edit changed it; else empty."""
    if probe.purpose != QUESTION or REWRITTEN not in result.notes:
        return ""
    text = prompt_as_read(probe, result.notes)
    return "" if text == probe.prompt else f"{INSTRUCTION}\n\n{text}"


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
    for r in sorted(texts.ratings, key=lambda r: (ASPECTS.index(r.aspect), r.rated_by.is_judge, r.rater)):
        if r.item_id in places and r.rated_by.kind != "adjudicated":
            out[places[r.item_id]].append(r)
    return out


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
    values = {"place": entry.place, "method": method_of(entry), "case": entry.case, "unfinished": entry.unfinished}
    names = dict.fromkeys(("new", "old", "last_old", "words", "agrees", "hidden"))
    if (reading := entry.reading) is not None:
        names |= {"new": reading.names_new, "old": reading.names_old, "last_old": reading.last == "old"}
        names |= {"words": len(entry.thought.split())}
        if reading.agrees is not None:
            names |= {"agrees": reading.agrees, "hidden": reading.last == "old" and reading.answer == "new"}
    return {**values, "thinking": reading is not None, **names}
