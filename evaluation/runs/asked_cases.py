"""Which cases of a run are asked: in a sequence its lengths and its sample say so, elsewhere all are."""

from __future__ import annotations

from curation.splits.contradictions import overwritten
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

    Of a sequence with a sample those are fewer than its edits. Without one the unedited model is asked all, a method
    those that are edited: see ``unedited_cases``. A case whose edit a later one overwrites is left out: the later
    request is the valid one.
    """
    cases = all_cases_by_key(run)
    if run.regimes != ("sequential",):
        return cases
    choice, in_order = sequence_choice(run), list(cases.values())
    asked = set(range(1, len(cases) + 1))
    if choice.sample is not None:
        asked = asked_positions(in_order, choice.sizes, choice.sample)
    asked -= overwritten(in_order[: edits_made(run)]).keys()
    return {key: case for n, (key, case) in enumerate(cases.items(), 1) if n in asked}


def edits_made(run: Run) -> int:
    """How many of the run's cases are edited: all, but of a sequence none after its last length.

    A longer run that is reported together with this one counts.
    """
    if run.regimes != ("sequential",):
        return len(run.cases)
    newest = [result.after or 0 for editor in run.editors[1:] for result in editor.results.values()]
    return max([*lengths_reached(run.cases, sequence_choice(run).sizes), *newest])


def unedited_cases(run: Run) -> frozenset[str]:
    """Keys of the cases after a sequence's last length: no method is ever asked them."""
    return frozenset(list(all_cases_by_key(run))[edits_made(run) :])
