"""Edits that follow each other or are made together: metrics over their number, and the model along the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from curation.splits.contradictions import overwritten
from curation.stats.bounded import bounded_interval
from curation.stats.intervals import Interval
from evaluation.analysis.tables import DELTA, Cell, FigureTable, Plot, PlotPoint
from evaluation.metrics.base import Metric, Normalisation, case_mean_difference, case_mean_interval
from evaluation.metrics.pooled import PERPLEXITY, RATIO, exponential, pooled_interval
from evaluation.regimes.base import edits_digests
from evaluation.regimes.config import RegimeChoice, regime_title, sampled_positions
from evaluation.regimes.sequence_log import SequenceEntries, StateEntry
from evaluation.runs.frame import Scores, score_run
from evaluation.runs.results import Run, all_cases_by_key, answers_by_probe, sequence_choice
from schemas.answers import CaseScores
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


def edit_curve(run: Run, metrics: Sequence[Metric], normalisation: Normalisation) -> list[ForgettingPoint]:
    """The curve of every method and metric of a run, over edits made together or one after another.

    Raises:
        UserError: the run was of another regime, or no method of it was run with two batch sizes.
    """
    if not is_in_batches(run):
        refuse_other_regime(run)
        return forgetting_points(run, metrics, normalisation)
    if points := batch_size_points(run, score_run(run, metrics, normalisation), metrics):
        return points
    raise UserError(
        "no method of the run was run with two batch sizes",
        where=str(run.folder),
        fix='run with regime = { name = "batch", size = [1, 10] }',
    )


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
    """The points of all methods whose edits follow each other, from their journals; of others there is none.

    Cases that ended in an error are in no mean. A length at which some case so far has not been asked (the run goes on,
    or each case is asked right after its own edit only) is left out.
    """
    out: list[ForgettingPoint] = []
    by_key, choice = all_cases_by_key(run), sequence_choice(run)
    cases = list(by_key.values())
    later = overwritten(cases)
    before = {k: answers_by_probe(r.answers) for k, r in run.baseline.results.items() if r.error is None}
    for editor in run.editors[1:]:
        if editor.manifest.regime != "sequential":
            continue
        results = editor.folder.units().values() if editor.folder is not None else ()
        units = sequence_units(results, cases) if len(run.regimes) == 1 else list(results)
        units = [u for u in units if u.case in by_key]
        whole = _complete_lengths(units, cases, choice)
        units = [u for u in units if (u.after or 0) < later.get(u.position or 0, len(cases) + 1) and u.error is None]
        answered = [(u, answers_by_probe(u.answers)) for u in units if u.after is not None and u.position is not None]
        for metric in metrics:
            values: Values = {}
            for unit, answers in answered:
                scores = metric.score(by_key[unit.case], answers, before.get(unit.case, {}), normalisation)
                if scores.mean is not None:
                    values[unit.position or 0, unit.after or 0] = scores
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


def batch_size_points(run: Run, scores: Scores, metrics: Sequence[Metric]) -> list[ForgettingPoint]:
    """A point for every method with two sizes or more, metric and size; of other runs there is none.

    ``edits`` are made together, ``new`` is under the fewest, ``lost`` is paired. Cases are those that have a value
    under every size of the method. The unedited model has no curve.
    """
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


def sequence_states(run: Run) -> list[dict[str, Any]]:
    """Of every method at every length that was described; of runs from before there were descriptions, none.

    A state has the ``label`` of the method and the number of ``edits`` in its model; the ``perplexity`` of the general
    texts and its ``ratio`` to the unedited model's, with intervals by text; the ``norms`` (how far every changed weight
    is from what it was); of the edits since the length before, the ``seconds`` and ``processor_seconds`` of one,
    ``peak_bytes`` while one was made, and their number (``made``); ``held_bytes`` that the edits hold for later ones,
    changed weights left out; how many of all so far ``failed``.

    Raises:
        UserError: the run was of another regime.
    """
    refuse_other_regime(run)
    digests, out = edits_digests(list(all_cases_by_key(run).values())), []
    for editor in run.editors[1:]:
        if editor.manifest.regime != "sequential" or editor.folder is None:
            continue
        entries = SequenceEntries(editor.folder.path, digests)
        before = 0
        for n, state in sorted(entries.states.items()):
            edits = [entry for entry in entries.edits if before < entry.after <= n]
            before = n
            if not n:
                continue
            peaks = [entry.peak_bytes for entry in edits if entry.peak_bytes is not None]
            times = ([entry.seconds for entry in edits], [entry.processor_seconds for entry in edits])
            seconds, processor_seconds = (bounded_interval(some, None)._replace(unit=SECONDS) for some in times)
            out.append(
                {
                    "label": editor.label,
                    "edits": state.after,
                    "perplexity": perplexity(state),
                    "ratio": perplexity_ratio(state, entries.states.get(0)),
                    "norms": [norm.model_dump(mode="json") for norm in state.norms],
                    "seconds": seconds,
                    "processor_seconds": processor_seconds,
                    "peak_bytes": max(peaks, default=None),
                    "held_bytes": state.held_bytes,
                    "made": len(edits),
                    "failed": sum(entry.error is not None for entry in entries.edits if entry.after <= n),
                }
            )
    return out


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


def state_table(states: Sequence[Mapping[str, Any]]) -> FigureTable:
    """The states as a table; failed edits are counted next to the number of edits."""
    rows: list[tuple[Cell, ...]] = []
    for state in states:
        ratios = [f"{ratio:.3g}" for ratio in sorted(norm["ratio"] for norm in state["norms"])]
        edits = f"{state['edits']:,}" + (f" ({state['failed']:,} failed)" if state["failed"] else "")
        change = " to ".join(dict.fromkeys([*ratios[:1], *ratios[-1:]])) or None
        peak = None if state["peak_bytes"] is None else f"{state['peak_bytes'] / _MIB:,.0f}"
        costs = (state["seconds"], state["processor_seconds"], peak, f"{state['held_bytes'] / _MIB:,.1f}")
        rows.append((state["label"], edits, state["perplexity"], state["ratio"], change, *costs))
    caption = (
        "Perplexity of 24 plain texts, over that of the unedited model, with intervals by text. "
        "Change: of the weights, over their own norm."
    )
    return FigureTable("The model itself", HEADS, tuple(rows), caption)
