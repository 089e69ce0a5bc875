"""Which unit of work also asks the shared questions of its state, and what becomes of their answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from evaluation.engines.base import REWRITTEN, JobResult
from evaluation.regimes.base import Regime, WorkUnit
from evaluation.runs.shared_probes.state_answers import UNEDITED, StateAnswers
from schemas.cases import AnyCase
from schemas.probes import ScoreProbe


class StateProbes(NamedTuple):
    """What is asked of one state of the model."""

    state: str
    probes: tuple[ScoreProbe, ...]


def of_states(
    regime: Regime, units: Sequence[WorkUnit], cases: Sequence[AnyCase], wanted: Mapping[str, tuple[ScoreProbe, ...]]
) -> dict[str, StateProbes]:
    """By the key of the unit that asks it: the shared questions of every state, those drawn for that unit's case."""
    return {key: StateProbes(state, wanted[case]) for key, state, case in _leaders(regime, units, cases)}


def _leaders(regime: Regime, units: Sequence[WorkUnit], cases: Sequence[AnyCase]) -> list[tuple[str, str, str]]:
    by_key = {unit.key: unit for unit in units}
    return [(key, state, by_key[key].case.key) for key, state in regime.leaders(units, cases).items()]


def of_unedited(units: Sequence[WorkUnit], wanted: Mapping[str, tuple[ScoreProbe, ...]]) -> dict[str, StateProbes]:
    """The same of the unedited model: one state, asked by the first unit all that any case wants."""
    probes = {probe.id: probe for some in wanted.values() for probe in some}
    return {units[0].key: StateProbes(UNEDITED, tuple(probes.values()))} if units and probes else {}


class SharedAsking:
    """Shared questions of one method's states: what is missing, and its answers put aside.

    Args:
        plan: What which unit asks, by the unit's key; empty where nothing is shared.
        states: Where answers are kept; None where nothing is shared.
        retry: Ask again what ended in an error.
    """

    def __init__(
        self, plan: Mapping[str, StateProbes] | None = None, states: StateAnswers | None = None, *, retry: bool = False
    ) -> None:
        self._plan, self._states, self._retry = plan or {}, states, retry

    def missing(self, unit: WorkUnit) -> tuple[ScoreProbe, ...]:
        """What a unit is still to ask for its state."""
        if self._states is None or (plan := self._plan.get(unit.key)) is None:
            return ()
        return self._states.missing(plan.state, plan.probes, retry=self._retry)

    def put_aside(self, unit: WorkUnit, done: JobResult, case_ids: Collection[str]) -> JobResult:
        """Keep what was answered for the state; the result without it.

        Args:
            unit: The unit of work.
            done: Its result.
            case_ids: Ids of the probes of its case.
        """
        if self._states is None or (plan := self._plan.get(unit.key)) is None:
            return done
        ids = {probe.id for probe in plan.probes}
        if done.error is None and (shared := [a for a in done.answers if a.probe in ids]):
            self._states.add(plan.state, unit.case.key, unit.after, shared)
        return done._replace(
            job=done.job._replace(probes=tuple(p for p in done.job.probes if p.id in case_ids)),
            answers=[a for a in done.answers if a.probe in case_ids],
            notes=_notes_of(done.notes, case_ids),
        )


def _notes_of(notes: Mapping[str, Any], case_ids: Collection[str]) -> dict[str, Any]:
    """Notes without the ids of shared questions: 400 of them would outweigh the answers."""
    if REWRITTEN not in notes:
        return dict(notes)
    prompts = [{**one, "probes": [p for p in one["probes"] if p in case_ids]} for one in notes[REWRITTEN]]
    prompts = [one for one in prompts if one["probes"]]
    return {**{k: v for k, v in notes.items() if k != REWRITTEN}, **({REWRITTEN: prompts} if prompts else {})}
