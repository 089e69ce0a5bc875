"""What exports of runs go through: every result of every method, with the probes that the run's metrics ask of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from evaluation.metrics.base import Metric, Normalisation
from evaluation.runs.generated_scripts import generation_of
from evaluation.runs.plan import load_metrics
from evaluation.runs.results import EditorRun, Run, all_cases_by_key
from evaluation.runs.validity_variants import asked_case
from schemas.cases import AnyCase
from schemas.core.errors import UserError
from schemas.probes import Probe


class RunUnit(NamedTuple):
    """One result of one method, or (``case`` None) a whole run with its figures."""

    run: Run
    normalisation: Normalisation
    metrics: Sequence[Metric]
    editor: EditorRun | None = None
    case: AnyCase | None = None


def whole_run(run: Run, names: Sequence[str], normalisation: Normalisation | None) -> RunUnit:
    """A run as one unit, with the metrics that are exported.

    Args:
        run: A run folder read back.
        names: Only these of its metrics; all where none is given.
        normalisation: If not that of the run.

    Raises:
        UserError: the run has no such metric.
    """
    if unknown := [name for name in names if name not in run.about["metrics"]]:
        raise UserError(
            f"the run has no metric '{unknown[0]}'", where=str(run.folder), allowed=", ".join(run.about["metrics"])
        )
    metrics = load_metrics(names or run.about["metrics"], generation_of(run))
    return RunUnit(run, normalisation or run.about["normalisation"], metrics)


def run_units(run: Run, names: Sequence[str], normalisation: Normalisation | None) -> Iterator[RunUnit]:
    """Every result of a run, then the run itself; arguments as for ``whole_run``."""
    whole = whole_run(run, names, normalisation)
    for editor in run.editors:
        yield from results_of(whole, editor)
    yield whole


def results_of(whole: RunUnit, editor: EditorRun) -> Iterator[RunUnit]:
    """Every result of one method of a run."""
    cases = all_cases_by_key(whole.run)
    for key in editor.results:
        yield whole._replace(editor=editor, case=cases[key])


def asked_probes(unit: RunUnit) -> dict[str, Probe]:
    """What the run's metrics ask of a case by id; the first metric's wording where several ask the same."""
    assert unit.editor is not None
    metrics = load_metrics(unit.run.about["metrics"], generation_of(unit.run))
    case = asked_case(unit.case, unit.editor.manifest.components)
    probes: list[Probe] = [p for m in metrics for p in m.probes(case)]
    return {p.id: p for p in reversed(probes)}
