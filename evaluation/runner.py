"""The runner: every editor on every case, asked once, journaled, resumable; the unedited model first.

One unit is one case under one editor. Its answers are journaled by probe before the next unit starts, so a run that was
killed goes on where it was, and a metric added later asks only what was never asked.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from curation.journal import Journal
from curation.splits import Split
from evaluation.config import RunConfig
from evaluation.memory import PeakMemory
from evaluation.plan import BASELINE, REGIME, EditorLike, Scorer, ask, choose, load_metrics, make_manifest
from evaluation.results import EditorFolder, now, write_run
from schemas.cases import Case, ScoreProbe
from schemas.runs import CaseResult, RunManifest

log = logging.getLogger(__name__)

ENOUGH_TO_JUDGE = 10  # cases before a failure rate means anything


class Event(NamedTuple):
    """Progress of one editor: cases finished in all, of them found finished, of them failed; seconds spent.

    ``note`` says what goes on where it is not a case.
    """

    label: str
    done: int
    total: int
    found: int
    failed: int
    seconds: float
    note: str = ""


class EditorOutcome(NamedTuple):
    """How one editor's part ended; ``stopped`` says why it ended early."""

    label: str
    manifest: RunManifest
    folder: EditorFolder
    computed: int
    found: int
    failed: int
    stopped: str | None = None


class Runner:
    """Runs a configuration. Results land in ``config.out``.

    Args:
        config: What to run.
        split: Its cases.
        lm: The model; it must come back unchanged from every edit.
        make: Makes an editor of a name and parameters (``make_editor`` with model and cache bound).
        tell: Called after every case with the progress.
        retry_failed: Do failed cases and failed probes again.
    """

    def __init__(
        self,
        config: RunConfig,
        split: Split,
        *,
        lm: Scorer,
        make: Callable[[str, dict[str, Any]], EditorLike],
        tell: Callable[[Event], None] | None = None,
        retry_failed: bool = False,
    ) -> None:
        self.config, self.split, self.lm = config, split, lm
        self._make, self._tell, self._retry = make, tell or (lambda event: None), retry_failed
        self.cases = choose(split, kinds=config.kinds, limit=config.limit)
        metrics = load_metrics(config.metrics)
        self._asked = {c.key: ask(c, metrics) for c in self.cases}
        self._device = str(getattr(lm, "device", config.device))

    def run(self) -> list[EditorOutcome]:
        """Every editor in turn, the baseline first. One that fails too often is stopped; the others go on."""
        labels: dict[str, dict[str, Any]] = {BASELINE: {}} | {k: v.params for k, v in self.config.editors.items()}
        names = {BASELINE: BASELINE} | {k: v.name for k, v in self.config.editors.items()}
        editors = {label: self._make(names[label], labels[label]) for label in labels}
        plans = {
            label: make_manifest(e, lm=self.lm, dtype=self.config.dtype, split=self.split)
            for label, e in editors.items()
        }
        started = now()
        self._write(plans, started=started, finished=None)
        outcomes = [self._one(label, editors[label], plans[label]) for label in editors]
        self._write(plans, started=started, finished=now())
        return outcomes

    def _write(self, plans: Mapping[str, RunManifest], *, started: str, finished: str | None) -> None:
        out = self.config.out
        about = {
            "config": self.config.model_dump(mode="json"),
            "model": self.lm.name,
            "model_revision": self.lm.revision,
            "dtype": self.config.dtype,
            "split": self.split.name,
            "split_version": self.split.version,
            "split_digest": self.split.digest,
            "split_cases": len(self.split.cases),
            "cases": [c.key for c in self.cases],
            "order": "drawn from (split digest, case key); a larger limit keeps the cases of a smaller one",
            "metrics": list(self.config.metrics),
            "normalisation": self.config.normalisation,
            "regime": REGIME,
            "started": started,
            "finished": finished,
            "runs": [
                {"label": k, "run": m.key, "folder": EditorFolder.of(out, label=k, run=m.key).path.name}
                for k, m in plans.items()
            ],
        }
        write_run(out, about, self.split)

    def _one(self, label: str, editor: EditorLike, manifest: RunManifest) -> EditorOutcome:
        folder = EditorFolder.of(self.config.out, label=label, run=manifest.key)
        stopped = None
        with Journal(folder.journal, write=True) as journal:
            known = {c.key: CaseResult.model_validate(journal[c.key]) for c in self.cases if c.key in journal}
            todo = [c for c in self.cases if self._missing(c, known.get(c.key))]
            found, failed, computed = len(self.cases) - len(todo), 0, 0
            failed = sum(known[c.key].error is not None for c in self.cases if c.key in known and c not in todo)
            begun = time.perf_counter()
            if not todo:
                self._tell(Event(label, found, len(self.cases), found, failed, 0.0))
            if todo:
                folder.begin(manifest, config=self.config.model_dump(mode="json"), device=self._device)
            for number, case in enumerate(todo):
                if stopped := self._too_many(failed, found + computed):
                    break
                if number == 0:
                    self._tell(Event(label, found, len(self.cases), found, failed, 0.0, "preparing"))
                    editor.prepare(())
                    begun = time.perf_counter()
                result = self._case(case, editor, manifest.key, known.get(case.key))
                journal.append(case.key, result.model_dump(mode="json"))
                computed, failed = computed + 1, failed + (result.error is not None)
                spent = time.perf_counter() - begun
                self._tell(Event(label, found + computed, len(self.cases), found, failed, spent))
        return EditorOutcome(label, manifest, folder, computed, found, failed, stopped)

    def _too_many(self, failed: int, done: int) -> str | None:
        if done < ENOUGH_TO_JUDGE or failed <= self.config.max_failures * done:
            return None
        return f"{failed} of {done} cases failed"

    def _missing(self, case: Case, known: CaseResult | None) -> tuple[ScoreProbe, ...]:
        """Probes to ask of a case; none where the case is finished."""
        asked = self._asked[case.key]
        if known is None:
            return asked
        if known.error is not None and not self._retry:
            return ()
        have = {a.probe for a in known.answers if not (self._retry and a.error is not None)}
        return tuple(p for p in asked if p.id not in have)

    def _case(self, case: Case, editor: EditorLike, run: str, known: CaseResult | None) -> CaseResult:
        """One unit: edit, apply, ask, undo. An exception becomes the result's error."""
        probes = self._missing(case, known)
        kept = () if known is None else tuple(a for a in known.answers if a.probe not in {p.id for p in probes})
        before = 0.0 if known is None else known.seconds_score
        peak = PeakMemory(self._device)
        start = time.perf_counter()
        scored = 0.0
        try:
            edit = editor.edit([case.fact])
            with edit.on(self.lm):
                begun = time.perf_counter()
                new = self.lm.score(probes, rewrite=edit.rewrite, batch_tokens=self.config.batch_tokens)
                scored = time.perf_counter() - begun
            notes, error = _plain(edit.notes), None
        except Exception as problem:  # one case's fault is that case's result; the others go on
            log.warning("case %s failed: %s", case.key, problem, exc_info=log.isEnabledFor(logging.DEBUG))
            new, notes, error = [], {}, f"{type(problem).__name__}: {problem}"
        peak_bytes = peak.read()
        edited = time.perf_counter() - start - scored
        return CaseResult(
            run=run,
            case=case.key,
            answers=(*kept, *new),
            seconds_edit=edited,
            seconds_score=before + scored,
            peak_bytes=peak_bytes,
            notes=notes,
            error=error,
        )


def _plain(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Notes as JSON values; what JSON does not know becomes a number where it can, else text."""

    def other(value: Any) -> Any:
        try:
            return float(value)
        except (TypeError, ValueError):
            return str(value)

    plain: dict[str, Any] = json.loads(json.dumps(dict(notes), default=other))
    return plain
