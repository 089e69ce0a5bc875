"""``FastEngine``: a group of edits made together, their probes scored in shared passes, each row under its own edit.

Its answers equal those of the reference, ``evaluation.engines.simple.SimpleEngine``, within 1e-4 nats in float32.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from evaluation.editors.base import Editor
from evaluation.edits.edit import Edit, check_edit, own_answers
from evaluation.engines.base import Engine, Job, JobResult, plain, rewritten
from evaluation.engines.peak_memory import PeakMemory
from evaluation.inference.answering import ModelScorer, answer, merge_answers, scored_probes, write_each, written_probes
from evaluation.inference.passes import EditedProbes
from evaluation.models.devices import device_fault, free_memory, least_free_bytes, out_of_memory
from schemas.answers import Answer
from schemas.core.errors import one_line
from schemas.text.counting import counted

if TYPE_CHECKING:
    from evaluation.inference.batched_scoring import EditScorer
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)

GROUP = {"cpu": 32, "cuda": 256}
"""Cases whose edits are made together, at most; a killed run loses at most one group's work. Where a method reads
several facts in a request (a document), it is that many facts."""

SHARE_OF_EDITS = 0.25
"""Of a CUDA device's free memory, what the edits of one group may take; the rest is for making and scoring them."""


class FastEngine(Engine):
    """Groups of edits made together, scored together.

    Args:
        lm: The model.
        scorer: Scores under many edits; made for the model where it is not given.
        group: Cases in a group, at most: where edits are large beside the memory of a CUDA device, there are fewer.
    """

    def __init__(self, lm: LM, *, scorer: EditScorer | None = None, group: int | None = None) -> None:
        from evaluation.inference.batched_scoring import EditScorer

        self.lm, self.scorer = lm, scorer or EditScorer(lm)
        self.group = group or GROUP.get(lm.device.type, GROUP["cpu"])
        self._logged_sizes: dict[str, int] = {}

    def expect(self, editors: Iterable[Editor]) -> None:
        """Keep what the unedited model computes below the layers at which these methods' edits begin."""
        layers = {layer for editor in editors if (layer := editor.first_layer)}
        self.scorer.stored.layers = frozenset(layers)

    @override
    def work(self, editor: Editor, jobs: Sequence[Job]) -> Iterator[JobResult]:
        waiting = deque(jobs)
        while waiting:
            yield from self._run_together(editor, self._next_group(editor, waiting))

    def _next_group(self, editor: Editor, waiting: deque[Job]) -> list[Job]:
        """The first of the jobs that wait, taken from them: together not more cases or facts than fit, one at least."""
        most, facts = self.fitting_group(editor), 0
        group: list[Job] = []
        while waiting and len(group) < most:
            facts += max(1, editor.facts_in(waiting[0].case.request))
            if group and facts > most:
                break
            group.append(waiting.popleft())
        return group

    def fitting_group(self, editor: Editor) -> int:
        """Cases in the next group: as many as were asked for, where the device has room for that many edits."""
        if self.lm.device.type != "cuda" or not (each := editor.bytes_an_edit):
            return self.group
        fits = max(1, min(self.group, int(SHARE_OF_EDITS * least_free_bytes(self.lm.devices)) // each))
        if fits < self.group and fits != self._logged_sizes.get(str(editor.name)):
            reason = f"an edit of '{editor.name}' takes {each:,} bytes of the device"
            log.warning("%s: groups of %d cases, not %d", reason, fits, self.group)
            self._logged_sizes[str(editor.name)] = fits
        return fits

    def _run_together(self, editor: Editor, jobs: list[Job]) -> list[JobResult]:
        peak, start = PeakMemory(*map(str, self.lm.devices)), time.perf_counter()
        self.on_stage(f"editing, then scoring {counted(len(jobs), 'case')}", 0.0)  # one line: a log shows few
        edits = _edits(editor, jobs)
        edited = (time.perf_counter() - start) / len(jobs)
        start, applying = time.perf_counter(), dict[str, float]()
        ready = [(job, edit) for job, edit in zip(jobs, edits, strict=True) if not isinstance(edit, Exception)]
        answers = dict(zip([job.key for job, _ in ready], self._score(ready, applying), strict=True))
        scored = time.perf_counter() - start - sum(applying.values())
        share = scored / max(1, sum(len(job.probes) for job in jobs))
        top, out = peak.read(), []
        for job, edit in zip(jobs, edits, strict=True):
            outcome = edit if isinstance(edit, Exception) else answers[job.key]
            if isinstance(outcome, Exception) or isinstance(edit, Exception):
                problem = outcome if isinstance(outcome, Exception) else edit
                assert isinstance(problem, Exception)
                error = one_line(problem)
                log.warning("case %s failed: %s", job.case.key, error)
                out.append(JobResult(job, error=error, seconds_edit=edited, peak_bytes=top))
                continue
            notes, made = plain(edit.notes) | rewritten(job.probes, edit.rewrite), edited + applying.get(job.key, 0.0)
            out.append(JobResult(job, outcome, notes, None, made, share * len(job.probes), top))
        return out

    def _score(self, edits: list[tuple[Job, Any]], applying: dict[str, float]) -> list[list[Answer] | Exception]:
        """Answers under every edit; edits that cannot share a batch are applied one at a time.

        Args:
            edits: With the job of each.
            applying: Takes the seconds that this took, by the job's key: some methods train then.
        """
        outcomes: dict[str, list[Answer] | Exception] = {}
        for job, edit in edits:
            prompts = [probe.prompt for probe in job.probes]
            _value_or_error(partial(edit.expect, prompts))  # a fault shows again when the prompt is asked
        sharing = [(job, edit) for job, edit in edits if _shares(edit)]
        edited = [EditedProbes(edit.deltas, edit.rewrite, job.probes) for job, edit in sharing]
        together: Sequence[list[Answer]] | None = None
        try:
            together = _ask(self.scorer, edited)
        except Exception as problem:
            log.debug("scoring a group failed (%s); its cases are scored one by one", problem, exc_info=True)
        if together is None:  # outside the handler, whose traceback would keep the failed pass's tensors alive
            free_memory()
        for n, ((job, _), one) in enumerate(zip(sharing, edited, strict=True)):
            outcomes[job.key] = together[n] if together else _value_or_error(partial(self._ask_one, one))
        for n, (job, edit) in enumerate(edits, 1):
            if not _shares(edit):
                self.on_stage(f"edit {n} of {len(edits)}", 0.0)  # some methods train when an edit is applied
                outcomes[job.key] = _value_or_error(partial(self._ask_alone, edit, job, applying))
        return [outcomes[job.key] for job, _ in edits]

    def _ask_one(self, probes: EditedProbes) -> list[Answer]:
        return _ask(self.scorer, [probes])[0]

    def _ask_alone(self, edit: Edit, job: Job, applying: dict[str, float]) -> list[Answer]:
        own_texts = own_answers([edit], job.probes)
        if own_texts is not None:
            return own_texts
        begun = time.perf_counter()
        with edit.on(self.lm):
            applying[job.key] = time.perf_counter() - begun
            return answer(ModelScorer(self.lm), job.probes, rewrite=edit.rewrite)

    def ask(self, jobs: Sequence[Job], *, rewrite: Callable[[str], str] | None) -> list[JobResult]:
        """See ``Engine``. The model may be an edited one, so nothing of it is kept."""
        start = time.perf_counter()
        answers_by_job = _ask(self.scorer.without_cache(), [EditedProbes((), rewrite, job.probes) for job in jobs])
        share = (time.perf_counter() - start) / max(1, sum(len(job.probes) for job in jobs))
        return [
            JobResult(job, answers, rewritten(job.probes, rewrite), seconds_score=share * len(job.probes))
            for job, answers in zip(jobs, answers_by_job, strict=True)
        ]


def _shares(edit: Edit) -> bool:
    """Whether an edit is scored in one batch with others."""
    return edit.deltas is not None and own_answers([edit], ()) is None


def _ask(scorer: EditScorer, probes: Sequence[EditedProbes]) -> list[list[Answer]]:
    """Answers of every edit in the order of its probes: log-probabilities in shared passes, then texts likewise."""
    scores = scorer.score([one._replace(probes=scored_probes(one.probes)) for one in probes])
    if not any(written_probes(one.probes) for one in probes):
        return scores
    texts = write_each(scorer.lm, probes)
    return [merge_answers(one.probes, *both) for one, *both in zip(probes, scores, texts, strict=True)]


def _edits(editor: Editor, jobs: Sequence[Job]) -> list[Any]:
    """One edit a job, made together; an exception stands where one cannot be made."""
    try:
        return [check_edit(edit) for edit in editor.edit_each([job.case.request for job in jobs])]
    except Exception as problem:  # find out whose fault it is
        if len(jobs) == 1 or (device_fault(problem) and not out_of_memory(problem)):
            return [problem] * len(jobs)  # a fault of the device belongs to no case: it is reported, not worked around
        log.debug("editing a group failed (%s); its cases are edited one by one", problem, exc_info=True)
    free_memory()
    return [_value_or_error(partial(_edit_of, editor, job)) for job in jobs]


def _edit_of(editor: Editor, job: Job) -> Edit:
    """The edit of one job, made alone."""
    made: Edit = check_edit(editor.edit([job.case.request]))
    return made


def _value_or_error(call: Callable[[], Any]) -> Any:
    """What a call returns, or its exception as a value."""
    try:
        return call()
    except Exception as problem:  # noqa: BLE001 - one case's fault is that case's result
        return problem
