"""Every text that a run's models wrote: what was asked, before and after, whom it names, how it ended, ratings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evaluation.analysis.tables import FigureTable, Rate, rate_table
from evaluation.analysis.text_ratings import ASPECTS, RatedTexts, profile
from evaluation.engines.base import REWRITTEN, prompt_as_read
from evaluation.metrics.fact_texts import WRITTEN
from evaluation.metrics.generation import load_metrics
from evaluation.metrics.script_parser import INSTRUCTION, names
from evaluation.metrics.text_level import CONTINUED, QUESTION, objects, questions, read_thought
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


Entry = dict[str, Any]
"""One text, as the page and the viewer show it.

``case``: its key. ``place``: what it was asked for, a title of ``PLACES``. ``item``: the record that was asked about,
such as the key of the script question. ``asked``: the prompt as the case has it. ``method``, and ``label``: the same
with the number of the sample where several were drawn. ``edited``: whether an edit was active. ``text``: what was
written, raw. ``ended``: ``eos``, ``stop`` or ``length``; ``how_ended``: the same in words. ``tokens``: new tokens.
``first``: the object that the text names first, ``new``, ``old`` or ``neither``. ``chat``: whether the model's chat
template stood around the prompt. ``prompt``: what the model was given where the edit changed a script question; empty
elsewhere. ``ratings``: what raters said, those of people who decide between others left out; ``rated``: the same as
readers see them. ``thought``: what was thought before the answer; empty where nothing was. ``reading``: what the
thought names; None where nothing was thought. ``unfinished``: the thought has no end, so there is no answer.
"""


def answer_entries(run: Run, texts: RatedTexts | None = None) -> list[Entry]:
    """The texts of a run on facts, by case, place, prompt and method, the unedited model first."""
    cases, ratings = cases_by_key(run), _ratings(run, texts)
    order = {key: n for n, key in enumerate(cases)}
    places = {title: n for n, title in enumerate(PLACES.values())}
    entries = [e for editor in run.editors for e in _of_editor(run, editor, cases, ratings)]
    return sorted(entries, key=lambda e: (order[e["case"]], places.get(e["place"], len(places))))


def all_answers(run: Run, texts: RatedTexts | None) -> list[dict[str, Any]]:
    """Every script question of a run by case, with what every method answered; empty where no script was written.

    ``answers`` are texts, those of the unedited model first. ``prompt`` is what a model is given whose edit leaves
    prompts alone; ``chat``: the model's chat template stood around it.
    """
    cases = cases_by_key(run)
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in answer_entries(run, texts):
        if entry["place"] == PLACES[QUESTION]:
            groups[entry["case"], entry["item"]].append(entry)
    order = {key: n for n, key in enumerate(cases)}
    out = []
    for key, item in sorted(groups, key=lambda x: (order[x[0]], x[1])):
        shown = sorted(groups[key, item], key=lambda a: bool(a["edited"]))
        question = dict(questions(cases[key])).get(item, item)
        asked = {"case": cases[key], "question": question, "prompt": f"{INSTRUCTION}\n\n{question}"}
        out.append({**asked, "answers": shown, "chat": any(a["chat"] for a in shown)})
    return out


_ScriptPlace = tuple[str, str, str, int]  # label, case, question, sample


def _of_editor(
    run: Run, editor: EditorRun, cases: Mapping[str, Case], ratings: Mapping[_ScriptPlace, Sequence[Rating]]
) -> Iterator[Entry]:
    generation = generation_of(run)
    metrics = [m for m in load_metrics(run.about["metrics"], generation) if m.asks_for_texts]
    for key, result in editor.results.items():
        case = asked_case(cases[key], editor.manifest.components)
        answers = answers_by_probe(result.answers)
        text_probes = {p.id: p for m in metrics for p in m.probes(case) if isinstance(p, GenerateProbe)}
        for probe in text_probes.values():
            answer = answers.get(probe.id)
            if answer is not None and answer.written is not None:
                script = probe.purpose == QUESTION
                rated = ratings.get((editor.label, key, probe.item, probe.sample), ()) if script else ()
                about = {"method": editor.label, "edited": editor.label != run.baseline.label, "ratings": rated}
                yield _entry(case, probe, answer.written, _prompt_read(probe, result), about)


def _entry(case: Case, probe: GenerateProbe, written: GeneratedText, prompt: str, about: Mapping[str, Any]) -> Entry:
    cut = next((p for p in case.prompts if p.key == probe.item), None) if probe.purpose == CONTINUED else None
    pair, unfinished = objects(case, cut), written.unfinished
    sample = f", sample {probe.sample + 1}" if probe.sample else ""
    return {
        **about,
        "case": case.key,
        "place": PLACES.get(probe.purpose, probe.purpose),
        "item": probe.item,
        "asked": probe.prompt + probe.separator,
        "label": about["method"] + sample,
        "text": raw_text(written.text),
        "ended": written.ended,
        "how_ended": ENDED[written.ended] + (" within the thought: there is no answer" if unfinished else ""),
        "tokens": written.tokens,
        "first": names(written.text, *pair).first,
        "chat": bool(written.chat),
        "prompt": prompt,
        "rated": [
            {
                "rater": f"{r.rated_by.name} ({profile(r)})",
                "aspect": r.aspect.capitalize(),
                "value": "unscored" if r.value is None else f"{r.value} of 7",
                "reason": r.reason,
            }
            for r in about["ratings"]
        ],
        "thought": raw_text(written.thought or ""),
        "reading": read_thought(written, pair),
        "unfinished": unfinished,
    }


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
    return [rate_table("Thought and answer", values, ["place", "method"], "Texts", THOUGHTS, caption)]


def thought_values(entry: Entry) -> dict[str, Any]:
    """One text: whether a thought came before it, and what the thought names; None where there is nothing to say."""
    values = {name: entry[name] for name in ("place", "method", "case", "unfinished")}
    names = dict.fromkeys(("new", "old", "last_old", "words", "agrees", "hidden"))
    if (reading := entry["reading"]) is not None:
        names |= {"new": reading.names_new, "old": reading.names_old, "last_old": reading.last == "old"}
        names |= {"words": len(entry["thought"].split())}
        if reading.agrees is not None:
            names |= {"agrees": reading.agrees, "hidden": reading.last == "old" and reading.answer == "new"}
    return {**values, "thinking": reading is not None, **names}
