"""Edits that follow each other or are made together: metrics over their number, and the model along the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from curation.splits.contradictions import overwritten
from curation.stats.bounded import bounded_interval
from curation.stats.intervals import Interval
from evaluation.analysis.tables import DELTA, Cell, FigureTable, Plot, PlotPoint
from evaluation.metrics.base import Metric, Normalisation, case_mean_difference, case_mean_interval
from evaluation.metrics.pooled import PERPLEXITY, RATIO, exponential, pooled_interval
from evaluation.regimes.base import edits_digests
from evaluation.regimes.config import RegimeChoice, regime_title, sampled_positions
from evaluation.regimes.sequence_log import EditEntry, SequenceEntries, StateEntry, WeightNorm
from evaluation.runs.frame import Scores, score_run
from evaluation.runs.results import Run, all_cases_by_key, answers_by_probe, sequence_choice
from schemas.answers import Answer, CaseScores
from schemas.cases import AnyCase
from schemas.core.errors import UserError
from schemas.runs import CaseResult


class ForgettingPoint(NamedTuple):
    """One metric of one method when ``edits`` edits are in the model.

    Attributes:
        all: The metric over all cases edited so far; of batches over the cases that every size of the method has.
        new: The same cases right after each case's own edit, whenever that was; of batches, under the smallest size.
        lost: ``all`` minus ``new``, paired by case over those that were asked at both times: negative is forgotten
            (positive for metrics of which less is better).
        latest: Mean over the case edited last only, where it was asked right after its edit.
    """

    label: str
    metric: str
    edits: int
    all: Interval
    new: Interval
    lost: Interval
    latest: float | None


def forgetting_curve(run: Run, metrics: Sequence[Metric], normalisation: Normalisation) -> list[ForgettingPoint]:
    """The curve of every method and metric of a run in the regime ``sequential``, from its journals.

    Cases that ended in an error are in no mean. A length at which some case so far has not been asked (the run goes on,
    or each case is asked right after its own edit only) is left out.

    Raises:
        UserError: the run was of another regime.
    """
    refuse_other_regime(run)
    return forgetting_points(run, metrics, normalisation)


def refuse_other_regime(run: Run) -> None:
    """Refuse a run without sequences.

    Raises:
        UserError: one sentence.
    """
    if "sequential" not in run.regimes:
        raise UserError(
            f"the run's regime is '{run.about['regime']}': edits are forgotten only where they follow each other",
            where=str(run.folder),
            fix='run with regime = { name = "sequential", size = [1, 10, 100] }',
        )


def forgetting_points(run: Run, metrics: Sequence[Metric], normalisation: Normalisation) -> list[ForgettingPoint]:
    """The points of all methods whose edits follow each other; of others there is none."""
    out: list[ForgettingPoint] = []
    cases, choice = all_cases_by_key(run), sequence_choice(run)
    before = {k: answers_by_probe(r.answers) for k, r in run.baseline.results.items() if r.error is None}
    for editor in run.editors[1:]:
        if editor.manifest.regime != "sequential":
            continue
        results = editor.folder.units().values() if editor.folder is not None else ()
        units = sequence_units(results, list(cases.values())) if len(run.regimes) == 1 else list(results)
        units = [u for u in units if u.case in cases]
        whole = _complete_lengths(units, list(cases.values()), choice)
        later = overwritten(list(cases.values()))
        units = [u for u in units if (u.after or 0) < later.get(u.position or 0, len(cases) + 1)]
        for metric in metrics:
            values = _values(cases, before, units, metric, normalisation)
            out += _curve(editor.label, metric, whole, values)
    return out


def sequence_units(units: Iterable[CaseResult], cases: Sequence[AnyCase]) -> list[CaseResult]:
    """Units of the run's own order of cases: a run of another order leaves others in the same folder."""
    positions = {case.key: n for n, case in enumerate(cases, 1)}
    return [u for u in units if u.position is not None and positions.get(u.case) == u.position]


def _complete_lengths(units: Iterable[CaseResult], cases: Sequence[AnyCase], choice: RegimeChoice) -> list[int]:
    """Numbers of edits at which every case edited so far was asked, or every one of the sample.

    It does not matter whether all could be scored.
    """
    reached = {(u.position, u.after) for u in units if u.position is not None and u.after is not None}
    positions = {position for position, _ in reached}
    if choice.sample is None:
        return [n for n in sorted(positions) if all((p, n) in reached for p in positions if p <= n)]
    lengths = sorted({after for _, after in reached if after in choice.sizes or after == len(cases)})
    return [n for n in lengths if all((p, n) in reached for p in sampled_positions(cases, n, choice.sample))]


Values = dict[tuple[int, int], CaseScores]
"""(position, edits in the model) -> the case's scores."""


def _values(
    cases: Mapping[str, AnyCase],
    before: Mapping[str, Mapping[str, Answer]],
    units: Iterable[CaseResult],
    metric: Metric,
    normalisation: Normalisation,
) -> Values:
    values: Values = {}
    for result in units:
        if result.error is not None or result.after is None or result.position is None:
            continue
        scores = metric.score(
            cases[result.case], answers_by_probe(result.answers), before.get(result.case, {}), normalisation
        )
        if scores.mean is not None:
            values[result.position, result.after] = scores
    return values


def _curve(label: str, metric: Metric, whole: Iterable[int], values: Values) -> list[ForgettingPoint]:
    fresh = {scores.case: scores for (position, after), scores in values.items() if position == after}
    out = []
    for edits in whole:
        now = {scores.case: scores for (_, after), scores in values.items() if after == edits}
        latest = values.get((edits, edits))
        if not now:
            continue
        new = {case: fresh[case] for case in now if case in fresh}
        out.append(
            ForgettingPoint(
                label,
                metric.name,
                edits,
                case_mean_interval(metric, now.values()),
                case_mean_interval(metric, new.values()),
                case_mean_difference(metric, now, new),
                None if latest is None else latest.mean,
            )
        )
    return out


def is_in_batches(run: Run) -> bool:
    """Whether edits of the run were made together, and none of them after another."""
    return any(regime.startswith("batch:") for regime in run.regimes) and "sequential" not in run.regimes


def batch_size_curve(run: Run, metrics: Sequence[Metric], normalisation: Normalisation) -> list[ForgettingPoint]:
    """A point for every method, metric and size: ``edits`` made together, ``new`` under the fewest, ``lost`` paired.

    Cases are those that have a value under every size of the method. The unedited model has no curve.

    Raises:
        UserError: no method of the run has two sizes.
    """
    points = batch_size_points(run, score_run(run, metrics, normalisation), metrics)
    if not points:
        raise UserError(
            "no method of the run was run with two batch sizes",
            where=str(run.folder),
            fix='run with regime = { name = "batch", size = [1, 10] }',
        )
    return points


def batch_size_points(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[ForgettingPoint]:
    """The points of every method with two sizes or more; of other runs there is none."""
    out = []
    for name, labels in _labels_by_size(run).items():
        for metric in metrics:
            valued = {
                n: {k: s for k, s in scores.by_editor[labels[n]][metric.name].items() if s.mean is not None}
                for n in labels
            }
            common = set.intersection(*map(set, valued.values()))
            keys = [key for key in run.cases if key in common]
            if not keys:
                continue
            values = {n: metric.summarise([by_case[k] for k in keys]).interval for n, by_case in valued.items()}
            least = min(labels)
            for size, label in labels.items():
                lost = scores.difference(label, labels[least], metric, keys)
                out.append(ForgettingPoint(name, metric.name, size, values[size], values[least], lost, None))
    return out


def _labels_by_size(run: Run) -> dict[str, dict[int, str]]:
    """Labels by method and size, methods with several sizes only; a method's name is its label without the size."""
    found: dict[str, dict[int, str]] = {}
    for editor in run.editors[1:]:
        size = size_of(editor.manifest.regime)
        if size is not None:
            name = editor.label.removesuffix(f" ({regime_title(editor.manifest.regime)})")
            found.setdefault(name, {})[size] = editor.label
    return {name: dict(sorted(labels.items())) for name, labels in found.items() if len(labels) > 1}


def size_of(regime: str) -> int | None:
    """The number of edits made together; None in a sequence.

    Example:
        >>> size_of("single"), size_of("batch:20"), size_of("sequential")
        (1, 20, None)
    """
    name, _, size = regime.partition(":")
    return 1 if name == "single" else int(size) if name == "batch" else None


def curve_parts(
    points: Sequence[ForgettingPoint], metrics: Sequence[Metric], *, together: bool
) -> list[Plot | FigureTable]:
    """A picture of every metric with points, and a table of all; ``together``: edits were made at once."""
    across = "edits made together" if together else "edits in the model"
    fewest = min((p.edits for p in points), default=0)
    out: list[Plot | FigureTable] = []
    rows: list[tuple[Cell, ...]] = []
    for metric in metrics:
        mine = [p for p in points if p.metric == metric.name and p.all.mean is not None]
        if not mine:
            continue
        now = tuple(PlotPoint(p.label, p.edits, p.all) for p in mine)
        earlier = () if together else tuple(PlotPoint(p.label, p.edits, p.new) for p in mine if p.new.n == p.all.n)
        caption = "" if together else "Dashed: the same cases right after their own edit."
        out.append(Plot("lines", metric.title, now, across, metric.title, caption, earlier))
        for p in mine:  # the smallest batches are compared with themselves
            itself = together and p.edits == fewest
            rows.append((p.label, metric.title, p.edits, p.all, *((None, None) if itself else (p.new, p.lost))))
    now_and_then = ("With the fewest edits",) if together else ("Right after its own edit",)
    head = ("Method", "Metric", across.capitalize(), "Value", *now_and_then, f"{DELTA}")
    return [*out, FigureTable(f"Metrics by {across}", head, tuple(rows), folded=True)] if rows else []


SECONDS = "s"
HEADS = ("Method", "Edits", "Perplexity", "over unedited", "Change", "s an edit", "processor s", "peak MiB", "held MiB")
_MIB = 2**20


class SequenceState(NamedTuple):
    """One method's model when ``edits`` edits stand in it.

    Attributes:
        perplexity: Of the general texts; interval by text.
        ratio: The same over the unedited model's, paired by text.
        norms: How far every changed weight is from what it was.
        seconds: An edit on the clock, mean over those since the length before.
        processor_seconds: The same of the processor.
        peak_bytes: The most memory while one of these edits was made.
        held_bytes: What the edits hold for later ones, changed weights left out.
        made: Edits since the length before. ``failed``: of all so far.
    """

    label: str
    edits: int
    perplexity: Interval
    ratio: Interval
    norms: tuple[WeightNorm, ...]
    seconds: Interval
    processor_seconds: Interval
    peak_bytes: int | None
    held_bytes: int
    made: int
    failed: int


def sequence_states(run: Run) -> list[SequenceState]:
    """Of every method at every length that was described; of runs from before there were descriptions, none.

    Raises:
        UserError: the run was of another regime.
    """
    refuse_other_regime(run)
    digests, out = edits_digests(list(all_cases_by_key(run).values())), list[SequenceState]()
    for editor in run.editors[1:]:
        if editor.manifest.regime != "sequential" or editor.folder is None:
            continue
        entries = SequenceEntries(editor.folder.path, digests)
        before = 0
        for n, state in sorted(entries.states.items()):
            if n:
                edits = [entry for entry in entries.edits if before < entry.after <= n]
                failed = sum(entry.error is not None for entry in entries.edits if entry.after <= n)
                out.append(_state(editor.label, state, entries.states.get(0), edits, failed))
            before = n
    return out


def _state(
    label: str, state: StateEntry, unedited: StateEntry | None, edits: Sequence[EditEntry], failed: int
) -> SequenceState:
    peaks = [entry.peak_bytes for entry in edits if entry.peak_bytes is not None]
    return SequenceState(
        label,
        state.after,
        perplexity(state),
        perplexity_ratio(state, unedited),
        state.norms,
        bounded_interval([entry.seconds for entry in edits], None)._replace(unit=SECONDS),
        bounded_interval([entry.processor_seconds for entry in edits], None)._replace(unit=SECONDS),
        max(peaks, default=None),
        state.held_bytes,
        len(edits),
        failed,
    )


def perplexity(state: StateEntry) -> Interval:
    """Of all general texts together, with an interval by text."""
    sums = [(-text.logprob, float(text.tokens)) for text in state.texts]
    return exponential(pooled_interval(sums, None), PERPLEXITY)


def perplexity_ratio(state: StateEntry, unedited: StateEntry | None) -> Interval:
    """A state's perplexity over the unedited model's, paired by text."""
    before = {} if unedited is None else {text.item: text for text in unedited.texts}
    sums = [
        (before[text.item].logprob - text.logprob, float(text.tokens)) for text in state.texts if text.item in before
    ]
    return exponential(pooled_interval(sums, None), RATIO)


def state_table(states: Sequence[SequenceState]) -> FigureTable:
    """The states as a table; failed edits are counted next to the number of edits."""
    rows: list[tuple[Cell, ...]] = []
    for state in states:
        ratios = [f"{ratio:.3g}" for ratio in sorted(norm.ratio for norm in state.norms)]
        edits = f"{state.edits:,}" + (f" ({state.failed:,} failed)" if state.failed else "")
        change = " to ".join(dict.fromkeys([*ratios[:1], *ratios[-1:]])) or None
        peak = None if state.peak_bytes is None else f"{state.peak_bytes / _MIB:,.0f}"
        costs = (state.seconds, state.processor_seconds, peak, f"{state.held_bytes / _MIB:,.1f}")
        rows.append((state.label, edits, state.perplexity, state.ratio, change, *costs))
    caption = (
        "Perplexity of 24 plain texts, over that of the unedited model, with intervals by text. "
        "Change: of the weights, over their own norm."
    )
    return FigureTable("The model itself", HEADS, tuple(rows), caption)
