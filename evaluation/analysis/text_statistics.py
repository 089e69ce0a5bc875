"""What the texts of a run look like, counted apart: which object comes first, which at all, loops, format, length."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from evaluation.analysis.tables import FigureTable, Rate, head_of, rates
from evaluation.metrics.base import Normalisation, target_values
from evaluation.metrics.generation import Generation
from evaluation.metrics.text_level.base import text_of
from evaluation.metrics.text_level.probes import objects, rest_of_step, scripts_for
from evaluation.metrics.text_level.script_parser import (
    broken_rules,
    has_repetition,
    n_gram_entropy,
    names,
    parse,
    words,
)
from evaluation.metrics.token_level.s_es import SES
from evaluation.runs.frame import finished_cases
from evaluation.runs.generated_scripts import generation_of
from evaluation.runs.results import Run
from schemas.cases import Case
from schemas.scripts import ScriptPrompt

Place = Literal["script prompt", "question"]
PLACES: tuple[Place, ...] = ("script prompt", "question")
NAMED = (
    Rate("New first", "new"),
    Rate("Old first", "old"),
    Rate("Neither", "neither"),
    Rate("Both named", "mixed"),
    Rate("Repetition", "repetition"),
)
SHAPES = (
    Rate("Words", "words", scale=None),
    Rate("Steps", "steps", scale=None),
    Rate("Cut off, %", "cut_off"),
    Rate("Entropy, bits", "entropy", scale=None),
)
GAPS = (
    Rate("S-ES to S-ES-gen", "scored", less="new"),
    Rate("where the unedited model names the old object", "scored_known", less="new_known"),
)


def text_values(run: Run, place: Place) -> list[dict[str, Any]]:
    """Every text of a run's finished cases at one place: which object it names first, and what it looks like."""
    generation = generation_of(run)
    out = []
    for editor in run.editors:
        for case, answers in finished_cases(run, editor):
            for item, probe, prompt in _written_places(case, place, generation):
                written = text_of(answers.get(probe))
                if isinstance(written, str):
                    continue
                text, named = written.text, names(written.text, *objects(case, prompt))
                values = {"method": editor.label, "case": case.key, "place": place, "item": item, "text": written}
                values |= {kind: named.first == kind for kind in ("new", "old", "neither")}
                out.append({**values, "mixed": named.mixed, "repetition": has_repetition(text)})
    return out


def _written_places(case: Case, place: Place, generation: Generation) -> list[tuple[str, str, ScriptPrompt | None]]:
    if place == "question":
        return [(p.item, p.id, None) for p in scripts_for(case, generation)]
    return [(p.key, rest_of_step(case, p, generation).id, p) for p in case.prompts]


def script_preferences(run: Run, normalisation: Normalisation) -> dict[tuple[str, str, str], float]:
    """S-ES by method, case and script prompt."""
    out = {}
    for editor in run.editors:
        for case, answers in finished_cases(run, editor):
            for probe in SES().probes(case):
                values = target_values(probe, answers.get(probe.id), normalisation)
                if not isinstance(values, str):
                    out[editor.label, case.key, probe.item] = float(values[0] > values[1])
    return out


def text_tables(run: Run, normalisation: Normalisation) -> list[FigureTable]:
    """What probabilities promise and the text does not keep, which object is named first, length and format."""
    written = {place: text_values(run, place) for place in PLACES}
    out = []
    if gaps := _gaps(run, written["script prompt"], normalisation):
        caption = "S-ES asks which object is more probable, S-ES-gen which one is written; points, paired by case."
        heads = head_of(("Method",), "Prompts", GAPS)
        out.append(FigureTable("S-ES compared with the written text", heads, rates(gaps, ["method"], GAPS), caption))
    labels = [e.label for e in run.editors]
    both = sorted(written["script prompt"] + written["question"], key=lambda v: labels.index(v["method"]))
    if both:
        heads = head_of(("Method", "Place"), "Texts", NAMED)
        out.append(FigureTable("Which object is named first", heads, rates(both, ["method", "place"], NAMED)))
    if scripts := [_shape(v) for v in written["question"]]:
        rows = [(*row, _broken(scripts, row[0])) for row in rates(scripts, ["method"], SHAPES)]
        heads = (*head_of(("Method",), "Scripts", SHAPES), "Broken rules")
        out.append(FigureTable("Length and format of the scripts", heads, tuple(rows), folded=True))
    return out


def _gaps(run: Run, texts: list[dict[str, Any]], normalisation: Normalisation) -> list[dict[str, Any]]:
    """Prompts that have a score and a text; the second pair only where the unedited model names the old object."""
    scored = script_preferences(run, normalisation)
    known = {(t["case"], t["item"]) for t in texts if t["method"] == run.baseline.label and t["old"]}
    out = []
    for text in texts:
        score = scored.get((text["method"], text["case"], text["item"]))
        if score is not None:
            old = (text["case"], text["item"]) in known
            pair = {"scored_known": score if old else None, "new_known": text["new"] if old else None}
            out.append({**text, "scored": score, **pair})
    return out


def _shape(values: dict[str, Any]) -> dict[str, Any]:
    written = values["text"]
    shape: dict[str, Any] = {"words": len(words(written.text)), "steps": len(parse(written.text).steps)}
    shape |= {"cut_off": written.ended == "length", "broken": broken_rules(written.text, ended=written.ended)}
    return {**values, **shape, "entropy": n_gram_entropy(written.text, max_words=None)}


def _broken(scripts: list[dict[str, Any]], label: Any) -> str:
    counts = Counter(rule for s in scripts if s["method"] == label for rule in s["broken"])
    return "; ".join(f"{rule} {n}" for rule, n in counts.most_common()) or "none"
