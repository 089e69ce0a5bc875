"""The funnel of a construction of probes: what was written by level, what is kept, and why the rest is not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from construction.authoring.outcome import overall_label
from construction.documents.people import PAPER_DROPPED, ProbeCuration, first_version, probe_curation
from construction.report.store_funnel import JudgedItems, MadeItems
from construction.tally import CountedLoss, Tally, closing_lines, percent_of
from curation.store.store import Store
from schemas.core.records import Frozen, Record
from schemas.documents.document import Document, DocumentProbe
from schemas.verdicts import Verdict


class ProbeCounts(Frozen):
    """Counts of one construction of probes.

    Attributes:
        documents: Documents; ``bare`` of them have no probe that is kept.
        short: Documents with fewer probes than were asked for at least.
        written_1, written_2, written_3: Probes written, by level.
        kept_1, kept_2, kept_3: Those of them that every check and reader keeps.
        unsure: Probes that wait for a person.
        dropped: Those that a check or reader drops.
        unfinished: Calls without an answer so far.
        calls: Calls made over the network in this run.
        losses: What was lost, by stage and reason; a probe can be lost for several.
        people: What people did with the probes; None where they did nothing.
    """

    documents: int
    bare: int
    short: int
    written_1: int
    written_2: int
    written_3: int
    kept_1: int
    kept_2: int
    kept_3: int
    unsure: int
    dropped: int
    unfinished: int
    calls: int
    quality: str | None
    losses: tuple[CountedLoss, ...]
    people: ProbeCuration | None = None

    @property
    def written(self) -> int:
        """Probes written, of all levels."""
        return self.written_1 + self.written_2 + self.written_3

    @property
    def kept(self) -> int:
        """Probes kept, of all levels."""
        return self.kept_1 + self.kept_2 + self.kept_3

    def lines(self, *, stored: bool = False) -> list[str]:
        """The funnel as text, the paper's figures beside it.

        Args:
            stored: It was counted from a store, which knows of no calls that came to nothing.
        """
        levels = [(self.written_1, self.kept_1), (self.written_2, self.kept_2), (self.written_3, self.kept_3)]
        dropped = f"{percent_of(self.dropped, self.written)} (people in the paper: about {PAPER_DROPPED} %)"
        rows = [
            ("documents", self.documents, f"{self.bare:,} without a probe that is kept" if self.bare else ""),
            (
                "probes written",
                self.written,
                f"{self.written / self.documents:.1f} a document" if self.documents else "",
            ),
            *(
                (f"  of level {n}", written, f"{kept:,} kept, {percent_of(kept, written)}" if written else "")
                for n, (written, kept) in enumerate(levels, 1)
            ),
            ("  dropped", self.dropped, dropped.strip()),
            ("  for people to decide", self.unsure, percent_of(self.unsure, self.written)),
            ("  kept", self.kept, percent_of(self.kept, self.written)),
        ]
        lines = [f"  {name:26s} {count:7,d}  {note}".rstrip() for name, count, note in rows]
        lines += self.people.lines() if self.people is not None else []
        return [*lines, *closing_lines(self.losses, self.calls, stored=stored)]


class ProbeTally(Tally):
    """Counts probes of documents."""

    stages: ClassVar[tuple[str, ...]] = ("documents", "probes", "checks", "reader")

    def count(self, record: Record, verdicts: Sequence[Verdict]) -> None:
        """Count a probe."""
        assert isinstance(record, DocumentProbe)
        label = overall_label(verdicts)
        self.n[f"written_{record.level}"] += 1
        self.n["unsure"] += label == "unsure"
        self.n["dropped"] += label == "drop"
        self.n[f"kept_{record.level}"] += label == "keep"
        for verdict in verdicts:
            self.lose_by("reader" if verdict.model else "checks", [verdict])


def count_document(probes: Iterable[Sequence[Verdict]]) -> tuple[str, ...]:
    """What a document adds to the funnel, by the verdicts on each of its probes."""
    kept = any(overall_label(verdicts) == "keep" for verdicts in probes)
    return ("documents",) if kept else ("documents", "bare")


def stored_probe_counts(path: Path) -> ProbeCounts | None:
    """The counts of a store, all runs together; None where no probe in it was constructed.

    A person's verdict outranks those of checks and readers, as in a rule. What came complete from a file or a split is
    not counted. Replies of no use leave no record: only the run that asked for them counts them.

    Args:
        path: The store.

    Raises:
        UserError: there is no such store.
    """
    with Store.open(path) as store:
        if not store.has(DocumentProbe.kind):
            return None
        made = MadeItems.of(store, {"document_probes"})
        probes: defaultdict[str, list[DocumentProbe]] = defaultdict(list)
        for probe in store.all(DocumentProbe):
            if first_version(store, probe).id in made.stages:
                probes[probe.document].append(probe)
        if not probes:
            return None
        judged, tally = JudgedItems(store.verdicts(probe.id for of in probes.values() for probe in of)), ProbeTally()
        for document in store.all(Document):
            verdicts = [judged.deciding(probe.id) for probe in probes[document.key]]
            if verdicts:
                tally.n.update(count_document(verdicts))
            for probe, said in zip(probes[document.key], verdicts, strict=True):
                tally.count(probe, said)
        people = probe_curation(store)
    counts = tally.result(ProbeCounts, calls=len(made.requests), quality=made.quality)
    return counts.model_copy(update={"people": people})


def stored_curation(path: Path) -> ProbeCuration | None:
    """What people did with the probes of a store, also with those that came whole; None where they did nothing."""
    with Store.open(path) as store:
        return probe_curation(store)
