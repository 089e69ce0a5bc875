"""Which cases of a run are asked: in a sequence its lengths and its sample say so, elsewhere all are."""

from __future__ import annotations

from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.sampling import asked_positions, lengths_reached
from evaluation.runs.results import Run, all_cases_by_key
from schemas.cases import AnyCase


def sequence_choice(run: Run) -> RegimeChoice:
    """How the run's sequences were asked; of runs of several regimes, one without a sample."""
    stored = run.about.get("config", {}).get("regime", {})
    name = stored.get("name") if isinstance(stored, dict) else stored
    return RegimeChoice.model_validate(stored if name == "sequential" else "sequential")


def asked_cases(run: Run) -> dict[str, AnyCase]:
    """The cases that every method of a run is asked by its end, by key, in the run's order.

    A sequence edits none after its last length, and of longer lengths a sample of the cases may be asked. Cases that a
    method was asked all the same, in a longer run reported together with this one, are among them.
    """
    cases = all_cases_by_key(run)
    if run.regimes != ("sequential",):
        return cases
    choice = sequence_choice(run)
    asked = asked_positions(list(cases.values()), choice.sizes, choice.sample)
    answered = {key for editor in run.editors[1:] for key in editor.results}
    return {key: case for n, (key, case) in enumerate(cases.items(), 1) if n in asked or key in answered}


def edits_made(run: Run) -> int:
    """How many of the run's cases are edited: all, but of a sequence none after its last length."""
    if run.regimes != ("sequential",):
        return len(run.cases)
    newest = [result.after or 0 for editor in run.editors[1:] for result in editor.results.values()]
    return max([*lengths_reached(run.cases, sequence_choice(run).sizes), *newest])
