"""One construction as a person asks for it: facts and options of a command, made into work, plan and session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pydantic import NonNegativeInt, PositiveInt
from typing_extensions import override

from construction.authoring.author import Author
from construction.llm.client import Client
from construction.llm.dry_run import DryRunClient, NoStore, dry_run, recorded_replies
from construction.llm.endpoint import Access
from construction.llm.reply_cache import ReplyCache
from construction.pipeline.author_models import ScriptAuthor, profile_of, script_authors, verifier
from construction.pipeline.cost_estimate import ConstructionEstimate, estimate
from construction.pipeline.earlier_runs import (
    dropped_in,
    earlier_generations,
    sentence,
)
from construction.pipeline.pipeline import Construction, author_of
from construction.pipeline.plan import AHEAD, Choice, ConstructionPlan, ConstructionWork, plan_work
from construction.pipeline.runner import ConstructionProgress, PreparedWork, ProgressDisplay, WritingJob
from construction.prompts.prompt_file import FILES
from curation.files.local_models import LOCAL, names_a_file
from curation.files.model_packages import EMBEDDED
from curation.loaders.base import LoadResult
from curation.loaders.importer import import_facts, load_as_known
from curation.store.import_sources import SourceUpdate
from curation.store.store import Store
from schemas.core.errors import UserError
from schemas.facts import Fact
from schemas.verdicts import Verdict

_CAPABLE = "paper"  # profile of prompts for all models that have none of their own


class ConstructionJob(WritingJob):
    """What is to be constructed, from what, with which models.

    Attributes:
        facts: File of facts, or ``shipped``.
        access: The model that writes the questions, and how it is asked.
        format_name: Format of the file; found from the file where left out.
        skip_bad: Leave bad records out instead of stopping.
        named: Who writes the scripts, as ``--author`` names them.
        reader_name: Who reads what the checks let pass, as ``--verify`` names it; left out, a model behind an endpoint
            reads what it wrote.
        unverified: No model reads it, and nobody need to; else what no model read is ``unsure``.
        table_paths: Files of more facts that may be neighbours.
        limit: Facts to edit at most.

    The other attributes are those of ``WritingJob`` and ``ConstructionPlan``; without ``questions`` or ``candidates``
    the questions prompt says how many.
    """

    facts: str
    format_name: str | None = None
    skip_bad: bool = False
    questions: PositiveInt | None = None
    candidates: PositiveInt | None = None
    scripts: NonNegativeInt = 1
    named: tuple[str, ...] = ()
    reader_name: str | None = None
    unverified: bool = False
    neighbours: NonNegativeInt = 2
    neighbour_questions: PositiveInt = 1
    neighbours_by: str = "tfidf"
    table_paths: tuple[str, ...] = ()
    limit: PositiveInt | None = None
    generation: Choice | None = None

    @property
    def question_access(self) -> Access:
        """How the model that writes the questions is asked; context and threads may be meant for another's file."""
        beside = any(names_a_file(name) for name in (*self.named, self.reader_name or ""))
        if self.access.on_this_machine or not beside:
            return self.access
        return self.access.model_copy(update={"context": None, "threads": None})

    @property
    def plan(self) -> ConstructionPlan:
        """What to construct; the prompts of the profile say how many questions to keep and to ask for.

        Raises:
            UserError: no such profile, or a broken prompt.
        """
        profile = self.profile or profile_of(self.access, _CAPABLE)
        wording = FILES.load_all(profile, self.prompts_path)["questions"]
        candidates, remote = self.candidates, not self.access.on_this_machine
        questions = self.questions or min(wording.questions, candidates or wording.questions)
        if candidates is None and wording.candidates > 1:
            candidates = questions * wording.candidates
        return ConstructionPlan(
            profile=profile,
            prompts=self.prompts_path,
            questions=questions,
            candidates=candidates,
            scripts=self.scripts,
            neighbours=self.neighbours,
            neighbour_questions=self.neighbour_questions,
            neighbours_by=self.neighbours_by,
            batch=1 if self._one_by_one else max(self.batch, (self.access.concurrency or 0) if remote else 0),
            ahead=0 if self._one_by_one else AHEAD,
            generation=self.generation,
            unread=_reader(self) is None and not self.unverified,
        )

    @property
    def _one_by_one(self) -> bool:
        """Whether a fact is finished before the next is begun: a stopped run holds facts, and not only questions.

        A model that answers one call at a time gains little from more facts in the making: it reads its examples anew
        where it turns from questions to scripts, which is twice a fact instead of once in eight (of the characters of
        312 calls 12 instead of 8 in a hundred).
        """
        alone = not (self.named or self.reader_name)
        return alone and self.access.on_this_machine and (self.access.concurrency or 1) == 1


class PreparedJob(PreparedWork[ConstructionProgress]):
    """A construction whose facts are read and whose neighbours are drawn.

    Args:
        plan: What to construct.
        work: The facts to work on.
        job: What was asked for, with the model as it is asked.
        authors: Who writes the scripts.
        reader: Who reads what the checks let pass, where somebody should.
        loaded: What the file holds.
        tables: What each file of further neighbours holds, by its path.
    """

    job: ConstructionJob

    def __init__(
        self,
        plan: ConstructionPlan,
        work: ConstructionWork,
        job: ConstructionJob,
        authors: Sequence[ScriptAuthor],
        reader: ScriptAuthor | None,
        loaded: LoadResult,
        tables: Mapping[str, LoadResult] | None = None,
    ) -> None:
        super().__init__(job, [who.access for who in (*authors, *([reader] if reader else []))])
        self.plan, self.work, self.authors, self.reader = plan, work, authors, reader
        self.loaded, self.tables = loaded, tables or {}

    def author(self, clients: Sequence[Client], dropped: Mapping[str, Verdict]) -> Author:
        """Who writes, with a client for the job's model and for each further one.

        Args:
            clients: The clients, in the order of ``others``.
            dropped: What was dropped in the store since an earlier run.
        """
        first, *others = clients
        reader = others.pop() if self.reader else None
        writers = [(client, who.profile) for client, who in zip(others, self.authors, strict=True)]
        return author_of(self.plan, first, writers=writers, reader=reader, dropped=dropped)

    def import_facts(self) -> SourceUpdate:
        """Put the file's facts into the store as ``scedit data import`` does; with a limit, those to work on.

        Of files of further neighbours the facts to work on are put there.

        Raises:
            ConflictError: keys that another source uses for other content.
        """
        chosen = {f.key for f in (*self.work.edits, *self.work.others)}
        own = _facts_of(self.loaded)
        for path, table in self.tables.items():
            facts = [f for key, f in _facts_of(table).items() if key in chosen and key not in own]
            if facts:
                import_facts(path, self.job.store, facts, format=table.format, whole=False)
        whole = self.job.limit is None
        facts = [f for key, f in own.items() if whole or key in chosen]
        return import_facts(self.job.facts, self.job.store, facts, format=self.loaded.format, whole=whole)

    def changed_facts(self) -> list[str]:
        """Keys of the file's facts that the store has with other content."""
        if not self.job.store.exists():
            return []
        own = _facts_of(self.loaded)
        with Store.open(self.job.store) as store:
            return [fact.key for fact in store.by_keys(Fact, own) if fact.id != own[fact.key].id]

    def estimate(self) -> ConstructionEstimate:
        """What it will ask and what that costs; cached replies are not counted."""
        accesses = (self.job.access, *self.others)
        with recorded_replies(self.job.journal, self.job.access) as cache:
            earlier, dropped = self._stored(cache)

            async def work(clients: list[DryRunClient]) -> None:
                await Construction(NoStore(), self.author(clients, dropped), self.plan, origin="")(self.work)

            clients = dry_run(accesses, work, cache, attempts=self.job.attempts)
        names = ["questions", *(f"scripts, {a.access.label}" if self.job.named else "scripts" for a in self.authors)]
        names += [f"verify, {self.reader.access.label}"] if self.reader else []
        return estimate(self.work, self.plan, dict(zip(names, clients, strict=True)), accesses, earlier=earlier)

    def earlier(self, store: Store, cache: ReplyCache | None) -> list[str]:
        """What stands in the store by another model, prompt or number."""
        return earlier_generations(store, self.work, self.plan, self.job.access.label, self.authors, cache)

    def _stored(self, cache: ReplyCache | None) -> tuple[str, dict[str, Verdict]]:
        """A sentence on what another model wrote, and what was dropped; nothing where the store cannot be read now."""
        if not self.job.store.exists():
            return "", {}
        try:
            with Store.open(self.job.store) as store:
                earlier, dropped = self.earlier(store, cache), dropped_in(store)
        except UserError:
            return "", {}
        choice = {"add": " beside it (--add)", "replace": " in its place (--replace)", None: ": --add or --replace"}
        return f"{sentence(earlier)}{choice[self.plan.generation]}." if earlier else "", dropped

    @override
    async def construct(self, store: Store, clients: Sequence[Client], live: ProgressDisplay) -> ConstructionProgress:
        author = self.author(clients, dropped_in(store))
        done = await Construction(store, author, self.plan, origin=self.job.facts, progress=live.facts)(self.work)
        return done._replace(calls=sum(client.calls for client in set(clients)))

    def check(self, store: Store, cache: ReplyCache) -> None:
        """Refuse a second generation about which nobody said what becomes of the first.

        Raises:
            UserError: questions or scripts of another model, prompt or number stand in the store.
        """
        if self.plan.generation is None and (earlier := self.earlier(store, cache)):
            raise UserError(
                sentence(earlier),
                where=str(self.job.store),
                fix="--add keeps both, --replace puts the new one in the place of the earlier; the model, prompts, "
                "numbers and journal of before go on with what is there",
            )

    def run(self, *, live: ProgressDisplay) -> ConstructionProgress:
        """Construct, as all work runs; a replay first looks whether the journal holds every reply.

        Raises:
            UserError: the journal of a replay lacks replies.
        """
        if self.job.access.replay and (lacking := [stage for stage in self.estimate().stages if stage.calls]):
            raise UserError(
                f"the journal lacks replies: {', '.join(f'{stage.stage}: {stage.calls:,}' for stage in lacking)}",
                where=str(self.job.journal),
                fix="give facts, models, options and prompts of the run that wrote it (--no-verify where no model read "
                "the prompts), or leave --replay out",
            )
        return super().run(live=live)


def prepare(job: ConstructionJob, *, on_progress: Callable[[str], object]) -> PreparedJob | None:
    """Read the facts and draw their neighbours; None where no fact has a new object.

    Args:
        job: What is to be constructed.
        on_progress: Takes a line about each record that is left out or read in part.

    Raises:
        UserError: a file that cannot be read, a broken prompt, an author that is none, a limit without a price.
    """
    job.question_access.check()
    loaded = load_as_known(job.facts, job.store, job.format_name)
    for problem in loaded.problems:
        if job.skip_bad or not problem.lost:
            on_progress(f"{problem.where}: {problem.kind}: {problem.what}")
    table = loaded.require(skip_bad=job.skip_bad)
    edits = [f for f in table if f.new is not None][: job.limit]
    if not edits:
        return None
    plan = job.plan  # a broken prompt is told before anything else is done
    for name in FILES.unused(job.prompts_path) if job.prompts_path else ():
        on_progress(f"{job.prompts_path}: {name} is not used, since no prompt of a construction has this name")
    tables = {path: load_as_known(path, job.store) for path in job.table_paths}
    beside = [*loaded.records]
    for more in tables.values():
        beside += [*more.require(skip_bad=job.skip_bad), *more.records]
    work = plan_work(edits, table, plan, beside=beside)
    asked = job.model_copy(update={"access": job.question_access})
    return PreparedJob(plan, work, asked, _authors(job, plan), _reader(job), loaded, tables)


def _authors(job: ConstructionJob, plan: ConstructionPlan) -> tuple[ScriptAuthor, ...]:
    """Authors are asked with the profile of the questions; beside a small model with that of capable ones.

    Where none is named, the model that writes the questions writes the scripts.
    """
    if not job.named:
        return (ScriptAuthor(job.question_access, plan.profile),)
    capable = job.profile or (_CAPABLE if plan.profile in (EMBEDDED, LOCAL) else plan.profile)
    return tuple(script_authors(job.named, job.access, capable))


def _reader(job: ConstructionJob) -> ScriptAuthor | None:
    """Who reads the prompts: who is named, else the model behind an endpoint; no small model reads unasked."""
    if job.reader_name is not None:
        return verifier(job.reader_name, job.access, _CAPABLE)
    if job.unverified or job.access.on_this_machine:
        return None
    return ScriptAuthor(job.question_access, _CAPABLE)


def _facts_of(loaded: LoadResult) -> dict[str, Fact]:
    """The facts of a file by key, those that are mentioned beside its own among them."""
    beside = (r for r in loaded.records if isinstance(r, Fact))
    return {fact.key: fact for fact in (*beside, *loaded.facts)}
