"""The model along a sequence of edits as rows of a table."""

from __future__ import annotations

from evaluation.analysis.sequences.states import SequenceState, sequence_states
from evaluation.report.formatting import mean_with_interval
from evaluation.runs.results import Run

HEADS = ("method", "edits", "perplexity", "over unedited", "change", "s an edit", "processor s", "peak MiB", "held MiB")
"""Columns of ``state_cells``."""
_MIB = 2**20


def state_table(run: Run) -> list[tuple[str, ...]]:
    """Heads and rows of a run's sequences; empty where there are none, or none was described."""
    states = sequence_states(run) if "sequential" in run.regimes else []
    return [HEADS, *(state_cells(state) for state in states)] if states else []


def state_cells(state: SequenceState) -> tuple[str, ...]:
    """One row; failed edits are counted beside the number of edits."""
    ratios = [norm.ratio for norm in state.norms]
    change = "–" if not ratios else f"{min(ratios):.3g} to {max(ratios):.3g}" if len(ratios) > 1 else f"{ratios[0]:.3g}"
    return (
        state.label,
        f"{state.edits:,}" + (f" ({state.failed:,} failed)" if state.failed else ""),
        mean_with_interval(state.perplexity),
        mean_with_interval(state.ratio),
        change,
        mean_with_interval(state.seconds),
        mean_with_interval(state.processor_seconds),
        "–" if state.peak_bytes is None else f"{state.peak_bytes / _MIB:,.0f}",
        f"{state.held_bytes / _MIB:,.1f}",
    )
