"""Routing: which event a method put before each question, from what the journal says that the model was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from curation.stats.intervals import Interval
from evaluation.editors.in_context.retrieval import said_before
from evaluation.engines.base import REWRITTEN, prompt_as_read
from evaluation.metrics.event_choice import EventChoice
from evaluation.metrics.events.probes import choice_probes, fact_probe, letter_probe, open_probe
from evaluation.metrics.generation import Generation
from evaluation.metrics.pooled import pooled_interval
from evaluation.runs.results import EditorRun, Run
from schemas.cases import EventCase
from schemas.events.questions import FactQuestion, Scope, TendencyQuestion
from schemas.probes import Probe
from schemas.runs import CaseResult

KINDS = ("facts", "tendencies")
Sent = Literal["own", "other", "none"]
SENT: tuple[Sent, ...] = ("own", "other", "none")
"""Where a question is sent: the edited event, another one, none."""


class RoutingCounts(NamedTuple):
    """Questions of one kind and scope by what stood before them: the edited event, another one, none."""

    own: int = 0
    other: int = 0
    none: int = 0

    @property
    def questions(self) -> int:
        """All of them."""
        return self.own + self.other + self.none


class Routing(NamedTuple):
    """Where a method sent the questions of one kind.

    Attributes:
        label: The method.
        kind: ``facts`` or ``tendencies``.
        inside: Questions in scope, which belong to the edited event.
        outside: Questions out of scope, which belong to none.
        accuracy: Share of questions sent where they belong, pooled, with its interval by event.
    """

    label: str
    kind: str
    inside: RoutingCounts
    outside: RoutingCounts
    accuracy: Interval


def routings(run: Run) -> list[Routing]:
    """Every method that put something before a question, facts and tendencies apart; others send nothing anywhere."""
    choice = Generation.from_description(run.about).events
    cases = {c.key: c for c in run.split.all_cases if isinstance(c, EventCase)}
    return [routing for editor in run.editors for routing in _of_editor(editor, cases, choice)]


def _of_editor(editor: EditorRun, cases: Mapping[str, EventCase], choice: EventChoice) -> Iterator[Routing]:
    done = {k: r for k, r in editor.results.items() if r.error is None and k in cases}
    if not any(REWRITTEN in r.notes for r in done.values()):
        return
    for kind in KINDS:
        seen = []
        for key, result in done.items():
            sent = ((q.scope, _sent(q, cases[key], result, choice)) for q in getattr(cases[key], kind))
            seen.append([(scope, to) for scope, to in sent if to is not None])
        if any(seen):
            yield routing_of(editor.label, kind, seen)


def routing_of(label: str, kind: str, events: Iterable[Sequence[tuple[Scope, Sent]]]) -> Routing:
    """The routing of questions whose scope, and where they were sent, is known.

    Args:
        label: The method.
        kind: ``facts`` or ``tendencies``.
        events: Of every event its questions' scope and where each was sent.
    """
    counts: Counter[tuple[Scope, Sent]] = Counter()
    sums = []
    for questions in events:
        counts.update(questions)
        right = sum(sent == ("own" if scope == "in" else "none") for scope, sent in questions)
        sums += [(float(right), float(len(questions)))] if questions else []
    inside = RoutingCounts(*(counts["in", sent] for sent in SENT))
    outside = RoutingCounts(*(counts["out", sent] for sent in SENT))
    return Routing(label, kind, inside, outside, pooled_interval(sums))


def _sent(
    question: FactQuestion | TendencyQuestion, case: EventCase, result: CaseResult, choice: EventChoice
) -> Sent | None:
    """``own``, ``other`` or ``none``; None where the question was not asked."""
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
