"""From stored answers to the figures of a table: scores by case, summaries, gains over no edit, who leads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from curation.stats.intervals import Interval, mean_interval
from evaluation.analysis.pairwise_tests import ComparisonFamily, comparison_families
from evaluation.editors.baselines import CONTROL_METHODS
from evaluation.metrics.base import Metric, Summary, paired_items, scale_of
from evaluation.metrics.generation import Generation
from evaluation.metrics.pooled import PERPLEXITY, RATIO
from evaluation.regimes.config import regime_title
from evaluation.runs.frame import Scores, unedited_run
from evaluation.runs.results import EditorRun, Run, asked_cases, unedited_cases
from schemas.runs import CaseResult

ALL = "all"


class MethodRow(NamedTuple):
    """One editor in a table. ``gain`` is the paired difference to the unedited model; costs are means over cases.

    ``finished`` counts cases with answers, ``failed`` those that ended in an error (in no mean), ``pending`` those not
    yet run, ``unedited`` those that come after the last length of a sequence and never will be. ``blow_ups`` are
    diverged edits, as the method itself reports. ``variant``: the validity variant of the row, empty for none.
    ``edits``: the fewest and the most active edits when a case was asked: in the weights, in the prompt or in a
    memory; 0 without an edit.
    """

    label: str
    editor: str
    params: dict[str, Any]
    baseline: bool
    summaries: dict[str, Summary]
    gain: dict[str, Interval]
    finished: int
    failed: int
    pending: int
    seconds_edit: float | None
    seconds_score: float | None
    peak_bytes: int | None
    blow_ups: tuple[str, ...]
    variant: str = ""
    edits: tuple[int, int] = (1, 1)
    unedited: int = 0

    @property
    def control(self) -> bool:
        """Whether it is no competitor: the unedited model, or another control method."""
        return self.baseline or self.editor in CONTROL_METHODS


class Ranking(NamedTuple):
    """The two best methods of a metric over the cases that all methods have a value for; control methods aside.

    ``decided``: the paired tests find the first better than every other method. ``worse_than_unedited``: it is worse
    than no edit. ``common``: those cases, where they are fewer than some method's own; None where all have the same.
    """

    metric: str
    first: str
    second: str
    difference: Interval
    decided: bool
    worse_than_unedited: bool
    common: int | None = None

    @property
    def best(self) -> str | None:
        """The method to call the best, or None."""
        return self.first if self.decided and not self.worse_than_unedited else None


class Comparison(NamedTuple):
    """All rows over one group of cases: ``all``, or one group; ``kind`` is what its cases edit.

    ``families`` are the paired comparisons of its methods, and ``leads`` the best two by metric, where asked for.
    """

    group: str
    cases: int
    rows: tuple[MethodRow, ...]
    leads: Mapping[str, Ranking] = MappingProxyType({})
    kind: str = "fact"
    families: tuple[ComparisonFamily, ...] = ()


def compare(
    run: Run,
    scores: Scores,
    metrics: Sequence[Metric],
    *,
    tests: bool = False,
    against: str | None = None,
) -> list[Comparison]:
    """Tables over all cases and, where there are several kinds of edit, over each kind.

    With ``tests``, tables have their paired comparisons (of the method ``against`` only, where one is named) and who is
    best. Cases that are edited and never asked are in no table.
    """
    cases = asked_cases(run)
    kinds = list(dict.fromkeys(c.group for c in cases.values()))
    groups: dict[str, list[str]] = {ALL: list(cases)}
    if len(kinds) > 1:
        groups |= {kind: [k for k, c in cases.items() if c.group == kind] for kind in sorted(kinds)}
    out = []
    for name, keys in groups.items():
        rows = tuple(_row(e, keys, run, scores, metrics) for e in run.editors)
        table = Comparison(name, len(keys), rows, kind=cases[keys[0]].request.kind if keys else "fact")
        if tests:
            families = {m.name: _families(m, rows, keys, scores, against) for m in metrics}
            leads = {m.name: lead for m in metrics if (lead := _lead(m, rows, keys, scores, families[m.name]))}
            table = table._replace(leads=leads, families=tuple(f for some in families.values() for f in some))
        out.append(table)
    return out


def _families(
    metric: Metric, rows: Sequence[MethodRow], keys: Sequence[str], scores: Scores, against: str | None
) -> list[ComparisonFamily]:
    """All paired comparisons of one metric; with no edit only where its value is measured.

    Rows are compared that are asked in one form, and with the unedited model in that form. A method that is named
    (``against``) is compared with every row.
    """
    labels = [r.label for r in rows if not r.baseline or metric.unedited is None]
    values = scores.tested(metric, labels, keys)
    if not any(values.values()):
        return []
    families: list[ComparisonFamily] = []
    named = [r.variant for r in rows if r.label == against]
    for form in named or dict.fromkeys(r.variant for r in rows):
        base = next((r.label for r in rows if r.baseline and r.variant == form), None)
        base = base or next((r.label for r in rows if r.baseline), None)
        compared = {base, *(r.label for r in rows if named or r.variant == form)}
        families += comparison_families(
            metric.title,
            {label: by_case for label, by_case in values.items() if label in compared},
            baseline=base,
            higher=metric.better == "higher",
            scale=None if metric.pooled else scale_of(metric),
            unit={"fraction": "fraction", PERPLEXITY: RATIO}.get(metric.unit, "points"),
            items=lambda first, second: paired_items(*(scores.by_editor[k][metric.name] for k in (first, second))),
            interval_of=partial(scores.pooled_difference, metric, keys) if metric.pooled else None,
            control_methods=[r.label for r in rows if r.control],
            against=against,
        )
    return families


def _row(editor: EditorRun, keys: Sequence[str], run: Run, scores: Scores, metrics: Sequence[Metric]) -> MethodRow:
    mine = {k: editor.results[k] for k in keys if k in editor.results}
    good = [r for r in mine.values() if r.error is None]
    unedited = unedited_cases(run).intersection(keys) - mine.keys()
    base = unedited_run(run, editor).label
    by_metric = scores.by_editor[editor.label]
    peaks = [r.peak_bytes for r in good if r.peak_bytes is not None]
    summaries = {m.name: m.summarise([by_metric[m.name][k] for k in keys if k in by_metric[m.name]]) for m in metrics}
    return MethodRow(
        label=editor.label,
        editor=editor.manifest.editor,
        params=editor.manifest.params,
        baseline=editor.label == base,
        summaries=summaries,
        gain={m.name: scores.gain(editor.label, base, m, keys, summaries[m.name]) for m in metrics},
        finished=len(good),
        failed=len(mine) - len(good),
        pending=len(keys) - len(mine) - len(unedited),
        seconds_edit=mean_interval([r.seconds_edit for r in good]).mean,
        seconds_score=mean_interval([r.seconds_score for r in good]).mean,
        peak_bytes=max(peaks, default=None),
        blow_ups=tuple(k for k in mine if mine[k].notes.get("blow_up")),
        variant=editor.variant,
        edits=(0, 0) if editor.label == base else _active_edits(good),
        unedited=len(unedited),
    )


def _active_edits(results: Sequence[CaseResult]) -> tuple[int, int]:
    """The fewest and the most edits that stood when a case was asked: in a memory, else in the model, else its own."""
    counts = [int(r.notes.get("memory") or r.after or 1) for r in results]
    return (min(counts), max(counts)) if counts else (1, 1)


def _lead(
    metric: Metric,
    rows: Sequence[MethodRow],
    keys: Sequence[str],
    scores: Scores,
    families: Sequence[ComparisonFamily],
) -> Ranking | None:
    """Best two methods of a metric over common cases, control methods aside; None where fewer than two are ordered."""
    sign = 1.0 if metric.better == "higher" else -1.0
    through = [
        r.label for r in rows if not (r.control or r.pending or r.variant) and r.summaries[metric.name].mean is not None
    ]
    means, common = _summaries_of_common_cases(metric, through, keys, scores)
    valued = sorted(((sign * v, label) for label, v in means.items() if v is not None), key=lambda x: -x[0])
    if len(valued) < 2:
        return None
    first, second = valued[0][1], valued[1][1]
    base = next((r.summaries[metric.name].mean for r in rows if r.baseline), None)
    worse = base is not None and valued[0][0] < sign * base
    decided = first in [f.best for f in families if f.kind == "among"]
    gap = scores.difference(first, second, metric, keys)
    return Ranking(metric.name, first, second, gap, decided, worse, common)


def _summaries_of_common_cases(
    metric: Metric, labels: Sequence[str], keys: Sequence[str], scores: Scores
) -> tuple[dict[str, float | None], int | None]:
    """Each editor's value over the cases that all have one for, and how many these are where some have more."""
    valued = {label: set(scores.means(label, metric.name)).intersection(keys) for label in labels}
    if not any(valued.values()):  # a metric that is no mean over cases: those that were scored
        valued = {label: {k for k in keys if k in scores.by_editor[label][metric.name]} for label in labels}
    common = set.intersection(*valued.values()) if valued else set()
    by_editor = {label: scores.by_editor[label][metric.name] for label in labels}
    means = {label: metric.summarise([by_editor[label][k] for k in keys if k in common]).mean for label in labels}
    return means, None if all(len(some) == len(common) for some in valued.values()) else len(common)


def merge_runs(runs: Sequence[Run]) -> list[Run]:
    """Runs of the same model, dtype and split as one; the same method with the same parameters counts once.

    Runs in one regime may have other cases each; runs in several regimes are one where they have the same cases. What
    differs in one of these, or in how texts were written, is not comparable and stays a run of its own.
    """
    of_regime: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        of_regime.setdefault((*_identity(run), run.about["regime"]), []).append(run)
    groups: dict[tuple[Any, ...], list[Run]] = {}
    for run in map(_merge_runs, of_regime.values()):
        groups.setdefault((*_identity(run), frozenset(run.cases)), []).append(run)
    return [_merge_runs(_told_apart(group)) for group in groups.values()]


def _identity(run: Run) -> tuple[str, ...]:
    """What runs have in common whose figures can stand in one table."""
    generation = Generation.from_description(run.about)
    texts = "".join(x.model_dump_json() for x in (generation.choice, generation.events, generation.documents))
    shared = "" if generation.shared is None else str(generation.shared.description())
    return run.about["model_revision"], run.about["dtype"], run.split.digest, texts + shared


def _told_apart(runs: Sequence[Run]) -> list[Run]:
    """Runs in several regimes, with the regime in the label of every method that is in more than one of them."""
    counts = Counter(e.label for run in runs for e in run.editors[1:])
    return [
        run._replace(
            editors=(
                run.baseline,
                *(
                    e._replace(label=f"{e.label} ({regime_title(e.manifest.regime)})") if counts[e.label] > 1 else e
                    for e in run.editors[1:]
                ),
            )
        )
        for run in runs
    ]


def _merge_runs(runs: Sequence[Run]) -> Run:
    first = runs[0]
    if len(runs) == 1:
        return first
    cases = tuple(dict.fromkeys(k for r in runs for k in r.cases))
    editors: dict[str, EditorRun] = {}
    for editor in (e for r in runs for e in r.editors):
        known = editors.get(editor.manifest.key)
        if known is None:
            taken = {e.label for e in editors.values()}
            label = editor.label if editor.label not in taken else f"{editor.label} ({editor.manifest.key[:6]})"
            editors[editor.manifest.key] = editor._replace(label=label)
            continue
        results = {**editor.results, **{k: v for k, v in known.results.items() if v.error is None}}
        editors[editor.manifest.key] = known._replace(results={k: results[k] for k in cases if k in results})
    metrics = list(dict.fromkeys(m for r in runs for m in r.about["metrics"]))
    regimes = dict.fromkeys(regime for r in runs for regime in r.regimes)
    description = {**first.about, "metrics": metrics, "regime": ", ".join(regimes)}
    return first._replace(cases=cases, editors=tuple(editors.values()), about=description)
