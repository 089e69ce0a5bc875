"""Texts of a run read in detail: free text after fact prompts step by step, and what the scripts look like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from evaluation.analysis.tables import FigureTable, Rate, rate_table
from evaluation.metrics.base import Answers, Normalisation, target_values
from evaluation.metrics.fact_texts import (
    PLACES,
    Place,
    argmax_probe,
    fact_prompts,
    read_answer,
    text_probe,
    wanted_and_other,
)
from evaluation.metrics.generation import Generation
from evaluation.metrics.script_parser import (
    broken_rules,
    has_repetition,
    n_gram_entropy,
    names,
    parse,
    words,
)
from evaluation.metrics.text_level import objects, rest_of_step, scripts_for, text_of
from evaluation.metrics.token_level import SES, plain
from evaluation.runs.frame import finished_cases, score_run
from evaluation.runs.generated_scripts import generation_of
from evaluation.runs.results import Run
from schemas.cases import Case
from schemas.scripts import ScriptPrompt

LONG = 3
"""Objects of so many tokens and more are one group."""
TITLES: dict[Place, str] = {
    "fact": "fact prompts",
    "paraphrase": "paraphrases",
    "neighbour": "neighbours (the wanted object is the old one)",
}
NAMED = (
    Rate("Written", "written"),
    Rate("First", "first"),
    Rate("Exact", "exact"),
    Rate("Other first", "other"),
    Rate("Neither", "neither"),
    Rate("Both", "both"),
    Rate("Degenerate", "degenerate"),
    Rate("Natural stop", "natural"),
)
STAGES = (
    Rate("Preferred", "preferred"),
    Rate("Argmax a token", "matched"),
    Rate("All tokens", "whole"),
    Rate("Begins", "begins"),
    Rate("Exact", "exact"),
    Rate("First", "first"),
)
LOSSES = (
    Rate("One rival or all words", "preferred", less="matched"),
    Rate("Teacher forcing", "matched", less="whole"),
    Rate("Other names", "whole", less="begins"),
    Rate("Stop", "begins", less="exact"),
    Rate("Matching rule", "first", less="exact"),
    Rate("In all", "preferred", less="first"),
)
"""What each stage takes away, paired by case."""
_BY_LENGTH = (Rate("Argmax a token", "matched"), Rate("All tokens", "whole"), Rate("First", "first"))


def prompt_values(run: Run, normalisation: Normalisation = "mean") -> list[dict[str, Any]]:
    """Every prompt of every method's finished cases, read in each way that the run asked; None where it did not."""
    generation = generation_of(run)
    return [
        {"place": place, "method": editor.label, **values}
        for place in PLACES
        for editor in run.editors
        for case, answers in finished_cases(run, editor)
        for values in _of_case(case, place, generation, answers, normalisation)
    ]


def _of_case(
    case: Case, place: Place, generation: Generation, answers: Answers, normalisation: Normalisation
) -> Iterator[dict[str, Any]]:
    for prompt in fact_prompts(case, place):
        values: dict[str, Any] = {"case": case.key, "neighbour": prompt.cluster, "written": 0.0}
        values |= {"preferred": None, "matched": None, "exact": None}
        both = plain(case, prompt.text, purpose=place, item=prompt.item)
        scores = target_values(both, answers.get(both.id), normalisation)
        if not isinstance(scores, str):
            new, old = scores
            values["preferred"] = old > new if place == "neighbour" else new > old
        argmax = answers.get(argmax_probe(case, prompt, place).id)
        target = argmax.targets[0] if argmax is not None and argmax.targets else None
        if target is not None and target.matched is not None:
            values["tokens"] = min(target.tokens, LONG)
            values["matched"] = target.matched / target.tokens
            values["whole"] = target.matched == target.tokens
        written = text_of(answers.get(text_probe(case, prompt, place, generation).id))
        if not isinstance(written, str):
            line = read_answer(written, *wanted_and_other(case, place))
            values |= {"written": 1.0, "exact": line.exact, "begins": line.begins, "both": line.mixed}
            values |= {"first": line.first == "new", "other": line.first == "old", "neither": line.first == "neither"}
            values |= {"degenerate": line.degenerate, "natural": line.natural}
        yield values


def asked_in_every_way(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The prompts with a probability, an argmax and a text."""
    return [v for v in values if None not in (v["preferred"], v["matched"], v["exact"])]


def written_fact_tables(run: Run, normalisation: Normalisation) -> list[FigureTable]:
    """At each place with texts: what they name, then the stages from a probability to a text."""
    out, values = [], prompt_values(run, normalisation)
    for place in PLACES:
        labels = {v["method"] for v in values if v["place"] == place and v["written"]}
        texts = [v for v in values if v["place"] == place and v["method"] in labels]
        if not texts:
            continue
        title, by = TITLES[place], ["method"]
        caption = "The first line of each text. First: the wanted object is named before the other one of the edit."
        out.append(rate_table(f"Free text: {title}", texts, by, "Prompts", NAMED, caption))
        if whole := asked_in_every_way(texts):
            caption = "Shares of the same prompts, from ahead of the other object to the whole answer."
            out.append(rate_table(f"From probability to text: {title}", whole, by, "Prompts", STAGES, caption))
            caption = "Differences of two stages in percentage points, paired by case."
            lost = f"What each stage takes away: {title}"
            out.append(rate_table(lost, whole, by, "Prompts", LOSSES, caption, folded=True))
            lengths = sorted(whole, key=lambda v: (v["method"], v["tokens"]))
            lengths = [v | {"tokens": f"{LONG} or more" if v["tokens"] == LONG else v["tokens"]} for v in lengths]
            title, by = f"By length of the wanted object: {title}", ["method", "tokens"]
            out.append(rate_table(title, lengths, by, "Prompts", _BY_LENGTH, folded=True))
    return out


TextPlace = Literal["script prompt", "question"]
TEXT_PLACES: tuple[TextPlace, ...] = ("script prompt", "question")
NAMED_FIRST = (
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


def text_values(run: Run, place: TextPlace) -> list[dict[str, Any]]:
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


def _written_places(case: Case, place: TextPlace, generation: Generation) -> list[tuple[str, str, ScriptPrompt | None]]:
    if place == "question":
        return [(p.item, p.id, None) for p in scripts_for(case, generation)]
    return [(p.key, rest_of_step(case, p, generation).id, p) for p in case.prompts]


def text_tables(run: Run, normalisation: Normalisation) -> list[FigureTable]:
    """What probabilities promise and the text does not keep, which object is named first, length and format."""
    written = {place: text_values(run, place) for place in TEXT_PLACES}
    out = []
    if gaps := _gaps(run, written["script prompt"], normalisation):
        caption = "S-ES asks which object is more probable, S-ES-gen which one is written; points, paired by case."
        out.append(rate_table("S-ES compared with the written text", gaps, ["method"], "Prompts", GAPS, caption))
    labels = [e.label for e in run.editors]
    both = sorted(written["script prompt"] + written["question"], key=lambda v: labels.index(v["method"]))
    if both:
        out.append(rate_table("Which object is named first", both, ["method", "place"], "Texts", NAMED_FIRST))
    if scripts := [_shape(v) for v in written["question"]]:
        table = rate_table("Length and format of the scripts", scripts, ["method"], "Scripts", SHAPES, folded=True)
        rows = tuple((*row, _broken(scripts, row[0])) for row in table.rows)
        out.append(table._replace(head=(*table.head, "Broken rules"), rows=rows))
    return out


def _gaps(run: Run, texts: list[dict[str, Any]], normalisation: Normalisation) -> list[dict[str, Any]]:
    """Prompts that have a score and a text; the second pair only where the unedited model names the old object."""
    metric = SES()
    scored = {
        (label, key, item.item): item.value
        for label, by_metric in score_run(run, [metric], normalisation).by_editor.items()
        for key, one in by_metric[metric.name].items()
        for item in one.items
    }
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
