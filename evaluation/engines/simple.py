"""``SimpleEngine``, the reference: one edit at a time, applied, asked, reverted."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from typing_extensions import override

from evaluation.editors.base import Editor
from evaluation.edits.edit import own_answers
from evaluation.engines.base import Engine, Job, JobResult, plain, rewritten
from evaluation.engines.peak_memory import PeakMemory
from evaluation.inference.answering import Scorer, answer
from schemas.answers import Answer
from schemas.core.errors import one_line

log = logging.getLogger(__name__)


class SimpleEngine(Engine):
    """One edit at a time: the slow reference path.

    Args:
        scorer: The model; every edit leaves it as it was.
        batch_tokens: Most tokens of one forward pass.
    """

    def __init__(self, scorer: Scorer, *, batch_tokens: int = 4096) -> None:
        self.scorer, self.batch_tokens = scorer, batch_tokens

    @override
    def work(self, editor: Editor, jobs: Sequence[Job]) -> Iterator[JobResult]:
        for job in jobs:
            yield self._run_job(editor, job)

    def _run_job(self, editor: Editor, job: Job) -> JobResult:
        peak, start, scored = PeakMemory(self.scorer.device), time.perf_counter(), 0.0
        answers: Sequence[Answer] = ()
        notes: dict[str, Any] = {}
        error = None
        try:
            edit = editor.edit([job.case.request])
            with edit.on(self.scorer.editable):
                begun = time.perf_counter()
                direct = own_answers([edit], job.probes)
                if direct is None:
                    direct = answer(self.scorer, job.probes, rewrite=edit.rewrite, batch_tokens=self.batch_tokens)
                answers = direct
                scored = time.perf_counter() - begun
            notes = plain(edit.notes) | rewritten(job.probes, edit.rewrite)
        except Exception as problem:  # one case's fault is that case's result; the others go on
            answers, notes, error = (), {}, one_line(problem)
            log.warning("case %s failed: %s", job.case.key, error, exc_info=log.isEnabledFor(logging.DEBUG))
        top = peak.read()
        edited = time.perf_counter() - start - scored
        return JobResult(job, answers, notes, error, edited, scored, top)

    @override
    def ask(self, jobs: Sequence[Job], *, rewrite: Callable[[str], str] | None) -> list[JobResult]:
        out = []
        for job in jobs:
            begun = time.perf_counter()
            answers = answer(self.scorer, job.probes, rewrite=rewrite, batch_tokens=self.batch_tokens)
            spent = time.perf_counter() - begun
            out.append(JobResult(job, answers, rewritten(job.probes, rewrite), seconds_score=spent))
        return out
