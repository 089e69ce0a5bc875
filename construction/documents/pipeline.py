"""What is written about documents: probes, what checks say of them, and what a reader answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from construction.authoring.outcome import overall_label
from construction.documents.checks import UNKNOWN_TAGS, ProbeInputs, judge_probe
from construction.documents.defaults import FEWEST, MOST
from construction.documents.funnel import ProbeTally
from construction.documents.steps import ProbePrompt, ProbesAsk, ProbeStep, ReaderAsk, ReaderStep, TaggedProbe
from construction.llm.client import Client, Reply, gather_all, lineage_of_call
from construction.pipeline.rehearsal import NoStore
from construction.pipeline.runner import Outcome, run_in_batches, store_outcomes
from curation.store.store import Store
from schemas.core.clock import now
from schemas.core.config import Options
from schemas.documents.document import Document, DocumentProbe
from schemas.lineage import Lineage
from schemas.verdicts import Verdict


class ProbePlan(Options):
    """What a model is to write.

    Attributes:
        fewest, most: Probes of a document that one call asks for.
        samples: Calls a document; their probes are put together.
    """

    fewest: int = FEWEST
    most: int = MOST
    samples: int = 1


class ProbeConstruction:
    """One construction.

    Args:
        store: Open for writing.
        client: Asks the model that writes.
        plan: What to construct.
        prompts: The wordings.
        tally: Counts what is lost and leaves no record.
        reader: Asks the model that answers every probe which the checks do not drop, from its document and without;
            None where nobody does.
        batch: Documents between two transactions.
    """

    def __init__(
        self,
        store: Store | NoStore,
        client: Client,
        plan: ProbePlan,
        prompts: Mapping[str, ProbePrompt],
        *,
        tally: ProbeTally,
        reader: Client | None = None,
        batch: int = 20,
    ) -> None:
        self._store, self._client, self._plan, self._tally, self._batch = store, client, plan, tally, batch
        self._reader = reader or client
        self._reads_back = reader is not None
        self._write = ProbeStep(prompts["write_probes"])
        self._read = ReaderStep(prompts["answer_probe"], model=self._reader.endpoint.model)

    async def __call__(self, documents: Sequence[Document]) -> None:
        """Do all of it.

        Raises:
            ModelError: the endpoint does not work; what is finished is kept.
        """
        work = [partial(self._of_document, document) for document in documents]
        await run_in_batches(work, partial(store_outcomes, self._store, self._tally), size=self._batch)

    async def _of_document(self, document: Document) -> Outcome:
        """A document with its probes, judged; without them where a call has no answer."""
        ask = ProbesAsk(document, self._plan.fewest, self._plan.most)
        requests = [self._write.sample(ask, document.key, attempt=n) for n in range(self._plan.samples)]
        replies = await gather_all([self._client.ask(request) for request in requests])
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
                self._client,
                self._write,
                parents=(document.id,),
                detail={UNKNOWN_TAGS: list(unknown)} if unknown else {},
            )
            lines.append(line)
        if self._reads_back and (waiting := await self._read_back(document, probes, said, lines)):
            return Outcome(document, unfinished=waiting)
        return Outcome(
            document,
            written=tuple((probe, tuple(said[probe.id])) for probe in probes),
            lineage=tuple(lines),
            losses=tuple(("probes", f"{reply.status} reply") for reply in replies if reply.value is None),
        )

    async def _read_back(
        self, document: Document, probes: Sequence[DocumentProbe], said: dict[str, list[Verdict]], lines: list[Lineage]
    ) -> int:
        """Add what a reader says of the probes that no check drops; returns calls without an answer.

        A probe about which the reader said nothing is ``unsure``: a rule keeps what is ``unscored``.
        """
        asks = [
            ReaderAsk(document, probe, shown)
            for probe in probes
            if overall_label(said[probe.id]) != "drop"
            for shown in (True, False)
        ]
        requests = [self._read.sample(ask, ask.probe.id, str(ask.shown), attempt=0) for ask in asks]
        replies = await gather_all([self._reader.ask(request) for request in requests])
        for ask, reply in zip(asks, replies, strict=True):
            if reply.value is None:
                verdict = self._read.verdict(ask, "unsure", f"no usable reply: {reply.status}")
            else:
                (verdict,) = self._read.parse(ask, reply.value)
            said[ask.probe.id].append(verdict)
            lines.append(
                lineage_of_call(verdict.id, "verify", reply, self._reader, self._read, parents=(ask.probe.id,))
            )
        return sum(reply.status == "unanswered" for reply in replies)
