"""Routing: which event a method put before each question, from what the journal says that the model was given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from curation.stats.intervals import Interval
from evaluation.editors.in_context.retrieval import said_before
from evaluation.engines.base import REWRITTEN, prompt_as_read
from evaluation.metrics.event_choice import EventChoice
from evaluation.metrics.events.probes import choice_probes, fact_probe
from evaluation.metrics.generation import Generation
from evaluation.metrics.pooled import pooled_interval
from evaluation.runs.results import EditorRun, Run
from schemas.cases import EventCase
from schemas.events.questions import FactQuestion, TendencyQuestion
from schemas.runs import CaseResult


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
    how = Generation.from_description(run.about).events
    cases = {c.key: c for c in run.split.all_cases if isinstance(c, EventCase)}
    return [found for editor in run.editors for found in _of_editor(editor, cases, how)]


def _of_editor(editor: EditorRun, cases: Mapping[str, EventCase], how: EventChoice) -> Iterator[Routing]:
    done = {k: r for k, r in editor.results.items() if r.error is None and k in cases}
    if not any(REWRITTEN in r.notes for r in done.values()):
        return
    for kind in ("facts", "tendencies"):
        counts: dict[tuple[str, str], int] = {}
        sums: list[tuple[float, float]] = []
        for key, result in done.items():
            seen = [(q.scope, _sent(q, cases[key], result, how)) for q in getattr(cases[key], kind)]
            seen = [(scope, to) for scope, to in seen if to is not None]
            for one in seen:
                counts[one] = counts.get(one, 0) + 1  # type: ignore[index, arg-type]
            right = sum(to == ("own" if scope == "in" else "none") for scope, to in seen)
            sums += [(float(right), float(len(seen)))] if seen else []
        if sums:
            inside, outside = (
                RoutingCounts(*(counts.get((scope, to), 0) for to in ("own", "other", "none")))
                for scope in ("in", "out")
            )
            yield Routing(editor.label, kind, inside, outside, pooled_interval(sums))


def _sent(
    question: FactQuestion | TendencyQuestion, case: EventCase, result: CaseResult, how: EventChoice
) -> str | None:
    """``own``, ``other`` or ``none``; None where the question was not asked."""
    probe = fact_probe(question, how) if isinstance(question, FactQuestion) else choice_probes(question, how)[0]
    if all(a.probe != probe.id for a in result.answers):
        return None
    before = prompt_as_read(probe, result.notes).removesuffix(probe.prompt)
    if not before:
        return "none"
    return "own" if said_before(case.event) in before else "other"
