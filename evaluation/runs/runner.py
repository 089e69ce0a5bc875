"""A run from its configuration to the store: split and checks, model, every row of the table, its units, the journal.

A row is a method in a regime; the unedited model is the first. A work unit is one case edited by one method; in batch
and sequential regimes it also names the number of edits. The answers of a unit are journaled by probe as soon as an
engine returns them, so a run that was killed resumes there, and a metric added later queries only what is missing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cached_property
from shutil import rmtree
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.files.journal import Journal
from evaluation.editors import EDITORS
from evaluation.editors.base import Editor
from evaluation.editors.own_code import weight_sums
from evaluation.engines.base import REWRITTEN, JobResult, with_earlier
from evaluation.engines.environment import environment
from evaluation.inference.answering import written_probes
from evaluation.models.loading import fixed_order
from evaluation.regimes.base import Regime, RegimeContext, WorkUnit
from evaluation.regimes.config import RegimeChoice
from evaluation.regimes.table import make_regime
from evaluation.runs.cached_answers import CachedAnswers
from evaluation.runs.config import EditorChoice, RunConfig
from evaluation.runs.open_model import OpenModel, open_model
from evaluation.runs.plan import (
    BASELINE,
    Plan,
    ask,
    ask_shared,
    check_model,
    for_model,
    make_manifest,
    methods_of,
    open_plan,
    order_in_words,
    plain_params,
    queried_cases,
    support_for,
)
from evaluation.runs.progress import EditorProgress, RowCounts
from evaluation.runs.results import EditorFolder, write_back, write_run
from evaluation.runs.validity_variants import CHAT, Variant, cases_as_requested, edits_alike
from evaluation.simplify.editor import with_simplification
from schemas.answers import Answer
from schemas.cases import AnyCase, DocumentCase
from schemas.core.clock import now
from schemas.core.errors import UserError
from schemas.probes import Probe
from schemas.runs import CaseResult, RunManifest

if TYPE_CHECKING:
    from evaluation.models.language_model import LM

log = logging.getLogger(__name__)


class EditorOutcome(NamedTuple):
    """How one editor's part ended; ``stopped`` says why it ended early."""

    label: str
    manifest: RunManifest
    folder: EditorFolder
    computed: int
    resumed: int
    failed: int
    stopped: str | None = None


def refuse_stopped(outcomes: Sequence[EditorOutcome], *, fix: str) -> None:
    """Refuse to call a run finished in which a method stopped early, or finished no case.

    Args:
        outcomes: How every method's part ended.
        fix: The next step.

    Raises:
        UserError: names the methods.
    """
    if stopped := [f"{o.label}: {o.stopped}" for o in outcomes if o.stopped]:
        raise UserError(f"stopped early ({'; '.join(stopped)})", fix=fix)
    if fruitless := [o.label for o in outcomes if o.failed and o.failed == o.computed + o.resumed]:
        raise UserError(f"no case was finished by {', '.join(fruitless)}", fix=fix)


def execute(
    config: RunConfig,
    *,
    on_event: Callable[[EditorProgress], None] | None = None,
    retry_failed: bool = False,
    lm: LM | None = None,
) -> list[EditorOutcome]:
    """Run a configuration from the split to the store.

    Args:
        config: What to run.
        on_event: Called after every case.
        retry_failed: Do failed cases again.
        lm: A model that is loaded already (it must be the one that the configuration names).

    Raises:
        UserError: anything that the person can mend; finished cases are stored.
    """
    plan = open_plan(config, lm)
    with fixed_order() if config.deterministic else nullcontext(), open_model(plan, lm) as model:
        plan = for_model(plan, has_chat=model.scorer.has_chat)
        by_default = not config.metrics and not config.behind_endpoint
        if by_default and (texts := written_probes([p for c in plan.cases for p in ask(c, plan.metrics)])):
            log.warning(
                "each method writes %d texts of at most %d tokens in all; metrics = 'teacher-forced' writes none",
                len(texts),
                sum(probe.longest for probe in texts),
            )
        outcomes = Runner(plan, model, on_event=on_event, retry_failed=retry_failed).run()
    if target := config.feed or config.split.store:
        write_back(target, plan.split, [(outcome.manifest, outcome.folder) for outcome in outcomes])
    return outcomes


class RunRow(NamedTuple):
    """One row of a run's table.

    Attributes:
        name: What it is called.
        label: The method's label.
        regime: The regime that it runs in.
        editor: The method.
        manifest: What its numbers depend on.
        variant: A control condition.
        probes: What is queried of each case, by its key.
    """

    name: str
    label: str
    regime: RegimeChoice
    editor: Editor
    manifest: RunManifest
    variant: Variant | None
    probes: Mapping[str, tuple[Probe, ...]]

    def form(self, probe: Probe) -> Probe:
        """A probe in the form in which the model is asked it."""
        return probe if self.variant is None else self.variant.probe(probe)

    @property
    def unedited(self) -> bool:
        """Whether it is the unedited model, whose answers are every method's "before"."""
        return self.label == BASELINE


class BegunRow:
    """A row while it is computed.

    Attributes:
        row: What it is.
        folder: Where its results stand.
        journal: Its results so far, by unit.
        known: The same, with cached answers.
        tally: How many cases are finished, computed and failed.
        computed: New answers.
    """

    def __init__(
        self,
        row: RunRow,
        folder: EditorFolder,
        journal: Journal,
        known: dict[str, CaseResult],
        specificity: Mapping[str, tuple[Probe, ...]],
        tally: RowCounts,
        *,
        retry: bool,
    ) -> None:
        self.row, self.folder, self.journal, self.known, self.tally = row, folder, journal, known, tally
        self._specificity, self._retry = specificity, retry
        self.computed = list[Answer]()

    def missing(self, unit: WorkUnit) -> tuple[Probe, ...]:
        """Probes without an answer; none if the unit failed and failures are not to be done again."""
        probes = {p.id: p for p in (*self.row.probes[unit.case.key], *self._specificity.get(unit.key, ()))}
        before = self.known.get(unit.key)
        if before is None:
            return tuple(probes.values())
        if before.error is not None and not self._retry:
            return ()
        have = {a.probe for a in before.answers if not (self._retry and a.error is not None)}
        return tuple(p for p in probes.values() if p.id not in have)

    def take(self, unit: WorkUnit, done: JobResult) -> bool:
        """Journal what became of a unit, where something was missing; whether the method is to be stopped."""
        probes = self.missing(unit)
        if not probes:
            return False
        mine = _part(done, {self.row.form(probe).id: probe for probe in probes})
        result = _result(unit, mine, self.row.manifest.key, self.known.get(unit.key))
        self.journal.append(unit.key, result.model_dump(mode="json"))
        self.computed += mine.answers
        return self.tally.count(result, mine)

    def outcome(self) -> EditorOutcome:
        """How it ended."""
        row, tally = self.row, self.tally
        return EditorOutcome(
            row.name, row.manifest, self.folder, tally.computed, tally.resumed, tally.failed, tally.stopped
        )


def _part(done: JobResult, probes: Mapping[str, Probe]) -> JobResult:
    """The part of a result that answers some probes, each answer under the id of the probe itself.

    Args:
        done: The result.
        probes: By the id of the form in which they were asked.
    """
    answers = [a.model_copy(update={"probe": probes[a.probe].id}) for a in done.answers if a.probe in probes]
    share = len(probes) / len(done.job.probes)
    prompts = [one for one in done.notes.get(REWRITTEN, ()) if not probes.keys().isdisjoint(one["probes"])]
    notes = {**done.notes, **({REWRITTEN: prompts} if prompts else {})}
    job = done.job._replace(probes=tuple(probes.values()))
    return done._replace(job=job, answers=answers, notes=notes, seconds_score=done.seconds_score * share)


def _same_edits(rows: Sequence[RunRow], choices: Mapping[str, EditorChoice]) -> list[list[RunRow]]:
    """Rows in groups: a method's row with those of its variants in which the same edits are only asked otherwise."""
    groups: list[list[RunRow]] = []
    for row in sorted(rows, key=lambda one: one.variant is not None):
        plain = choices[row.label].model_copy(update={"variant": None})
        alike = row.variant is not None and edits_alike(row.variant)
        group = next((g for g in groups if choices[g[0].label] == plain and g[0].regime == row.regime), None)
        if alike and group is not None:
            group.append(row)
        else:
            groups.append([row])
    return groups


class Runner:
    """Runs a plan on a model that is open. Results are written to ``config.out``.

    Args:
        plan: What to run, on which cases.
        model: The model with its engine; it must come back unchanged from every edit.
        on_event: Called after every case with the progress.
        retry_failed: Do failed cases and failed probes again.
    """

    def __init__(
        self,
        plan: Plan,
        model: OpenModel,
        *,
        on_event: Callable[[EditorProgress], None] | None = None,
        retry_failed: bool = False,
    ) -> None:
        self.plan, self.model = plan, model
        self.config, self.split, self.cases, self.scorer = plan.config, plan.split, plan.cases, model.scorer
        self._on_event, self._retry = on_event or (lambda event: None), retry_failed
        self._cached = CachedAnswers(model.answers, plan.earlier)
        self._simplified: dict[str, dict[str, int]] = {}

    def run(self) -> list[EditorOutcome]:
        """Every row in turn, the unedited model first. A method that fails too often is stopped; the others run."""
        check_model(self.plan, name=self.scorer.name, revision=self.scorer.revision)
        labels = methods_of(self.plan, has_chat=self.scorer.has_chat)
        if not labels.keys() >= self.config.editors.keys():
            no_template = f"{self.scorer.name} has no chat template"
            why = "all metrics ask in chat format in any row" if self.scorer.has_chat else no_template
            log.warning("%s: the rows [%s] are left out", why, CHAT)
        rows = [row for label, choice in labels.items() for row in self._rows(label, choice)]
        self._cached.check(row.manifest for row in rows)
        self.model.engine.expect({row.label: row.editor for row in rows}.values())
        started = now(zone="Z")
        self._write(rows, started=started, finished=None)
        outcomes = {outcome.label: outcome for group in _same_edits(rows, labels) for outcome in self._run_rows(group)}
        self._write(rows, started=started, finished=now(zone="Z"))
        return [outcomes[row.name] for row in rows]

    def _rows(self, label: str, choice: EditorChoice) -> list[RunRow]:
        """A method's rows: one, or one for each size of a batch; the unedited model has one."""
        editor, variant = self._made(label, choice), choice.variant_made
        if editor.wants_split(plain_params(editor)):
            editor.read_split([case.request for case in self.split.all_cases])
        probes = {c.key: ask(c if variant is None else variant.asks(c), self.plan.metrics) for c in self.cases}
        regime = RegimeChoice() if label == BASELINE else self.config.regime
        rows = []
        for name, part in zip(regime.labels(label), regime.parts, strict=True):
            manifest = make_manifest(
                editor,
                scorer=self.scorer,
                dtype=self.config.dtype,
                split=self.split,
                support=self.plan.support.digest,
                regime=part.text,
                variant=variant,
            )
            rows.append(RunRow(name, label, part, editor, manifest, variant, probes))
        return rows

    def _made(self, label: str, choice: EditorChoice) -> Editor:
        """A method, with the simplification of documents around it."""
        editor: Editor = self.model.make(choice.name, choice.params)
        if choice.simplify is None:
            return editor
        documents = [case for case in self.cases if isinstance(case, DocumentCase)]
        around = with_simplification(editor, choice.simplify.made(), [case.document for case in documents])
        self._simplified[label] = around.coverage(documents)._asdict()
        return around

    def _run_rows(self, rows: Sequence[RunRow]) -> list[EditorOutcome]:
        """Missing units of rows whose edits are the same: cached answers first, then what the regime computes.

        Each edit is made once and asked what any of the rows lacks; every row has a journal of its own.
        """
        first = rows[0]
        regime, cases = make_regime(first.regime), self.cases
        if first.variant is not None:
            cases = cases_as_requested(self.cases, first.variant, self.split.all_cases)
        units = [unit for unit in regime.units(cases) if unit.case.key in self._queried]
        sums = self._sums(first)
        with ExitStack() as stack:
            begun = [stack.enter_context(self._begun(row, regime, units, cases)) for row in rows]
            todo = [unit for unit in units if any(one.missing(unit) for one in begun)]
            if todo and not any(one.tally.stopped for one in begun):
                first.editor.prepare(support_for(first.editor, self.plan.support.cases))
                context = RegimeContext(
                    cases, first.editor, self.model.engine, self.scorer, begun[0].folder.path, first.manifest.key
                )

                def asked(unit: WorkUnit) -> tuple[Probe, ...]:
                    forms = (one.row.form(probe) for one in begun for probe in one.missing(unit))
                    return tuple({probe.id: probe for probe in forms}.values())

                self.model.engine.on_stage = begun[0].tally.stage
                for unit, done in regime.run(todo, asked, context):
                    ended = [one.take(unit, done) for one in begun]
                    if any(ended):
                        break
        if self._sums(first) != sums:
            for one in begun:
                rmtree(one.folder.path)
            raise UserError(
                f"'{first.editor.name}' changed the weights of the model itself: its results were removed",
                fix="return the change as a WeightEdit (docs: Add a method), and load the model anew",
            )
        if first.unedited:
            self._cached.add(begun[0].computed)
        return [one.outcome() for one in begun]

    def _sums(self, row: RunRow) -> str:
        """Sums of the weights, where the method is a class of this process alone, which nobody has tested yet."""
        looked_at = EDITORS.is_added(row.editor.name) and self.scorer.weights is not None
        return weight_sums(self.scorer.weights) if looked_at else ""

    @contextmanager
    def _begun(
        self, row: RunRow, regime: Regime, units: Sequence[WorkUnit], cases: Sequence[AnyCase]
    ) -> Iterator[BegunRow]:
        """A row with its journal open, and what is cached taken over."""
        folder = EditorFolder.of(self.config.out, label=row.name, run=row.manifest.key)
        specificity = self._specificity(row, regime, units, cases)
        with Journal(folder.journal, write=True) as journal:
            known = {u.key: CaseResult.model_validate(journal[u.key]) for u in units if u.key in journal}
            tally = RowCounts(row.name, self._on_event, len(units), self.config.max_failures)
            begun = BegunRow(row, folder, journal, known, specificity, tally, retry=self._retry)
            folder.begin(row.manifest, config=self.config.model_dump(mode="json"))
            todo = [unit for unit in units if begun.missing(unit)]
            if todo or not folder.sessions.exists():
                folder.add_sessions(self._environment)
                todo = self._take_cached(begun, todo)
            left = {unit.key for unit in todo}
            tally.begin(sum(r.error is not None for k, r in known.items() if k not in left), len(units) - len(todo))
            yield begun

    def _specificity(
        self, row: RunRow, regime: Regime, units: Sequence[WorkUnit], cases: Sequence[AnyCase]
    ) -> dict[str, tuple[Probe, ...]]:
        """Specificity probes by the unit that queries them: once in every state of the model.

        The unedited model is in one state, so its first unit queries what is drawn for any case.
        """
        drawn = {case.key: ask_shared(case, self.plan.metrics) for case in self.cases}
        if not any(drawn.values()) or not units:
            return {}
        if row.unedited:
            return {units[0].key: tuple(probe for probes in drawn.values() for probe in probes)}
        leaders = regime.leaders(units, cases)
        return {unit.key: drawn[unit.case.key] for unit in units if unit.key in leaders}

    def _take_cached(self, begun: BegunRow, todo: Sequence[WorkUnit]) -> list[WorkUnit]:
        """Put cached answers among the known ones; returns the units that still lack some.

        Requests of a control condition and of a method that reads the whole split depend on other cases: nothing is
        taken over there.
        """
        row = begun.row
        if row.variant is not None or row.editor.wants_split(plain_params(row.editor)):
            return list(todo)
        taken, left = [], []
        for unit in todo:
            cached = self._cached.find(row.manifest, unit.case, begun.missing(unit), unedited=row.unedited)
            if cached is not None:
                before = begun.known.get(unit.key)
                if before is not None:
                    cached = cached.model_copy(update={"answers": (*before.answers, *cached.answers)})
                begun.known[unit.key] = cached
                taken.append(cached)
            if begun.missing(unit):
                left.append(unit)
            elif cached is not None:
                begun.journal.append(unit.key, cached.model_dump(mode="json"))
        self._cached.note(begun.folder, row.manifest, taken)
        return left

    def _write(self, rows: Sequence[RunRow], *, started: str, finished: str | None) -> None:
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
            "metrics": [metric.name for metric in self.plan.metrics],
            "normalisation": self.config.normalisation,
            "regime": self.config.regime.text,
            "started": started,
            "finished": finished,
            "runs": [],
        }
        for row in rows:
            folder = EditorFolder.of(out, label=row.name, run=row.manifest.key)
            entry: dict[str, Any] = {"label": row.name, "run": row.manifest.key, "folder": folder.path.name}
            if finished is not None:
                entry["journals"] = folder.journal_sums()
            description["runs"].append(entry)
        if self._simplified:
            description["simplified"] = self._simplified
        if self.plan.questions is not None:
            description["specificity"] = self.plan.questions.description()
        write_run(out, description, self.split)

    @cached_property
    def _environment(self) -> dict[str, Any]:
        """Read once for all methods: it starts other programs."""
        return self.model.environment or environment(self.scorer.device, weights=self.scorer.weights)

    @cached_property
    def _queried(self) -> set[str]:
        return queried_cases(self.config, self.cases)


def _result(unit: WorkUnit, done: JobResult, run: str, known: CaseResult | None) -> CaseResult:
    """What is journaled of a unit: new answers beside those that it had."""
    probe_ids = {p.id for p in done.job.probes}
    before = () if known is None else tuple(a for a in known.answers if a.probe not in probe_ids)
    return CaseResult(
        run=run,
        case=unit.case.key,
        answers=(*before, *done.answers),
        seconds_edit=done.seconds_edit,
        seconds_score=(0.0 if known is None else known.seconds_score) + done.seconds_score,
        peak_bytes=done.peak_bytes,
        notes=with_earlier(done.notes, {} if known is None else known.notes, probe_ids),
        error=done.error,
        after=unit.after,
        position=unit.position,
    )
