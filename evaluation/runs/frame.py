"""A run as one long table of answers: every score and every rating of every method, a row each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.stats.intervals import Interval
from evaluation.metrics.base import (
    Answers,
    Metric,
    Normalisation,
    Summary,
    case_mean_difference,
    scale_of,
)
from evaluation.metrics.generation import metrics_of
from evaluation.metrics.pooled import PERPLEXITY, RATIO, contributions, exponential, pooled_difference
from evaluation.runs.results import EditorRun, Run, all_cases_by_key, answers_by_probe
from evaluation.runs.validity_variants import asked_case
from schemas.answers import Answer, CaseScores, ItemScore
from schemas.core.errors import UserError
from schemas.ratings import Rating

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS = (
    *("method", "regime", "case", "item", "metric", "before", "after", "text", "rating", "source"),
    *("neighbour", "probe", "reason"),
)
"""Columns of the table: what was asked of whom, the value without and with the edit, the text, and who rated it how."""


def finished_cases(run: Run, editor: EditorRun) -> Iterator[tuple[Any, dict[str, Answer]]]:
    """Every case that a method finished, as it was asked, with its answers by probe; in the order of the run."""
    cases = all_cases_by_key(run)
    for key, case in cases.items():
        result = editor.results.get(key)
        if result is not None and result.error is None:
            yield asked_case(case, editor.manifest.components), answers_by_probe(result.answers)


class Scores(NamedTuple):
    """Scores of every editor: label -> metric -> case key -> scores."""

    by_editor: dict[str, dict[str, dict[str, CaseScores]]]

    def means(self, label: str, metric: str) -> dict[str, float]:
        """Case means of one editor on one metric, where there is one."""
        return {k: s.mean for k, s in self.by_editor[label][metric].items() if s.mean is not None}

    def tested(self, metric: Metric, labels: Sequence[str], keys: Iterable[str]) -> dict[str, dict[str, float]]:
        """Label -> case -> value, whose means over cases are the metric's values: what tests by case compare."""
        by_label, wanted = {k: self.by_editor[k][metric.name] for k in labels}, set(keys)
        some = {label: {k: s for k, s in scores.items() if k in wanted} for label, scores in by_label.items()}
        if metric.pooled:
            values = contributions(some)
            return {label: values.get(label, {}) for label in labels}
        return {label: {k: s.mean for k, s in mine.items() if s.mean is not None} for label, mine in some.items()}

    def difference(self, first: str, second: str, metric: Metric, keys: Iterable[str]) -> Interval:
        """Mean of ``first - second`` over the cases that both have: two-way where the metric's neighbours recur.

        Of a pooled metric: over the questions that both have a value for. Of perplexities: their ratio.
        """
        if metric.pooled:
            gap = self.pooled_difference(metric, keys, first, second)
            return exponential(gap, RATIO) if metric.unit == PERPLEXITY else gap._replace(unit=metric.unit)
        mine, theirs = (self.by_editor[label][metric.name] for label in (first, second))
        some = {k: mine[k] for k in keys if k in mine}
        return case_mean_difference(metric, some, theirs)._replace(unit=metric.unit)

    def pooled_difference(self, metric: Metric, keys: Iterable[str], first: str, second: str) -> Interval:
        """Mean of ``first - second`` over the questions that both have a value for; of perplexities in logarithms."""
        mine, theirs = (self.by_editor[label][metric.name] for label in (first, second))
        return pooled_difference({k: mine[k] for k in keys if k in mine}, theirs, scale_of(metric))

    def gain(self, label: str, baseline: str, metric: Metric, keys: Iterable[str], summary: Summary) -> Interval:
        """Difference to no edit; none of the unedited model itself, whose gain is 0 by definition."""
        if label == baseline:
            return Interval(None, None, 0)
        if metric.unedited is not None:
            return summary.interval.minus(metric.unedited)
        return self.difference(label, baseline, metric, keys)


def score_run(run: Run, metrics: Sequence[Metric], normalisation: Normalisation) -> Scores:
    """Score every finished case of every editor from the stored answers; nothing is asked of a model.

    The unedited model has no scores of metrics whose value it has by definition (``Metric.unedited``).
    """
    out: dict[str, dict[str, dict[str, CaseScores]]] = {}
    before: dict[str, dict[str, Answers]] = {}
    for editor in run.editors:
        unedited = unedited_run(run, editor)
        if unedited.label not in before:
            before[unedited.label] = {case.key: answers for case, answers in finished_cases(run, unedited)}
        done = list(finished_cases(run, editor))
        earlier = before[unedited.label]
        out[editor.label] = {
            m.name: {c.key: m.score(c, answers, earlier.get(c.key, {}), normalisation) for c, answers in done}
            for m in metrics
        }
        if editor.label == unedited.label:
            out[editor.label] |= {m.name: {} for m in metrics if m.unedited is not None}
    return Scores(out)


def unedited_run(run: Run, editor: EditorRun) -> EditorRun:
    """The unedited model that was asked in the same form as a method: under the same validity variant, where it was."""
    asked_alike = (e for e in run.editors if e.manifest.editor == run.baseline.manifest.editor)
    return next((e for e in asked_alike if e.variant == editor.variant), run.baseline)


def answers_frame(
    run: Run,
    *,
    metrics: Sequence[str] = (),
    normalisation: Normalisation | None = None,
    store: Path | str | None = None,
) -> DataFrame:
    """One row for every score of every method, and for every rating of its texts.

    A row of a metric has the value without an edit (``before``) and with it (``after``), and the text where one was
    written. A row of a rating has its aspect as ``metric``, and who rated as ``source``. Tables are groups of it:
    ``frame.groupby(["method", "metric"])["after"].mean()``.

    Args:
        run: A run folder read back.
        metrics: Only these; all of the run where none is given.
        normalisation: If not that of the run.
        store: A store with ratings of the run's texts.

    Raises:
        UserError: the run has no such metric.
    """
    from pandas import DataFrame

    wanted = chosen_metrics(run, metrics)
    scores = score_run(run, wanted, normalisation or run.about["normalisation"])
    rows = [
        *(row for row, _ in score_rows(run, scores, wanted)),
        *(_rated(run, Path(store)) if store is not None else ()),
    ]
    return DataFrame(rows, columns=list(COLUMNS))


def chosen_metrics(run: Run, names: Sequence[str]) -> tuple[Metric, ...]:
    """The metrics of a run with these names; all of them where none is given.

    Raises:
        UserError: the run has no such metric.
    """
    there = run.about["metrics"]
    if unknown := [name for name in names if name not in there]:
        raise UserError(f"the run has no metric '{unknown[0]}'", where=str(run.folder), allowed=", ".join(there))
    return tuple(m for m in metrics_of(run.about) if not names or m.name in names)


def score_rows(run: Run, scores: Scores, metrics: Sequence[Metric]) -> Iterator[tuple[tuple[Any, ...], ItemScore]]:
    """The rows of the table (``COLUMNS``), each with the score that it shows."""
    unedited = {
        (m.name, case, i.probe, i.item): i.value
        for m in metrics
        for case, one in scores.by_editor[run.baseline.label][m.name].items()
        for i in one.items
    }
    for editor in run.editors:
        texts = {(k, a.probe): a.written.text for k, r in editor.results.items() for a in r.answers if a.written}
        where = (editor.label, editor.manifest.regime)
        for metric in metrics:
            for case, one in scores.by_editor[editor.label][metric.name].items():
                for i in one.items:
                    before = unedited.get((metric.name, case, i.probe, i.item))
                    values = (before, i.value, texts.get((case, i.probe)), None, None)
                    rest = (i.cluster, i.probe, i.reason or None)
                    yield (*where, case, i.item, metric.name, *values, *rest), i


def _rated(run: Run, path: Path) -> Iterator[tuple[Any, ...]]:
    """Ratings of the run's scripts, people's and judges'."""
    from curation.store.store import Store
    from evaluation.runs.generated_scripts import scripts_of_run

    regimes = {e.label: e.manifest.regime for e in run.editors}
    ratings = defaultdict[str, list[Rating]](list)
    with Store.open(path) as store:
        for rating in store.all(Rating):
            ratings[rating.item_id].append(rating)
    for one in scripts_of_run(run):
        script = one.script
        for r in ratings[script.id]:
            where = (script.editor, regimes[script.editor], script.case, script.question, r.aspect)
            yield (*where, None, None, script.text, r.value, r.rater, None, None, r.reason)
