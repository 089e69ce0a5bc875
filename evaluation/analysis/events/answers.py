"""What a run on events shows beside its metrics: routing, the answer "unknown", locality next to the placebo's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from evaluation.analysis.tables import DELTA, FigureTable, Rate, head_of, rates
from evaluation.editors.in_context.retrieval import said_before
from evaluation.engines.base import REWRITTEN, prompt_as_read
from evaluation.metrics.base import Metric
from evaluation.metrics.event_choice import EventChoice
from evaluation.metrics.events.facts import EventFactLocality
from evaluation.metrics.events.letters import EventLetterLocality
from evaluation.metrics.events.open_answers import EventOpenLocality
from evaluation.metrics.events.probes import choice_probes, fact_probe, letter_probe, open_probe
from evaluation.metrics.events.reading import says_unknown, short_answer
from evaluation.metrics.events.tendencies import EventChoiceLocality
from evaluation.metrics.generation import Generation
from evaluation.runs.frame import Scores, finished_cases
from evaluation.runs.results import Run
from schemas.cases import EventCase
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.probes import Probe
from schemas.runs import CaseResult

KINDS = ("facts", "tendencies")
Sent = Literal["own", "other", "none"]
"""Where a question is sent: the edited event, another one, none."""
PLACEBO = "placebo"
_LOCALITY = (EventFactLocality, EventChoiceLocality, EventLetterLocality, EventOpenLocality)
ROUTING = (
    Rate("In scope: right event", "own"),
    Rate("another", "other"),
    Rate("none", "lost"),
    Rate("Out of scope: none", "outside"),
    Rate("Accuracy", "right"),
)
UNKNOWN = (Rate("Precision", "precision"), Rate("Recall", "recall"), Rate("Answered so", "said"))


def routing_value(method: str, kind: str, case: str, scope: str, sent: Sent) -> dict[str, Any]:
    """One question as the table of routing counts it: where it was sent, and whether it belongs there."""
    inside = scope == "in"
    shares = {"own": sent == "own", "other": sent == "other", "lost": sent == "none"} if inside else {}
    outside = None if inside else sent == "none"
    values = {"own": None, "other": None, "lost": None, "outside": outside, **shares}
    return {"method": method, "kind": kind, "case": case, **values, "right": bool(outside or shares.get("own"))}


def routing_values(run: Run) -> list[dict[str, Any]]:
    """Every question of every method that put something before a question; other methods send nothing anywhere."""
    choice = Generation.from_description(run.about).events
    out = []
    for editor in run.editors:
        done = [(case, editor.results[case.key]) for case, _ in finished_cases(run, editor)]
        if not any(REWRITTEN in result.notes for _, result in done):
            continue
        for kind in KINDS:
            for case, result in done:
                for question in getattr(case, kind):
                    if (sent := _sent(question, case, result, choice)) is not None:
                        out.append(routing_value(editor.label, kind, case.key, question.scope, sent))
    return out


def _sent(
    question: FactQuestion | TendencyQuestion, case: EventCase, result: CaseResult, choice: EventChoice
) -> Sent | None:
    """Where a question was sent; None where it was not asked."""
    if isinstance(question, FactQuestion):
        probes: list[Probe] = [fact_probe(question, choice)]
    else:  # by choice, else in the model's own words: a question is looked up without its options
        probes = [choice_probes(question, choice)[0], letter_probe(question, choice), open_probe(question, choice)]
    asked = {a.probe for a in result.answers}
    probe = next((p for p in probes if p.id in asked), None)
    if probe is None:
        return None
    before = prompt_as_read(probe, result.notes).removesuffix(probe.prompt)
    if not before:
        return "none"
    return "own" if said_before(case.event) in before else "other"


def unknown_values(run: Run) -> list[dict[str, Any]]:
    """Every factual question that a method answered: whether it says "unknown", and whether that has become right."""
    choice = Generation.from_description(run.about).events
    out = []
    for editor in run.editors:
        for case, answers in finished_cases(run, editor):
            for question in case.facts:
                text = short_answer(answers.get(fact_probe(question, choice).id))[0]
                if text is not None:
                    said, right = says_unknown(text, choice), question.unknown
                    shares = {"precision": right if said else None, "recall": said if right else None}
                    out.append({"method": editor.label, "case": case.key, "said": said, **shares})
    return out


def event_tables(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[FigureTable]:
    """The tables of a run on events; those without a row are left out."""
    routing = rates(routing_values(run), ["method", "kind"], ROUTING, pooled=True)
    unknown = rates(unknown_values(run), ["method"], UNKNOWN, pooled=True)
    head = ("Method", "Metric", "Locality", "Placebo", f"{DELTA} to the placebo")
    tables = [
        FigureTable(
            "Routing: which event was put before each question",
            head_of(("Method", "Kind"), "Questions", ROUTING),
            routing,
            "A question in scope belongs to the edited event, one out of scope to none.",
        ),
        FigureTable(
            "Locality next to the placebo's",
            head,
            tuple(_next_to_placebo(run, scores, metrics)),
            "The placebo puts another event before each question: what it moves, any words before a question move.",
        ),
        FigureTable(
            "The answer “unknown”",
            head_of(("Method",), "Questions", UNKNOWN),
            unknown,
            "Precision: of the questions answered so, those whose answer has become unknown. Recall: the reverse.",
        ),
    ]
    return [table for table in tables if table.rows]


def _next_to_placebo(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[Any]:
    """Every method with edits under every metric of locality; empty where the run has no placebo."""
    placebo = next((e.label for e in run.editors[1:] if e.manifest.editor == PLACEBO), None)
    out = []
    for metric in metrics if placebo is not None else ():
        if not isinstance(metric, _LOCALITY):
            continue
        values = {
            e.label: metric.summarise(list(scores.by_editor[e.label][metric.name].values())).interval
            for e in run.editors[1:]
        }
        assert placebo is not None
        for label, value in values.items():
            if label != placebo and value.mean is not None and values[placebo].mean is not None:
                gap = scores.difference(label, placebo, metric, run.cases)
                out.append((label, metric.title, value, values[placebo], gap))
    return out
