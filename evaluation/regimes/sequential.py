"""``sequential``: one edit after the other in one model, scored right after each, at given lengths, or both."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import torch

from curation.files.journal import Journal
from evaluation.engines.base import Job, JobResult, plain
from evaluation.engines.peak_memory import PeakMemory
from evaluation.regimes.base import Missing, Regime, RegimeContext, WorkUnit, ask_under, edits_digests
from evaluation.regimes.config import asked_positions, lengths_reached, sampled_positions
from evaluation.regimes.edit_chain import EditChain
from evaluation.regimes.sequence_log import FILE, STATE, EditEntry, described_state
from evaluation.regimes.snapshots import SequenceStep, Snapshots
from schemas.cases import AnyCase
from schemas.core.errors import one_line

log = logging.getLogger(__name__)


class SequentialRegime(Regime):
    """One edit after the other, all staying in the model."""

    def units(self, cases: Sequence[AnyCase]) -> list[WorkUnit]:
        """Where a case is asked right after its edit, and the cases so far at every length that they reach.

        With ``sample`` only cases that are asked at some length are asked right after their edits, too.
        """
        lengths, sample = self._lengths(cases), self.choice.sample
        last, now = max(lengths, default=0), self.choice.score in ("immediate", "both")
        at_once = asked_positions(cases, self.choice.sizes, sample) if now else set()
        digests = edits_digests(cases[:last])
        out: list[WorkUnit] = []
        for n in range(1, last + 1):
            at_length = n in lengths and self.choice.score in ("end", "both")
            positions = set(sampled_positions(cases, n, sample)) if at_length else set()
            for position in sorted(positions | ({n} & at_once)):
                case = cases[position - 1]
                out.append(WorkUnit(f"{case.key}@{digests[n]}", case, n, position))
        return out

    def leaders(self, units: Sequence[WorkUnit], cases: Sequence[AnyCase]) -> dict[str, str]:
        """A unit a length: what all cases share is not asked after every single edit."""
        lengths = self._lengths(cases)
        return super().leaders([unit for unit in units if unit.after in lengths], cases)

    def _lengths(self, cases: Sequence[AnyCase]) -> set[int]:
        return lengths_reached(cases, self.choice.sizes)

    def run(
        self, units: Sequence[WorkUnit], missing: Missing, context: RegimeContext
    ) -> Iterator[tuple[WorkUnit, JobResult]]:
        """Edit after edit, from the newest snapshot before the first missing unit on; without one all are made again.

        The model that earlier edits left is needed, so those after the snapshot are made once more.
        """
        todo: dict[int, list[WorkUnit]] = defaultdict(list)
        for unit in units:
            todo[unit.after or 0].append(unit)
        if not todo:
            return
        with ExitStack() as stack:
            sequence = _Sequence(self, context, stack, last=max(todo))
            sequence.begin(first=min(todo))
            for n in range(max(1, sequence.step.after), max(todo) + 1):
                if n > sequence.step.after:
                    sequence.make(n)
                if n in todo:
                    yield from self._asked(todo[n], missing, sequence)

    def _asked(
        self, units: Sequence[WorkUnit], missing: Missing, sequence: _Sequence
    ) -> Iterator[tuple[WorkUnit, JobResult]]:
        """Units of one number of edits; what is noted of the newest edit goes to its own case."""
        chain, step = sequence.chain, sequence.step
        jobs = [Job(u.key, u.case, missing(u)) for u in units]
        results = ask_under(chain.edits, sequence.context.engine, jobs, chain.rewrite)
        for unit, done in zip(units, results, strict=True):
            if unit.position == step.after:
                done = done._replace(
                    notes={**step.notes, **done.notes},
                    seconds_edit=step.seconds,
                    error=step.error,
                    peak_bytes=step.peak_bytes,
                )
                done = done if step.error is None else done._replace(answers=())
            yield unit, done


class _Sequence:
    """The edits of a sequence as they are made: chain, log, snapshots, and the newest edit.

    Args:
        regime: Says the lengths.
        context: Cases, method, engine, model.
        stack: Undoes the edits, and closes the log.
        last: The last edit that is needed.
    """

    def __init__(self, regime: SequentialRegime, context: RegimeContext, stack: ExitStack, *, last: int) -> None:
        self.context, self.lengths = context, regime._lengths(context.cases)
        self.digests = edits_digests(context.cases[:last])
        self.chain = EditChain(context.scorer, stack)
        self.step = SequenceStep(0, {}, None, 0.0, None)
        self._last, self._made, self._seconds = last, 0, 0.0
        self._log = stack.enter_context(Journal(context.folder / FILE, write=True))
        self._snapshots = Snapshots(
            context.folder,
            context.run,
            self.digests,
            lengths=self.lengths,
            every=regime.choice.snapshot_every,
        )

    def begin(self, *, first: int) -> None:
        """Take up the newest state of at most ``first`` edits; at the very beginning, describe the unedited model."""
        context = self.context
        if context.scorer.weights is not None:
            device = torch.device(context.scorer.device)
            found = self._snapshots.resume(self.chain, context.editor, context.cases, device, most=first)
            self.step = found or self.step
        if not self.step.after or self.step.after in self.lengths:
            self._describe()

    def make(self, n: int) -> None:
        """Edit number ``n``: made, applied, logged; at a length described; stored where a snapshot is due."""
        case, digest = self.context.cases[n - 1], self.digests[n]
        pace = self._seconds / self._made if self._made else 0.0
        self.context.engine.on_stage(f"edit {n:,} of {self._last:,}", pace * (self._last - n + 1))
        peak, begun, worked = PeakMemory(self.context.scorer.device), time.perf_counter(), time.process_time()
        try:
            noted, error = plain(self.chain.add(self.context.editor, case.request).notes), None
        except Exception as problem:  # noqa: BLE001 - the sequence goes on without this edit, and says so
            noted, error = {}, one_line(problem)
            log.warning("edit %d of the sequence (%s) failed: %s", n, case.key, error)
            self._snapshots.note_failure(n, error)
        worked, step = (
            time.process_time() - worked,
            SequenceStep(n, noted, error, time.perf_counter() - begun, peak.read()),
        )
        entry = EditEntry(
            after=n,
            case=case.key,
            seconds=step.seconds,
            processor_seconds=worked,
            peak_bytes=step.peak_bytes,
            error=error,
        )
        self.step, self._made, self._seconds = step, self._made + 1, self._seconds + step.seconds
        if digest not in self._log:  # of an edit that is made again the first entry stays
            self._log.append(digest, entry.model_dump(mode="json"))
        self._snapshots.keep(self.chain, self.step)
        if n in self.lengths:
            self._describe()

    def _describe(self) -> None:
        """Log what is to be said of the model as it stands, once."""
        after, chain = self.step.after, self.chain
        key = self.digests[after] + STATE
        if key not in self._log:
            state = described_state(after, chain.norms, chain.edits, chain.rewrite, self.context)
            self._log.append(key, state.model_dump(mode="json"))
