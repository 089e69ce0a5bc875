"""What a check of probes is: a name, a version, and a pure function from a probe and its document to one verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from curation.checks.store_checks import CheckContext, StoreCheck
from schemas.core.records import Record
from schemas.documents.document import Document, DocumentProbe
from schemas.verdicts import Verdict

UNKNOWN_TAGS = "unknown_tags"
"""Under which name lineage keeps the tags of a reply that are none of the closed list."""


@dataclass(frozen=True, kw_only=True)
class ProbeInputs:
    """What a check may look at.

    Attributes:
        document: The document.
        probe: The probe that is judged.
        earlier: Probes of the document whose keys come before its own.
        unknown_tags: Tags that its author gave and that are none of the closed list.
    """

    document: Document
    probe: DocumentProbe
    earlier: tuple[DocumentProbe, ...] = ()
    unknown_tags: tuple[str, ...] = ()


class ProbeCheck(StoreCheck):
    """Base of the checks on probes; written once, as ``judge_one``, for construction and for what a store holds.

    Attributes:
        not_applicable: Reason of the ``keep`` on a stored probe that the check does not apply to.
    """

    on: ClassVar[str] = DocumentProbe.kind
    batch: ClassVar[int] = 1000
    not_applicable: ClassVar[str] = "does not apply"

    def applies(self, inputs: ProbeInputs) -> bool:
        """Whether there is anything to judge; where not, construction leaves no verdict."""
        return True

    def judge_one(self, inputs: ProbeInputs) -> Verdict:
        """The verdict on the probe."""
        raise NotImplementedError

    def judge(self, items: Sequence[Record], around: CheckContext) -> Iterator[Verdict]:
        """Verdicts on probes of a store; a probe whose document is not there stays due."""
        probes = [item for item in items if isinstance(item, DocumentProbe)]
        keys = {probe.document for probe in probes}
        documents = {document.key: document for document in around.store.by_keys(Document, keys)}
        siblings: dict[str, list[DocumentProbe]] = defaultdict(list)
        for sibling in around.store.of_parents(DocumentProbe, keys):
            siblings[sibling.document].append(sibling)
        for probe in probes:
            if (document := documents.get(probe.document)) is None:
                continue
            earlier = sorted((s for s in siblings[document.key] if s.key < probe.key), key=lambda s: s.key)
            unknown = (line.detail.get(UNKNOWN_TAGS) for line in around.store.lineage(probe.id))
            inputs = ProbeInputs(
                document=document,
                probe=probe,
                earlier=tuple(earlier),
                unknown_tags=tuple(next((tags for tags in unknown if tags), ())),
            )
            yield self.judge_one(inputs) if self.applies(inputs) else self.verdict(probe, "keep", self.not_applicable)
