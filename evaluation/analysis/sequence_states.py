"""The model along a sequence of edits: perplexity of plain English, size of the change, seconds and memory an edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from curation.stats.bounded import bounded_interval
from curation.stats.intervals import Interval
from evaluation.analysis.forgetting_curve import refuse_other_regime
from evaluation.analysis.tables import Cell, FigureTable
from evaluation.metrics.pooled import PERPLEXITY, RATIO, exponential, pooled_interval
from evaluation.regimes.base import edits_digests
from evaluation.regimes.sequence_log import EditEntry, SequenceEntries, StateEntry, WeightNorm
from evaluation.runs.results import Run, all_cases_by_key

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
