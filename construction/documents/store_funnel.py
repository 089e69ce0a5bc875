"""What the construction of probes in a store came to, counted from records, verdicts and lineage.

It holds for a store of many runs and for one that was killed half-way. What came whole from a file or a split is not
counted. Replies of no use leave no record: only the run that asked for them tells of them.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from construction.documents.people import ProbeCuration, first_version, probe_curation
from construction.documents.tally import ProbeCounts, ProbeTally
from curation.store.store import Store
from schemas.documents.document import Document, DocumentProbe
from schemas.verdicts import Verdict, verdicts_of_people

_STAGE = "document_probes"


def stored_probe_counts(path: Path) -> ProbeCounts | None:
    """The counts of a store; None where no probe in it was constructed.

    A person's verdict outranks those of checks and readers, as in a rule.

    Args:
        path: The store.

    Raises:
        UserError: there is no such store.
    """
    with Store.open(path) as store:
        if not store.has(DocumentProbe.kind):
            return None
        constructed, requests = set[str](), set[str]()
        quality: str | None = None
        for line in store.lineages():
            if line.stage == _STAGE:
                constructed.add(line.item_id)
                requests.add(line.request or "")
                quality = quality or line.detail.get("quality")
        probes: defaultdict[str, list[DocumentProbe]] = defaultdict(list)
        for probe in store.all(DocumentProbe):
            if first_version(store, probe).id in constructed:
                probes[probe.document].append(probe)
        if not probes:
            return None
        verdicts: defaultdict[str, list[Verdict]] = defaultdict(list)
        for verdict in store.verdicts([probe.id for of in probes.values() for probe in of]):
            verdicts[verdict.item_id].append(verdict)
        tally = ProbeTally()
        for document in store.all(Document):
            if document.key in probes:
                tally.document((probe, _ruling(verdicts[probe.id])) for probe in probes[document.key])
        people = probe_curation(store)
    return tally.result(calls=len(requests), quality=quality).model_copy(update={"people": people})


def stored_curation(path: Path) -> ProbeCuration | None:
    """What people did with the probes of a store, also with those that came whole; None where they did nothing."""
    with Store.open(path) as store:
        return probe_curation(store)


def _ruling(verdicts: list[Verdict]) -> list[Verdict]:
    """People's verdicts where there are any that decide, else all."""
    return verdicts_of_people(verdicts) or verdicts
