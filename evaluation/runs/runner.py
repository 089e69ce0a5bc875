"""The runner: every editor on every case, asked once, journaled, resumable; the unedited model first.

One unit is one case under one editor (in regimes of many edits: at one number of edits). Its answers are journaled by
probe as soon as an engine hands them over, so a run that was killed goes on where it was, and a metric added later asks
only what was never asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, NamedTuple

from curation.files.journal import Journal
from curation.splits.split_file import Split
from evaluation.engines.base import Engine, Job, JobResult, with_earlier
from evaluation.engines.environment import environment
from evaluation.engines.protocols import EditorLike, Scorer
from evaluation.engines.simple import SimpleEngine
from evaluation.metrics.generation import Generation
from evaluation.regimes.base import Regime, RegimeContext, WorkUnit
from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.table import make_regime
from evaluation.runs.config import RunConfig
from evaluation.runs.known_answers.baseline_answers import BaselineAnswers
from evaluation.runs.known_answers.earlier_answers import EarlierAnswers, chosen_cases, order_in_words
from evaluation.runs.plan import BASELINE, ask, ask_shared, load_metrics, make_manifest, plain_params
from evaluation.runs.results import EditorFolder, check_folder, write_run
from evaluation.runs.shared_probes.asking import SharedAsking, of_states, of_unedited
from evaluation.runs.shared_probes.opening import open_questions, refuse_other_model
from evaluation.runs.shared_probes.state_answers import FILE, StateAnswers
from evaluation.runs.support import Support
from evaluation.runs.validity_variants import cases_as_requested
from evaluation.simplify.editor import with_simplification
from schemas.answers import Answer
from schemas.cases import DocumentCase
from schemas.core.clock import now
from schemas.probes import Probe
from schemas.runs import CaseResult, RunManifest
from schemas.text.counting import counted

ENOUGH_TO_JUDGE = 10  # cases before a failure rate means anything


class EditorProgress(NamedTuple):
    """Progress of one editor: cases finished in all, of them found finished, of them failed; seconds spent on them.

    ``note`` says what goes on where it is not a case.
    """

    label: str
    done: int
    total: int
    resumed: int
    failed: int
    seconds: float
    note: str = ""


class EditorOutcome(NamedTuple):
    """How one editor's part ended; ``stopped`` says why it ended early."""

    label: str
    manifest: RunManifest
    folder: EditorFolder
    computed: int
    resumed: int
    failed: int
    stopped: str | None = None


class _RunRow(NamedTuple):
    """A row of a run: what it is called, the label of its method, and the regime that it runs in."""

    name: str
    label: str
    regime: RegimeChoice


class Runner:
    """Runs a configuration. Results land in ``config.out``.

    Args:
        config: What to run.
        split: Its cases.
        scorer: The model; it must come back unchanged from every edit.
        make: Makes an editor of a name and parameters (``make_editor`` with model and cache bound).
        on_event: Called after every case with the progress.
        retry_failed: Do failed cases and failed probes again.
        support: Cases that methods may learn from.
        engine: How edits are made and scored; one at a time where it is not given.
        answered: Answers of the unedited model from earlier runs.
        environment: Of the process that computes, where it is not this one.
    """

    def __init__(
        self,
        config: RunConfig,
        split: Split,
        *,
        scorer: Scorer,
        make: Callable[[str, dict[str, Any]], EditorLike],
        on_event: Callable[[EditorProgress], None] | None = None,
        retry_failed: bool = False,
        support: Support = Support(),  # noqa: B008 - a value
        engine: Engine | None = None,
        answered: BaselineAnswers | None = None,
        environment: dict[str, Any] | None = None,
    ) -> None:
        self.config, self.split, self.scorer, self.support = config, split, scorer, support
        self._make, self._on_event, self._retry = make, on_event or (lambda event: None), retry_failed
        self.cases = chosen_cases(config, split)
        self._earlier = EarlierAnswers.of(config)
        self._shared = open_questions(config.specificity, config.documents, model=scorer.name, metrics=config.metrics)
        if self._shared is not None:
            refuse_other_model(self._shared.set, model=scorer.name, revision=scorer.revision)
        metrics = load_metrics(
            config.metrics, Generation(config.generation, split.digest, config.events, config.documents, self._shared)
        )
        self._shared_probes = {c.key: ask_shared(c, metrics) for c in self.cases}
        self._asking = SharedAsking()
        self._simplified: dict[str, dict[str, int]] = {}
        self._variants = {k: v.variant_made for k, v in config.editors.items()}
        self._unit_probes: dict[str, dict[str, tuple[Probe, ...]]] = {}
        plainly = {c.key: ask(c, metrics) for c in self.cases}
        for label in dict.fromkeys([BASELINE, *config.editors]):
            variant = self._variants.get(label)
            asks = plainly if variant is None else {c.key: ask(variant.asks(c), metrics) for c in self.cases}
            self._unit_probes[label] = asks
        self._engine = engine or SimpleEngine(scorer, batch_tokens=config.batch_tokens)
        self._answered, self._given_environment = answered, environment

    def run(self) -> list[EditorOutcome]:
        """Every editor in turn, the baseline first. One that fails too often is stopped; the others go on."""
        labels: dict[str, dict[str, Any]] = {BASELINE: {}} | {k: v.params for k, v in self.config.editors.items()}
        names = {BASELINE: BASELINE} | {k: v.name for k, v in self.config.editors.items()}
        editors = {label: self._made(label, names[label], labels[label]) for label in labels}
        for editor in editors.values():
            if editor.wants_split(plain_params(editor)):
                editor.read_split([case.request for case in self.split.all_cases])
        stored = self.config.model_dump(mode="json")
        check_folder(self.config.out, stored, split_digest=self.split.digest, revision=self.scorer.revision)
        rows = [row for label in editors for row in self._rows(label)]
        plans = {
            row.name: make_manifest(
                editors[row.label],
                scorer=self.scorer,
                dtype=self.config.dtype,
                split=self.split,
                support=self.support.digest,
                regime=row.regime.text,
                variant=self._variants.get(row.label),
            )
            for row in rows
        }
        if self._earlier is not None:
            self._earlier.check(plans)
        self._engine.expect(editors.values())
        started = now(zone="Z")
        self._write(plans, started=started, finished=None)
        outcomes = [self._run_editor(row, editors[row.label], plans[row.name]) for row in rows]
        self._write(plans, started=started, finished=now(zone="Z"))
        return outcomes

    def _rows(self, label: str) -> list[_RunRow]:
        """A method's rows: one, or one for each size of a batch; the unedited model has one."""
        if label == BASELINE:
            return [_RunRow(label, label, RegimeChoice())]
        regime = self.config.regime
        return [_RunRow(name, label, part) for name, part in zip(regime.labels(label), regime.parts, strict=True)]

    def _made(self, label: str, name: str, params: dict[str, Any]) -> EditorLike:
        """A method, with the simplification that stands around it."""
        editor, choice = self._make(name, params), self.config.editors.get(label)
        if choice is None or choice.simplify is None:
            return editor
        documents = [case for case in self.cases if isinstance(case, DocumentCase)]
        around = with_simplification(editor, choice.simplify.made(), [case.document for case in documents])
        self._simplified[label] = around.coverage(documents)._asdict()
        return around

    def _write(self, plans: Mapping[str, RunManifest], *, started: str, finished: str | None) -> None:
        out = self.config.out
        description: dict[str, Any] = {
            "config": self.config.model_dump(mode="json"),
            "model": self.scorer.name,
            "model_revision": self.scorer.revision,
            "dtype": self.config.dtype,
            "split": self.split.name,
            "split_version": self.split.version,
            "split_digest": self.split.digest,
            "split_cases": len(self.split.all_cases),
            "cases": [c.key for c in self.cases],
            "order": order_in_words(self.config),
            "metrics": list(self.config.metrics),
            "normalisation": self.config.normalisation,
            "regime": self.config.regime.text,
            "started": started,
            "finished": finished,
            "runs": [],
        }
        for label, manifest in plans.items():
            folder = EditorFolder.of(out, label=label, run=manifest.key)
            entry: dict[str, Any] = {"label": label, "run": manifest.key, "folder": folder.path.name}
            if finished is not None:
                entry["journals"] = folder.journal_sums()
            description["runs"].append(entry)
        if self._simplified:
            description["simplified"] = self._simplified
        if self._shared is not None:
            description["specificity"] = self._shared.description()
        write_run(out, description, self.split)

    @cached_property
    def _environment(self) -> dict[str, Any]:
        """Asked once for all methods: it starts other programs."""
        return self._given_environment or environment(self.scorer.device, weights=self.scorer.weights)

    @cached_property
    def _asked_cases(self) -> set[str]:
        """Keys of the cases that are asked at all: with a sample the unedited model is asked no others."""
        regime = self.config.regime
        if regime.sample is None:
            return {case.key for case in self.cases}
        return {unit.case.key for unit in make_regime(regime).units(self.cases)}

    def _run_editor(self, row: _RunRow, editor: EditorLike, manifest: RunManifest) -> EditorOutcome:
        label, regime = row.label, make_regime(row.regime)
        folder = EditorFolder.of(self.config.out, label=row.name, run=manifest.key)
        variant = self._variants.get(label)
        cases = self.cases if variant is None else cases_as_requested(self.cases, variant, self.split.all_cases)
        units, stopped = [u for u in regime.units(cases) if u.case.key in self._asked_cases], None
        with (
            Journal(folder.journal, write=True) as journal,
            self._shared_asking(label, regime, units, folder) as asking,
        ):
            self._asking = asking
            if not editor.wants_split(plain_params(editor)):
                self._take_over(label, manifest, folder, journal)
            known = {u.key: CaseResult.model_validate(journal[u.key]) for u in units if u.key in journal}
            todo = [u for u in units if self._missing_probes(label, u, known)]
            left = {u.key for u in todo}
            finished_units, computed = len(units) - len(todo), 0
            failed = sum(result.error is not None for key, result in known.items() if key not in left)
            stopped = self._too_many(failed, finished_units) if todo else None
            self._on_event(
                EditorProgress(
                    row.name, finished_units, len(units), finished_units, failed, 0.0, "preparing" if todo else ""
                )
            )
            if todo and not stopped:
                folder.begin(manifest, config=self.config.model_dump(mode="json"), environment=self._environment)
                editor.prepare(self.support.cases)
            begun, busy = time.perf_counter(), 0.0
            context = RegimeContext(cases, editor, self._engine, self.scorer, folder.path, manifest.key)
            for unit, done in () if stopped else self._work(label, regime, todo, known, context):
                done = self._asking.put_aside(unit, done, {p.id for p in self._unit_probes[label][unit.case.key]})
                result = self._result(unit, done, manifest.key, known.get(unit.key))
                journal.append(unit.key, result.model_dump(mode="json"))
                computed, failed = computed + 1, failed + (result.error is not None)
                spent, busy = time.perf_counter() - begun, busy + done.seconds_edit + done.seconds_score
                # Cases made together are told one after the other, when the time of all of them has been spent.
                spent = min(spent, busy) if busy else spent
                self._on_event(
                    EditorProgress(row.name, finished_units + computed, len(units), finished_units, failed, spent)
                )
                if computed < len(todo) and (stopped := self._too_many(failed, finished_units + computed)):
                    break
        return EditorOutcome(row.name, manifest, folder, computed, finished_units, failed, stopped)

    def _take_over(self, label: str, manifest: RunManifest, folder: EditorFolder, journal: Journal) -> None:
        """Journal what an earlier run has answered; not for validity rows, whose requests hang on other cases too."""
        if self._earlier is not None and not self._variants.get(label):
            results = self._earlier.results(manifest, self.cases, self._unit_probes[label])
            if new := {key: result for key, result in results.items() if key not in journal}:
                folder.begin(manifest, config=self.config.model_dump(mode="json"), environment=self._environment)
                self._earlier.take_over(new, manifest, folder, journal)

    @contextmanager
    def _shared_asking(
        self, label: str, regime: Regime, units: Sequence[WorkUnit], folder: EditorFolder
    ) -> Iterator[SharedAsking]:
        """What all cases share, under one method; nothing where no metric asks it."""
        if self._shared is None or not any(self._shared_probes.values()):
            yield SharedAsking()
            return
        wanted = self._shared_probes
        edited = label != BASELINE
        plan = of_states(regime, units, self.cases, wanted) if edited else of_unedited(units, wanted)
        with Journal(folder.path / FILE, write=True) as journal:
            yield SharedAsking(plan, StateAnswers(journal, self._shared), retry=self._retry)

    def _work(
        self, label: str, regime: Regime, todo: list[WorkUnit], known: Mapping[str, CaseResult], context: RegimeContext
    ) -> Iterator[tuple[WorkUnit, JobResult]]:
        """The units as they are finished; of the unedited model first those that earlier runs have answered."""
        shared: dict[str, list[Answer]] = {}
        if label == BASELINE and self._answered is not None:
            for unit in list(todo):
                shared[unit.key] = self._answered.known(self._missing_probes(label, unit, known))
                if len(shared[unit.key]) == len(wanted := self._missing_probes(label, unit, known)):
                    todo.remove(unit)
                    yield unit, JobResult(Job(unit.key, unit.case, wanted), shared[unit.key])

        def missing(unit: WorkUnit) -> tuple[Probe, ...]:
            had = {a.probe for a in shared.get(unit.key, ())}
            return tuple(p for p in self._missing_probes(label, unit, known) if p.id not in had)

        fresh: list[Answer] = []
        for unit, done in regime.run(todo, missing, context):
            fresh += done.answers
            if shared.get(unit.key) and done.error is None:
                job = done.job._replace(probes=self._missing_probes(label, unit, known))
                done = done._replace(job=job, answers=[*shared[unit.key], *done.answers])
            yield unit, done
        if label == BASELINE and self._answered is not None:
            self._answered.keep(fresh)

    def _too_many(self, failed: int, done: int) -> str | None:
        if done < ENOUGH_TO_JUDGE or failed <= self.config.max_failures * done:
            return None
        return f"{failed:,} of {counted(done, 'case')} failed"

    def _missing_probes(self, label: str, unit: WorkUnit, known: Mapping[str, CaseResult]) -> tuple[Probe, ...]:
        """Probes to ask of a unit, those of its state among them; none where it is finished."""
        probes, before = self._unit_probes[label][unit.case.key], known.get(unit.key)
        if before is not None:
            if before.error is not None and not self._retry:
                return ()
            have = {a.probe for a in before.answers if not (self._retry and a.error is not None)}
            probes = tuple(p for p in probes if p.id not in have)
        shared = self._asking.missing(unit)
        return tuple({p.id: p for p in (*probes, *shared)}.values()) if shared else probes

    def _result(self, unit: WorkUnit, done: JobResult, run: str, known: CaseResult | None) -> CaseResult:
        """What is journaled of a unit: new answers beside those that it had."""
        probe_ids = {p.id for p in done.job.probes}
        earlier_answers = () if known is None else tuple(a for a in known.answers if a.probe not in probe_ids)
        return CaseResult(
            run=run,
            case=unit.case.key,
            answers=(*earlier_answers, *done.answers),
            seconds_edit=done.seconds_edit,
            seconds_score=(0.0 if known is None else known.seconds_score) + done.seconds_score,
            peak_bytes=done.peak_bytes,
            notes=with_earlier(done.notes, {} if known is None else known.notes, probe_ids),
            error=done.error,
            after=unit.after,
            position=unit.position,
        )
