"""Construction of probes from end to end: a model writes them, checks and a reader judge them, into the store.

Replies come through the journal, and everything else is a pure function of documents and replies. So a run that was
killed is started again from the top: it walks through what is on record without asking and puts the same records.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
from typing import NamedTuple

from construction.authoring.standing import overall_label
from construction.documents.checks import ProbeInputs, judge_probe
from construction.documents.defaults import FEWEST, MOST
from construction.documents.prompt_file import ProbePrompts
from construction.documents.steps import ProbesAsk, ProbeStep, ReaderAsk, ReaderStep, TaggedProbe
from construction.documents.tally import ProbeCounts, ProbeTally
from construction.llm.call_lineage import lineage_of_call
from construction.llm.calls.concurrency import ordered_map
from construction.llm.client import Client, Reply, gather_all
from curation.store.store import Store
from schemas.core.clock import now
from schemas.core.config import Options
from schemas.core.records import Record
from schemas.documents.document import Document, DocumentProbe
from schemas.lineage import Lineage
from schemas.verdicts import Verdict

logger = logging.getLogger(__name__)


class ProbeWork(Options):
    """What a model is to write.

    Attributes:
        fewest, most: Probes of a document that one call asks for.
        samples: Calls a document; their probes are put together.
    """

    fewest: int = FEWEST
    most: int = MOST
    samples: int = 1


class ProbePlan(ProbeWork):
    """What to construct.

    Attributes:
        read_back: Whether a model answers every probe that the checks do not drop, from its document and without.
        batch: Documents between two transactions.
    """

    read_back: bool = False
    batch: int = 20


class WrittenProbes(NamedTuple):
    """The probes of a document in the order of their keys, each with the reply that wrote it first."""

    probes: tuple[tuple[TaggedProbe, Reply], ...]
    losses: tuple[str, ...]
    short: bool


class DocumentOutcome(NamedTuple):
    """What became of a document.

    Attributes:
        document: The document.
        probes: Its probes, each with what is said of it.
        lineage: Of the probes and of the readers' verdicts.
        losses: Why calls came to nothing.
        short: Whether it has fewer probes than were asked for at least.
        unfinished: Calls without an answer.
    """

    document: Document
    probes: tuple[tuple[DocumentProbe, list[Verdict]], ...] = ()
    lineage: tuple[Lineage, ...] = ()
    losses: tuple[str, ...] = ()
    short: bool = False
    unfinished: int = 0


class ProbeConstruction:
    """One construction.

    Args:
        store: Open for writing.
        client: Asks the model that writes.
        plan: What to construct.
        prompts: The wordings.
        tally: Counts; it may hold what was lost while reading.
        reader: Asks the reader; None for the model that writes.
    """

    def __init__(
        self,
        store: Store,
        client: Client,
        plan: ProbePlan,
        prompts: ProbePrompts,
        *,
        tally: ProbeTally,
        reader: Client | None = None,
    ) -> None:
        self._store, self._client, self._plan, self._tally = store, client, plan, tally
        self._reader = reader or client
        self._write = ProbeStep(prompts.write_probes)
        self._read = ReaderStep(prompts.answer_probe, model=self._reader.endpoint.model)
        self._quality = prompts.write_probes.quality_of(client.endpoint.model)

    async def __call__(self, documents: Sequence[Document]) -> ProbeCounts:
        """Do all of it.

        Raises:
            ModelError: the endpoint does not work; what is finished is kept.
        """
        size = self._plan.batch
        parts = [documents[start : start + size] for start in range(0, len(documents), size)]
        making = ordered_map([partial(self._make, part) for part in parts], ahead=2)
        async with aclosing(making):
            async for outcomes in making:
                self._keep(outcomes)
        calls = self._client.calls + (self._reader.calls if self._reader is not self._client else 0)
        return self._tally.result(calls=calls, quality=self._quality)

    async def _make(self, documents: Sequence[Document]) -> list[DocumentOutcome]:
        return await gather_all([self._of_document(document) for document in documents])

    async def _of_document(self, document: Document) -> DocumentOutcome:
        """A document with its probes, judged; without them where a call has no answer."""
        ask = ProbesAsk(document, self._plan.fewest, self._plan.most)
        requests = [self._write.sample(ask, document.key, attempt=n) for n in range(self._plan.samples)]
        replies = await gather_all([self._client.ask(request) for request in requests])
        if waiting := sum(reply.status == "unanswered" for reply in replies):
            return DocumentOutcome(document, unfinished=waiting)
        written = self._written(ask, replies)
        probes = tuple(tagged.probe for tagged, _ in written.probes)
        judged = []
        for place, (tagged, _) in enumerate(written.probes):
            inputs = ProbeInputs(
                document=document, probe=tagged.probe, earlier=probes[:place], unknown_tags=tagged.unknown_tags
            )
            judged.append((tagged.probe, judge_probe(inputs)))
        quality = {"quality": self._quality} if self._quality else {}
        lines = [
            lineage_of_call(
                tagged.probe.id,
                "document_probes",
                reply,
                self._client,
                self._write.label,
                parents=(document.id,),
                detail={**tagged.detail, **quality},
            )
            for tagged, reply in written.probes
        ]
        outcome = DocumentOutcome(document, tuple(judged), tuple(lines), written.losses, written.short)
        return await self._read_back(outcome) if self._plan.read_back else outcome

    def _written(self, ask: ProbesAsk, replies: Sequence[Reply]) -> WrittenProbes:
        """The probes of all samples together, each query and answer once."""
        by_key: dict[str, tuple[TaggedProbe, Reply]] = {}
        losses = []
        for reply in replies:
            if reply.value is None:
                losses.append(f"{reply.status} reply")
                continue
            for tagged in self._write.parse(ask, reply.value):
                by_key.setdefault(tagged.probe.key, (tagged, reply))
        return WrittenProbes(tuple(by_key[key] for key in sorted(by_key)), tuple(losses), len(by_key) < ask.fewest)

    async def _read_back(self, outcome: DocumentOutcome) -> DocumentOutcome:
        """The outcome with what a reader says of the probes that no check drops."""
        asks = [
            ReaderAsk(outcome.document, probe, shown)
            for probe, verdicts in outcome.probes
            if overall_label(verdicts) != "drop"
            for shown in (True, False)
        ]
        requests = [self._read.sample(ask, ask.probe.id, str(ask.shown), attempt=0) for ask in asks]
        replies = await gather_all([self._reader.ask(request) for request in requests])
        if waiting := sum(reply.status == "unanswered" for reply in replies):
            return DocumentOutcome(outcome.document, unfinished=waiting)
        lines = list(outcome.lineage)
        by_item: dict[str, list[Verdict]] = {probe.id: list(verdicts) for probe, verdicts in outcome.probes}
        for ask, reply in zip(asks, replies, strict=True):
            if reply.value is None:
                verdict = self._read.verdict(ask, "unscored", f"no usable reply: {reply.status}")
            else:
                (verdict,) = self._read.parse(ask, reply.value)
            by_item[ask.probe.id].append(verdict)
            lines.append(
                lineage_of_call(verdict.id, "verify", reply, self._reader, self._read.label, parents=(ask.probe.id,))
            )
        judged = tuple((probe, by_item[probe.id]) for probe, _ in outcome.probes)
        return outcome._replace(probes=judged, lineage=tuple(lines))

    def _keep(self, outcomes: Sequence[DocumentOutcome]) -> None:
        """Put some documents into the store in one transaction; what waits for an answer comes with a later run."""
        records: list[Record] = []
        lineage: list[Lineage] = []
        made_at = now()
        for one in outcomes:
            self._tally.n["unfinished"] += one.unfinished
            if one.unfinished:
                logger.warning("%s is not finished: no answer came", one.document.key)
                continue
            self._tally.document(one.probes)
            self._tally.n["short"] += one.short
            for reason in one.losses:
                self._tally.lose("probes", reason)
            records += [one.document, *(r for probe, verdicts in one.probes for r in (probe, *verdicts))]
            lineage.append(Lineage(item_id=one.document.id, stage="document", made_at=made_at))
            lineage += one.lineage
        if records:
            self._store.put(records, lineage, remade=[one.document.key for one in outcomes if not one.unfinished])
