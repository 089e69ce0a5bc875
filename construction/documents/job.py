"""One construction of probes as a person asks for it: a file and options become documents, an estimate and a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from construction.documents.funnel import ProbeCounts, ProbeTally, count_probes
from construction.documents.pipeline import ProbeConstruction, ProbePlan
from construction.documents.sources import ReadDocuments, read_documents
from construction.documents.steps import FILES, ProbePrompt
from construction.llm.client import Client
from construction.llm.connection import ModelSession
from construction.llm.cost.estimates import CallEstimate
from construction.llm.endpoint import Access
from construction.pipeline.author_models import ScriptAuthor, profile_of, verifier
from construction.pipeline.rehearsal import NoStore, RehearsalClient, estimate_job
from construction.pipeline.runner import ProgressDisplay, WritingJob, run_job
from curation.store.store import Store


class ProbeJob(ProbePlan, WritingJob):
    """What is to be constructed, from what, with which model.

    Attributes:
        source: File of documents.
        cut: Sentences of a document that is cut from a text.
        limit: Take the first so many documents.
        reader_name: The reader, named as ``--author`` names a model; None for none.

    The other attributes are those of ``ProbePlan`` and ``WritingJob``.
    """

    source: Path
    cut: int | None = None
    limit: int | None = None
    reader_name: str | None = None


class PreparedProbes(NamedTuple):
    """A job whose documents are read; nothing is asked or written yet."""

    job: ProbeJob
    read: ReadDocuments
    prompts: dict[str, ProbePrompt]
    reader: ScriptAuthor | None

    @property
    def others(self) -> list[Access]:
        """The reader, where there is one."""
        return [self.reader.access] if self.reader else []

    def estimate(self) -> CallEstimate:
        """What it will ask: calls that are not cached; of what nobody wrote yet, no probe is dropped by a check."""

        async def work(clients: list[RehearsalClient]) -> None:
            await self.construct(NoStore(), clients, ProbeTally())

        return estimate_job(self.job, work, self.others)

    async def construct(self, store: Store | NoStore, clients: Sequence[Client], tally: ProbeTally) -> None:
        """Construct with a client for the job's model, and for the reader where there is one."""
        reader = clients[-1] if self.reader else None
        construct = ProbeConstruction(
            store, clients[0], self.job, self.prompts, tally=tally, reader=reader, batch=self.job.batch
        )
        await construct(self.read.documents)


def prepare_probes(job: ProbeJob) -> PreparedProbes:
    """Read the documents and the prompts.

    Raises:
        UserError: a file that cannot be read, no such profile, or a limit without a price.
        DataError: a file that holds no documents.
    """
    job.access.check()
    profile = job.profile or profile_of(job.access, "paper")
    reader = None if job.reader_name is None else verifier(job.reader_name, job.access, "paper", option="--reader")
    prompts = FILES.load_all(profile, job.prompts_path)
    if reader is not None and job.prompts_path is None:
        prompts["answer_probe"] = FILES.load("answer_probe", reader.profile)
    read = read_documents(job.source, cut=job.cut, licence=job.licence)
    return PreparedProbes(job, read._replace(documents=read.documents[: job.limit]), prompts, reader)


def run_probes(prepared: PreparedProbes, *, live: ProgressDisplay) -> ProbeCounts:
    """Construct; on any error what is finished stays in journal and store.

    Raises:
        UserError: store or journal in use, no key, endpoint away, embedded model not installed.
        BudgetReached: the next call does not fit the budget.
        StoppedEarly: Ctrl-C or SIGTERM.
    """
    job, tally = prepared.job, ProbeTally()
    tally.lose("documents", "its text stood there before", prepared.read.repeated)

    async def work(session: ModelSession, store: Store, clients: list[Client]) -> ProbeCounts:
        await prepared.construct(store, clients, tally)
        return count_probes(store, tally, calls=sum(client.calls for client in set(clients)))

    return run_job(job, work, live=live, others=prepared.others)
