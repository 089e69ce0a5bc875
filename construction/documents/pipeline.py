"""A construction of probes about documents: what is written, what checks say of it, and what a reader answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from typing_extensions import override

from construction.authoring.outcome import overall_label
from construction.documents.checks import UNKNOWN_TAGS, ProbeInputs, judge_probe
from construction.documents.defaults import FEWEST, MOST
from construction.documents.funnel import ProbeFunnel
from construction.documents.sources import read_documents
from construction.documents.steps import FILES, ProbePrompt, ProbesAsk, ProbeStep, ReaderAsk, ReaderStep, TaggedProbe
from construction.llm.client import Client, gather_all, lineage_of_call
from construction.llm.dry_run import NoStore
from construction.llm.endpoint import Access
from construction.llm.replies import Reply
from construction.pipeline.author_models import profile_of, verifier
from construction.pipeline.runner import CountedWork, Outcome, WritingJob, run_in_batches, store_outcomes
from construction.report.funnel import Funnel
from curation.store.store import Store
from schemas.core.clock import now
from schemas.documents.document import Document, DocumentProbe
from schemas.lineage import Lineage
from schemas.verdicts import Verdict


class ProbeJob(WritingJob):
    """What is to be constructed, from what, with which model.

    Attributes:
        source: File of documents.
        cut: Sentences of a document that is cut from a text.
        limit: Take the first so many documents.
        reader_name: The reader, named as ``--author`` names a model; None for none.
        fewest, most: Probes of a document that one call asks for.
        samples: Calls a document; their probes are put together.

    The other attributes are those of ``WritingJob``.
    """

    source: Path
    cut: int | None = None
    limit: int | None = None
    reader_name: str | None = None
    fewest: int = FEWEST
    most: int = MOST
    samples: int = 1


class ProbeConstruction(CountedWork):
    """A construction whose documents are read.

    Args:
        job: What to construct.
        prompts: The wordings.
        documents: What to write about.
        funnel: Counts what was lost in reading them.
        reader: The model that answers every probe which the checks do not drop, from its document and without; None
            where nobody does.
    """

    job: ProbeJob

    def __init__(
        self,
        job: ProbeJob,
        prompts: Mapping[str, ProbePrompt],
        documents: Sequence[Document],
        funnel: ProbeFunnel,
        reader: Access | None = None,
    ) -> None:
        super().__init__(job, funnel, [reader] if reader else [])
        self.documents, self._reading = documents, prompts["answer_probe"]
        self._write = ProbeStep(prompts["write_probes"])

    @override
    async def write(self, store: Store | NoStore, clients: Sequence[Client], funnel: Funnel) -> None:
        work = [partial(self._of_document, document, *clients) for document in self.documents]
        await run_in_batches(work, partial(store_outcomes, store, funnel), size=self.job.batch)

    async def _of_document(self, document: Document, client: Client, reader: Client | None = None) -> Outcome:
        """A document with its probes, judged; without them where a call has no answer."""
        ask = ProbesAsk(document, self.job.fewest, self.job.most)
        requests = [self._write.sample(ask, document.key, attempt=n) for n in range(self.job.samples)]
        replies = await gather_all([client.ask(request) for request in requests])
        if waiting := sum(reply.status == "unanswered" for reply in replies):
            return Outcome(document, unfinished=waiting)
        by_key: dict[str, tuple[TaggedProbe, Reply]] = {}
        for reply in replies:
            for tagged in self._write.parse(ask, reply.value) if reply.value else ():
                by_key.setdefault(tagged.probe.key, (tagged, reply))
        written = [by_key[key] for key in sorted(by_key)]
        probes = tuple(tagged.probe for tagged, _ in written)
        said: dict[str, list[Verdict]] = {}
        lines = [Lineage(item_id=document.id, stage="document", made_at=now())]
        for place, (tagged, reply) in enumerate(written):
            probe, unknown = tagged.probe, tagged.unknown_tags
            inputs = ProbeInputs(document=document, probe=probe, earlier=probes[:place], unknown_tags=unknown)
            said[probe.id] = judge_probe(inputs)
            line = lineage_of_call(
                probe.id,
                "document_probes",
                reply,
                client,
                self._write,
                parents=(document.id,),
                detail={UNKNOWN_TAGS: list(unknown)} if unknown else {},
            )
            lines.append(line)
        if reader and (waiting := await self._read_back(reader, document, probes, said, lines)):
            return Outcome(document, unfinished=waiting)
        return Outcome(
            document,
            written=tuple((probe, tuple(said[probe.id])) for probe in probes),
            lineage=tuple(lines),
            losses=tuple(("probes", f"{reply.status} reply") for reply in replies if reply.value is None),
        )

    async def _read_back(
        self,
        reader: Client,
        document: Document,
        probes: Sequence[DocumentProbe],
        said: dict[str, list[Verdict]],
        lines: list[Lineage],
    ) -> int:
        """Add what a reader says of the probes that no check drops; returns calls without an answer.

        A probe about which the reader said nothing is ``unsure``: a rule keeps what is ``unscored``.
        """
        step = ReaderStep(self._reading, model=reader.endpoint.model)
        asks = [
            ReaderAsk(document, probe, shown)
            for probe in probes
            if overall_label(said[probe.id]) != "drop"
            for shown in (True, False)
        ]
        requests = [step.sample(ask, ask.probe.id, str(ask.shown), attempt=0) for ask in asks]
        replies = await gather_all([reader.ask(request) for request in requests])
        for ask, reply in zip(asks, replies, strict=True):
            if reply.value is None:
                verdict = step.verdict(ask, "unsure", f"no usable reply: {reply.status}")
            else:
                (verdict,) = step.parse(ask, reply.value)
            said[ask.probe.id].append(verdict)
            lines.append(lineage_of_call(verdict.id, "verify", reply, reader, step, parents=(ask.probe.id,)))
        return sum(reply.status == "unanswered" for reply in replies)


def prepare_probes(job: ProbeJob) -> ProbeConstruction:
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
    read, funnel = read_documents(job.source, cut=job.cut, licence=job.licence), ProbeFunnel()
    funnel.lose("documents", "its text stood there before", read.repeated)
    return ProbeConstruction(job, prompts, read.documents[: job.limit], funnel, reader.access if reader else None)
